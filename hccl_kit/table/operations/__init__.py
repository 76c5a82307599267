"""Verbs on tables, each pure: generate, merge, split, convert, diff, digest."""
