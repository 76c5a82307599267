"""Images drawn from texts and fonts."""

RENDERED = "rendered"
"""What `eval.guard` calls the lines of `lines`."""
