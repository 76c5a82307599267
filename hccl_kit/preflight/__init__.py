"""Check servers against a rank table before a job starts: rules HK6. Nothing is changed, no process is ended."""
