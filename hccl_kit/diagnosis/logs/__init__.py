"""Logs of failed jobs: found, read as a stream, and turned into facts."""
