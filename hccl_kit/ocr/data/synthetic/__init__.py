"""Images drawn from texts and fonts."""
