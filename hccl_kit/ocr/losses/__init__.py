"""Losses: from a network's output and a batch's labels to one number."""
