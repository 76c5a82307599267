"""Files of weights: written, read, fetched, kept, and what earlier runs left of them."""
