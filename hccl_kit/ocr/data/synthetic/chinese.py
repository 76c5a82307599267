"""Common Chinese characters, for lines that show whether a recogniser of many languages still reads Chinese."""

from __future__ import annotations

NAME = "gb2312"
ROWS = range(16, 56)
"""Level 1 of GB 2312-80: the most frequent characters, sorted by pronunciation."""
CELLS = range(1, 95)
FIRST = 0xA0


def common() -> str:
    """The 3,755 characters of level 1; the last five cells of its last row are empty."""
    cells = bytes(FIRST + number for row in ROWS for cell in CELLS for number in (row, cell))
    return cells.decode("gb2312", errors="ignore")
