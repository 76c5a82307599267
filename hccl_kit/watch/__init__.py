"""What a job does now: read from the files that its ranks write, shown on a screen, as a page or as JSON."""
