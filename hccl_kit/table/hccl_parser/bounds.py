"""The accepted values and limits of HCCL's parser of version 2.0 (R34)."""

ADDRESS_TYPES = ("EID", "IPV4", "IPV6")
NET_TYPES = ("TOPO_FILE_DESC", "CLOS", "1DMESH", "2DMESH", "A3_SERVER", "A2_AX_SERVER")
MAX_RANKS = 65536
BACKUP = 64
"""The local id of a backup rank; `replaced_local_id` is the local id of the rank that it replaces."""
MAX_LEVELS, MAX_LAYER, MAX_ADDRESSES, MAX_PORTS, MAX_BACKUPS = 8, 7, 24, 16, 16
MAX_TEXT, MAX_ADDRESS, MAX_PORT_TEXT = 1024, 256, 32
MAX_PORT = 65535
MAX_LISTEN_PORT = 65536
"""One more than the largest port: HCCL accepts it, but the rank cannot listen there."""
