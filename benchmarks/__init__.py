"""Measurements, each against a peer of the same run. They are not tests: nothing here passes or fails.

`python -m benchmarks` runs those of `registry` and prints one table.
"""
