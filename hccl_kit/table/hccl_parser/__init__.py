"""Where HCCL's own parser stops: the error that the user would have met, which the order of its checks decides.

The rules (`hccl_kit.check.rules`) name every mistake of a table where it stands. HCCL stops at the first that it comes
to and gives it an error code or none. Its order is kept here, apart from the rules, as a reading of the document that
ends where that of hcomm 8958adbf does: `reading` takes values, `servers` and `nodes` read the formats, `cluster` checks
what was read.
"""
