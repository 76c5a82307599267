"""A program from its command line to its exit code: start, rank consistency, log, curves, TensorBoard."""
