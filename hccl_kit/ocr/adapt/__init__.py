"""What changes a network between its construction and its training."""
