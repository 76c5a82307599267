"""Measurements, each against a baseline of the same run. They are not tests: nothing here passes or fails."""
