"""Check a rank table by the rules of its product; report, select and fix the findings."""
