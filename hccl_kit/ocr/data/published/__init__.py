"""Readers of published sets of pages and words, each in its authors' format. They load neither numpy nor OpenCV."""
