"""Recognition, detection and classification: what a task learns from and how it is scored."""
