"""Metrics as sums of counts, so that the ranks of a job add theirs up before anything is divided."""
