"""A rank table as a picture: which cards of which servers are which ranks, in a terminal or as a drawing.

`layout` says what is drawn and folds what looks alike, `text` and `svg` draw it.
"""
