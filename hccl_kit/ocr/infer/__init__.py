"""A trained network at work: batches through it, and the score of a data set."""
