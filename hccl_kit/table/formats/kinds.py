"""Which kind of document a JSON value is, by its keys and its version."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from hccl_kit.base.message import Message


class Kind(NamedTuple):
    """A kind of document.

    `version` is the version of the rank table ("" is template 2); None: not a rank table of HCCL, and `advice` is the
    next step. `schema` is the stem of its schema.
    """

    name: str
    title: Message
    version: str | None
    schema: str = ""
    advice: Message = Message("HK105.fix", "check the file for RANK_TABLE_FILE instead; it holds server_list")


_1_0 = Message("table.version-1.0", "a rank table of version 1.0")
_1_1 = Message("table.version-1.1", "a heterogeneous rank table of version 1.1 (node_list)")
_1_2 = Message("table.version-1.2", "a rank table of version 1.2 (Atlas A3 super pods)")
_2_0 = Message("table.version-2.0", "a rank table of version 2.0 (Atlas 950)")
SERVER_LIST = Kind("1.0", _1_0, "1.0", "rank_table_1.0")
SUPER_PODS = Kind("1.2", _1_2, "1.2", "rank_table_1.2")
NODE_LIST = Kind("1.1", _1_1, "1.1", "rank_table_1.1")
RANK_LIST = Kind("2.0", _2_0, "2.0", "rank_table_2.0")
INITIALIZING = "initializing"
_GROUPS = Message("table.template-2", "a rank table of template 2 (group_list, without version)")
TEMPLATE_2 = Kind("template2", _GROUPS, "", "rank_table_template2_cloud")
TEMPLATE_2_LAB = Kind("template2", _GROUPS, "", "rank_table_template2_lab")
_TABLES = (SERVER_LIST, NODE_LIST, SUPER_PODS, RANK_LIST)
KNOWN_VERSIONS = tuple(kind.name for kind in _TABLES)
_BY_VERSION = {kind.version: kind for kind in _TABLES}
_BY_LIST = {"deploy_mode": TEMPLATE_2_LAB, "group_list": TEMPLATE_2, "node_list": NODE_LIST, "rank_list": RANK_LIST}
"""The kind of a document without version, by the first of these keys that it has."""

_TOPOLOGY = Kind(
    "topology",
    Message("HK105.topology", "a topology file of Atlas 950, not a rank table"),
    None,
    advice=Message(
        "HK105.topology.fix", "leave it where the driver has it; RANK_TABLE_FILE must name the file with rank_list"
    ),
)
_PREFILL_DECODE = Kind(
    "prefill-decode",
    Message("HK105.prefill-decode", "a prefill/decode table of vllm-ascend, which HCCL does not read"),
    None,
    advice=Message(
        "HK105.prefill-decode.fix",
        "it is for DISAGGREGATED_PREFILL_RANK_TABLE_PATH; a training job needs a table with server_list: hccl-gen",
    ),
)
_MINDIE = Kind(
    "mindie-global",
    Message("HK105.mindie", "a MindIE global rank table, which HCCL does not read"),
    None,
    advice=Message(
        "HK105.mindie.fix",
        "each entry of server_group_list holds the server_list of one group; a training job needs its own",
    ),
)
_FRAGMENT = Kind(
    "local-comm-res",
    Message(
        "HK105.fragment",
        "a fragment (LocalCommRes) of HIXL or LLM-DataDist, of which two make a rank table at run time",
    ),
    None,
    advice=Message(
        "HK105.fragment.fix",
        "pass it to the library that wrote it; a training job also needs ranks and a status: hccl-gen",
    ),
)
_CONFIG_MAP = Kind(
    "config-map",
    Message("HK105.config-map", "a ConfigMap of Kubernetes, which holds a rank table as text"),
    None,
    advice=Message(
        "HK105.config-map.fix", "kubectl get configmap rings-config-JOB -o jsonpath='{{.data.hccl\\.json}}' > hccl.json"
    ),
)
_CLUSTER_CONFIG = Kind(
    "cluster-config",
    Message(
        "HK105.cluster-config",
        "a cluster configuration of GE (CLUSTER_CONFIG), which holds a rank table as its member RankTable",
    ),
    None,
    advice=Message(
        "HK105.cluster-config.fix",
        "HCCL and RANK_TABLE_FILE take the value of RankTable alone: jq .RankTable FILE > hccl.json",
    ),
)
_ROLES = Kind("roles", Message("HK105.roles", "a role table (Servers and Clients), which has no ranks"), None)
_OFFLINE = Kind(
    "offline",
    Message("HK105.offline", "an offline table (node_list with rank_list), which HCCL uses to compile, not to run"),
    None,
)
_OXC = Kind(
    "oxc",
    Message(
        "HK105.oxc",
        "a rank table of version 1.4 (Atlas A3 with optical switches, OXC), which no public release of HCCL reads",
    ),
    None,
    advice=Message(
        "HK105.oxc.fix", "a release that reads it must check it; all others need version 1.2: hccl-gen --super_pod"
    ),
)
"""Source: comments and tests of the OXC parser of hcomm, seen 2026-11-27; in no public release by then."""
_ROOT_INFO = Kind(
    "root-info",
    Message("HK105.root-info", "the root info of one server with Atlas 950, not the rank table of a job"),
    None,
    advice=Message(
        "HK105.root-info.fix",
        "leave it at /etc/hccl_rootinfo.json, where HCCL reads it; a table of the job needs a rank_id for every card",
    ),
)
"""Source: rank_info_detect_client.cc of hcomm, 2026-08-21."""
_ANNOTATION = Kind(
    "device-plugin",
    Message(
        "HK105.annotation",
        "what a device plugin of Kubernetes notes about the cards of one pod or node, which is a part of a rank table",
    ),
    None,
    advice=Message(
        "HK105.annotation.fix",
        "the operator of the cluster makes a table of all pods: see the ConfigMap rings-config-JOB; or hccl-gen",
    ),
)
"""Source: const_v2.go and proto.go of mind-cluster, 2026-08-21."""
_NUMA_CONFIG = Kind(
    "numa-config",
    Message("HK105.numa-config", "a resource configuration of ATC and GE (numa_config), not a rank table"),
    None,
    advice=Message(
        "HK105.numa-config.fix",
        "it is for the option that names the cluster of a compiled model; HCCL needs server_list",
    ),
)
_TEMPLATE = Kind(
    "template",
    Message("HK105.template", "a template of a rank table, which was not filled in"),
    None,
    advice=Message(
        "HK105.template.fix", "use what the controller writes from it, such as the ConfigMap SERVING-GROUP-ranktable"
    ),
)
"""Source: the ranktable plugin of kthena, design of 2025-12-16."""
_LOG = Kind(
    "log",
    Message("HK105.log", "a log, and the line holds a rank table"),
    None,
    advice=Message("HK105.log.fix", "copy the object that begins on this line, from {{ to }}, to a file of its own"),
)
_FOREIGN = {
    "oxc_group_list": _OXC,
    "topo_file_path": _ROOT_INFO,
    "server_group_list": _MINDIE,
    "prefill_device_list": _PREFILL_DECODE,
    "decode_device_list": _PREFILL_DECODE,
    "peer_list": _TOPOLOGY,
    "edge_list": _TOPOLOGY,
    "Servers": _ROLES,
    "Clients": _ROLES,
}
LISTS = {"server_list": ("1.0", "1.2"), "node_list": ("1.1",), "rank_list": ("2.0",), "group_list": ("",)}
"""The main list of a table, and the versions that have it; "" is template 2."""
_YAML_CONFIG_MAP = r"(?m)^kind:[ \t]*[\"']?ConfigMap[\"']?[ \t\r]*$"
_GO_TEMPLATE = r"\{\{-?[ \t]*(?:[.$][A-Za-z]|(?:range|if|end|with|else|define|template)\b)"
_TABLE_IN_LINE = r'(?m)^[^{\n]*(\{.*"(?:server_list|node_list|rank_list|group_list)".*\})[ \t\r]*$'
_CARD = r"Ascend[0-9A-Za-z]{0,16}-[0-9]{1,3}|npu-[0-9]{1,3}"
MAX_TRIED = 8
"""Lines of a log that are read as JSON."""
_DRAFT_KEYS = frozenset(("level", "id", "fabric_type", "rank_addrs"))


def recognise(value: object) -> Kind | None:
    """The kind of a document, by its keys and its version; None if the version is unknown.

    A document that fits no kind, such as one without version, counts as 1.0: its schema reports what is missing.
    """
    if not isinstance(value, dict):
        return SERVER_LIST
    foreign = _foreign(value)
    if foreign:
        return foreign
    if "version" not in value:
        return next((kind for key, kind in _BY_LIST.items() if key in value), SERVER_LIST)
    version = value["version"]
    return _BY_VERSION.get(version) if isinstance(version, str) else SERVER_LIST


def _foreign(value: dict[str, Any]) -> Kind | None:
    """The kind of a document that resembles a rank table but is not one."""
    if value.get("kind") == "ConfigMap":
        return _CONFIG_MAP
    if "version" not in value and "rank_list" in _first(value.get("node_list")):
        return _OFFLINE
    if "version" in value and _is_fragment(value):
        return _FRAGMENT
    if value.get("version") == "1.4":
        return _OXC
    if not LISTS.keys() & value.keys() and (kind := _without_list(value)):
        return kind
    return next((kind for key, kind in _FOREIGN.items() if key in value), None)


def _without_list(value: dict[str, Any]) -> Kind | None:
    """The kind of a document that has no list of a rank table."""
    if isinstance(value.get("RankTable"), dict):
        return _CLUSTER_CONFIG
    if "cluster_nodes" in _first(value.get("cluster")) or {"node_def", "item_def"} <= value.keys():
        return _NUMA_CONFIG
    is_pod = {"devices", "server_id"} <= value.keys()
    is_node = any(re.fullmatch(_CARD, key) and isinstance(card, dict) and "IP" in card for key, card in value.items())
    return _ANNOTATION if is_pod or is_node else None


def kind_of_text(text: str) -> tuple[Kind, int] | None:
    """The kind of a text that is not JSON, and the offset at which it shows; None if it is not known."""
    if match := re.search(_YAML_CONFIG_MAP, text):
        return _CONFIG_MAP, match.start()
    if match := re.search(_GO_TEMPLATE, text):
        return _TEMPLATE, match.start()
    return next(((_LOG, start) for start in _tables_in_lines(text)), None)


def _tables_in_lines(text: str) -> Iterator[int]:
    """The offsets of the lines that end with a whole rank table, the first MAX_TRIED at most."""
    for match in islice(re.finditer(_TABLE_IN_LINE, text), MAX_TRIED):
        try:
            value = json.loads(match[1])
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and LISTS.keys() & value.keys():
            yield match.start()


def is_unfinished(value: object, kind: Kind | None) -> bool:
    """Whether HCCL waits for the table: its status is "initializing". HCCL does not read the status of version 2.0."""
    return kind is not RANK_LIST and isinstance(value, dict) and value.get("status") == INITIALIZING


def other_list(value: object, kind: Kind) -> str | None:
    """The key of the main list of another version, if the document lacks that of its own version."""
    if not isinstance(value, dict) or "version" not in value or kind.version is None:
        return None
    if any(key in value for key, versions in LISTS.items() if kind.version in versions):
        return None
    return next((key for key in LISTS if key in value), None)


def is_draft(value: object) -> bool:
    """Whether a document of version 2.0 has the keys of a draft from before the release."""
    if not isinstance(value, dict):
        return False
    level = _first(_first(value.get("rank_list")).get("level_list"))
    return "net_layer" not in level and len(_DRAFT_KEYS.intersection(level)) > 1


def _is_fragment(value: dict[str, Any]) -> bool:
    """Servers and devices without status and ranks."""
    device = _first(_first(value.get("server_list")).get("device"))
    return bool(device) and "rank_id" not in device and "status" not in value


def _first(value: object) -> dict[str, Any]:
    """The first item of a list if it is an object, otherwise an empty object."""
    return value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else {}
