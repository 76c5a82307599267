"""Published data sets in the forms in which they are downloaded: one reader each, and a table of all.

A reader yields a page for each image, or `path: reason` for one that cannot be used.
"""

NAMES = (
    *("ic15", "sroie"),
    *("casia10k", "ccpd", "cocotext", "ctw1500", "funsd", "iiit5k", "lsvt", "mlt2017", "rctw17", "svt", "synthtext"),
    *("td500", "textocr", "totaltext"),
)
"""The data sets of `catalogue`, which imports more than --help should wait for."""
