"""HCCL's own parser: the first error that it reports for a table, in the order of its checks.

The rules (`hccl_kit.check.rules`) report every error of a table. HCCL stops at the first one and reports an error code
or none. This package follows the order of hcomm 8958adbf: `reading` takes values from a document, `servers`, `groups`,
`nodes` and `ranks` read the formats, `cluster` checks the result.
"""
