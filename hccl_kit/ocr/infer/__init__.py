"""Inference in batches, and the score of a data set."""
