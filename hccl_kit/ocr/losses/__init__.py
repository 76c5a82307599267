"""Losses: from the outputs of a network and the targets of a batch to a scalar."""
