"""Recognition, detection and classification: samples, targets, loss, decoding and metric of each task."""
