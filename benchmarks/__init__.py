"""Measurements, each against a baseline in the same run. Not tests: nothing here passes or fails."""
