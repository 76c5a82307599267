"""File values to rank tables and back; what a document is comes first, since every kind has its own reader.

`recognise` names the kind, `read` reads the kind this release judges, `write` gives the text of a file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from hccl_kit import schema
from hccl_kit.document import Fault
from hccl_kit.formats import server_list
from hccl_kit.rank_table import RankTable


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of document. `version` is what HCCL goes by ("" is template 2); None: no rank table of HCCL."""

    name: str
    title: str
    version: str | None


SERVER_LIST = Kind("1.0", "a rank table of version 1.0", "1.0")
TEMPLATE_2 = Kind("template2", "a rank table of template 2 (group_list, without version)", "")
_BY_VERSION = {
    "1.0": SERVER_LIST,
    "1.1": Kind("1.1", "a heterogeneous rank table of version 1.1 (node_list)", "1.1"),
    "1.2": Kind("1.2", "a rank table of version 1.2 (Atlas A3 super pods)", "1.2"),
    "2.0": Kind("2.0", "a rank table of version 2.0 (Atlas 950)", "2.0"),
}
_TOPOLOGY = Kind("topology", "a topology file of Atlas 950, which is no rank table but goes beside one", None)
_PREFILL_DECODE = Kind("prefill-decode", "a prefill/decode table of vllm-ascend, which HCCL does not read", None)
_MINDIE = Kind("mindie-global", "a MindIE global rank table, which HCCL does not read", None)
_BY_LIST = {"group_list": TEMPLATE_2, "node_list": _BY_VERSION["1.1"], "rank_list": _BY_VERSION["2.0"]}
"""What tells the kind of a document without version."""
_FOREIGN = {
    "server_group_list": _MINDIE,
    "prefill_device_list": _PREFILL_DECODE,
    "decode_device_list": _PREFILL_DECODE,
    "peer_list": _TOPOLOGY,
    "edge_list": _TOPOLOGY,
}
KNOWN_VERSIONS = tuple(_BY_VERSION)


def recognise(value: object) -> Kind | None:
    """The kind of a document, by its keys and its version; None where the version is one that nobody knows.

    What cannot be told, such as a document without version, counts as 1.0: that schema then says what is missing.
    """
    if not isinstance(value, dict):
        return SERVER_LIST
    for key, kind in _FOREIGN.items():
        if key in value:
            return kind
    if "version" not in value:
        return next((kind for key, kind in _BY_LIST.items() if key in value), SERVER_LIST)
    version = value["version"]
    return _BY_VERSION.get(version) if isinstance(version, str) else SERVER_LIST


def read(value: object) -> RankTable | tuple[Fault, ...]:
    """The table that a document of version 1.0 holds, or what is wrong with its structure (at least one fault)."""
    try:
        return server_list.from_value(value)
    except server_list.MisfitError:
        return tuple(schema.faults(value, "1.0"))


def write(table: RankTable) -> str:
    """The text of a version 1.0 file: keys in the order of MindSpore's tools, indent 4, no newline at the end."""
    return json.dumps(server_list.to_value(table), indent=4, ensure_ascii=False)
