"""From label files to batches: samples, transforms, and the share of each rank."""
