"""Decoders: from a network's output to what a person reads."""
