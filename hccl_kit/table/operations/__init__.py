"""Pure functions on rank tables: generate, merge, split, convert, diff, digest."""
