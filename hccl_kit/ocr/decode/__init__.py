"""Decoders: from the outputs of a network to texts and boxes."""
