"""Proves that a table is valid without an object per device: nearly every table that is checked is valid.

A proof is by columns of plain values. It is one-sided: what it cannot show to be valid, such as a table with a warning,
a number with a leading zero or an escaped character, is left to `check.exact`, which has places and messages. Property
tests compare the two.
"""
