"""The accepted values and limits of HCCL's parser: what the readers, the rules and `hccl_parser` know alike.

`ip` has the forms of addresses and ports.
"""

MAX_UNSIGNED, MAX_SIGNED = 2**32 - 1, 2**31 - 1
"""HCCL stores numbers in 32 bits."""
MAX_DIGITS = 10
MAX_PORT = 65535

# Versions 1.x and template 2.
MAX_SERVER_ID = 64
"""A server id has 1 to 64 bytes (R10)."""
MAX_NAME = 127
"""Bytes of the name of a group, a pod, a super pod or a node, and of a `collective_id`."""
NO_SDID = MAX_UNSIGNED
"""The value that HCCL keeps for a device without SDID (R31)."""
CARDS_OF_SERVER = 8
"""The number of cards of the servers whose ports HCCL compares, on every product (R27)."""
HOST = -1
"""The device id of a rank that runs on the CPU (version 1.1)."""
MODES = ("tcp", "rdma")
"""The values of `mode` (version 1.1)."""

# Version 2.0 (R34).
ADDRESS_TYPES = ("EID", "IPV4", "IPV6")
NET_TYPES = ("TOPO_FILE_DESC", "CLOS", "1DMESH", "2DMESH", "A3_SERVER", "A2_AX_SERVER")
MAX_RANKS = 65536
BACKUP = 64
"""The local id of a backup rank; `replaced_local_id` is the local id of the rank that it replaces."""
MAX_LEVELS, MAX_LAYER, MAX_ADDRESSES, MAX_PORTS, MAX_BACKUPS = 8, 7, 24, 16, 16
MAX_TEXT, MAX_ADDRESS, MAX_PORT_TEXT = 1024, 256, 32
MAX_LISTEN_PORT = 65536
"""One more than the largest port: HCCL accepts it, but the rank cannot listen there."""
