"""The accepted values and limits of HCCL's parser: what the readers, the rules and `hccl_parser` know alike.

`ip` has the forms of addresses and ports.
"""

READY = "completed"
"""The status of a table that HCCL reads (R6); it waits at any other."""

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
SUB_VERSION = "heterog_sub_version"
"""A table of version 1.1 with this key has all keys of Atlas A3."""
LAB = "deploy_mode"
"""A table of template 2 with this key has the lab form."""
NIC_LOCATION = "para_plane_nic_location"
"""The key of the lab form whose value must be "device"."""

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


def bytes_of(text: str) -> int:
    """The length of a text as HCCL counts it."""
    return len(text.encode("utf-8", errors="surrogatepass"))


def port_number(text: str) -> int | None:
    """The number of a port as it should be written: 1 to 5 decimal digits; None for any other text."""
    return int(text) if len(text) <= 5 and text.isascii() and text.isdecimal() else None
