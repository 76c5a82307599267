"""A rank table as a picture of servers, cards and ranks, on a terminal or as SVG.

`layout` builds the picture, `collapse` reduces large ones, `text` and `svg` draw it.
"""
