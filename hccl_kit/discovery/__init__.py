"""Where the facts of a table come from: card addresses, the server's own address, logical and physical ids.

Every source returns plain values: `{physical device id: address}`, or a reason in a KitError.
"""
