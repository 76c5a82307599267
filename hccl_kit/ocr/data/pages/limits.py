"""What a page may hold."""

MAX_REGIONS, MAX_CORNERS = 10_000, 256
MAX_COORDINATE = 1 << 20
"""Larger than any image that OpenCV reads; polygon arithmetic fails beyond it."""
