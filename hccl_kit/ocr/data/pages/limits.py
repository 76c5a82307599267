"""Limits for the regions of a page."""

MAX_REGIONS, MAX_CORNERS = 10_000, 256
MAX_COORDINATE = 1 << 20
"""Larger than any image that OpenCV reads; polygon arithmetic fails beyond it."""
