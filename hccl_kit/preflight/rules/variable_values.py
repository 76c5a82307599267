"""Which values HCCL accepts for its variables, by product and release of CANN, as data. Each row has its origin.

HCCL's own parser stops at the first invalid value.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.network import ip_of
from hccl_kit.base.origin import Origin, Release
from hccl_kit.table.finding import Finding

PARSER = Origin("externalinput.cc and env_config.cc of hcomm, and the pages of the variables", "2026-11-25")
MODES = Origin("alg_env_config.cc of hccl at the tags 8.5.0, 9.0.0 and 9.1.0", "2026-11-27", oldest=(8, 5))
PAGES_9_1 = Origin("the pages of the variables in hccl, 2026-08-22", "2026-11-27", oldest=(9, 1))
PAGES_9_2 = Origin("the pages of the variables in hccl 9.2.0-dev, 2026-08-20", "2026-11-27", (9, 2), (9, 2))
_MAX_DIGITS = 10
"""Digits of the longest number that HCCL reads."""
_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


WORDS = "preflight.words"
"""The id that the words of all values share in the catalogue of translations."""


class Accepted(NamedTuple):
    """The accepted values of a variable: in words, and as a predicate.

    `since` are the values that not all releases know, with the first one that does; `origin` has the releases whose
    values are known here. `stops_on`: the products on which HCCL stops at another value, by its manual and by its code;
    None for all.
    """

    words: str
    takes: Callable[[str], bool]
    since: Mapping[str, Release] = MappingProxyType({})
    origin: Origin = PARSER
    stops_on: tuple[str, ...] | None = None


PCIE, ROCE = "HCCL_INTRA_PCIE_ENABLE", "HCCL_INTRA_ROCE_ENABLE"


def links_contradict(environ: Mapping[str, str]) -> Finding | None:
    """Whether the switches of PCIe and RoCE inside a server contradict: (1, 1), (0, unset) and (unset, 0) do.

    HCCL reads (0, 0) as PCIe.
    """
    pcie, roce = environ.get(PCIE), environ.get(ROCE)
    if (pcie, roce) == ("1", "1"):
        return Finding(
            Message("HK607.both", "{pcie}=1 and {roce}=1; at most one of them may be 1", pcie=PCIE, roce=ROCE),
            Message("HK607.both.fix", "unset {roce}", roce=ROCE),
        )
    if (pcie, roce) == ("0", None):
        message = Message(
            "HK607.neither", "{pcie}=0 and {roce} is not set, so no transport is left", pcie=PCIE, roce=ROCE
        )
        return Finding(message, _export(ROCE, PCIE))
    if (pcie, roce) == (None, "0"):
        message = Message("HK607.roce-off", "{roce}=0 and {pcie} is not set", roce=ROCE, pcie=PCIE)
        return Finding(message, _export(PCIE, ROCE))
    return None


def _export(transport: str, other: str) -> Message:
    return Message("HK607.export.fix", "export {transport}=1 too, or unset {other}", transport=transport, other=other)


def _whole(least: int, most: int, *, step: int = 1) -> Accepted:
    def takes(text: str) -> bool:
        if len(text) > _MAX_DIGITS or not re.fullmatch("[0-9]+", text):
            return False
        return least <= int(text) <= most and int(text) % step == 0

    return Accepted(f"{least} to {most}" + (f", a multiple of {step}" if step > 1 else ""), takes)


def _seconds(least: float, most: int) -> Accepted:
    def takes(text: str) -> bool:
        if len(text) > _MAX_DIGITS or not re.fullmatch(r"[0-9]+(\.[0-9]{1,2})?", text):
            return False
        return least <= float(text) <= most

    return Accepted(f"{least} to {most} seconds, with two decimals at most", takes)


def _one_of(*words: str) -> Accepted:
    return Accepted(" or ".join(words), lambda text: text in words)


def _one_of_any_case(*words: str) -> Accepted:
    return Accepted(" or ".join(words), lambda text: text.lower() in words)


def _are_ports(text: str) -> bool:
    """`auto`, or ranges such as 60000-60015,61000 without overlap; spaces are ignored, empty means the default."""
    text = text.replace(" ", "")
    if text in ("", "auto"):
        return True
    matches = [_RANGE.fullmatch(part) for part in text.split(",")]
    ranges = sorted((int(match[1]), int(match[2] or match[1])) for match in matches if match)
    return (
        all(matches)
        and all(0 < low <= high < 65536 for low, high in ranges)
        and all(before[1] < after[0] for before, after in pairwise(ranges))
    )


def _are_levels(text: str) -> bool:
    """`L1:1,L2:0`, each level once; spaces are ignored, empty means the default."""
    text = text.replace(" ", "")
    levels = re.findall(r"(L[012]):[01](?:,|$)", text)
    return text == "" or (len(levels) == len(set(levels)) == len(text.split(",")))


def _are_retries(text: str) -> bool:
    """The three numbers with their names, as sscanf reads them: what follows the last one is ignored."""
    match = re.match(r"MaxCnt:\s*([0-9]{1,10}),\s*HoldTime:\s*([0-9]{1,10}),\s*IntervalTime:\s*([0-9]{1,10})", text)
    return match is not None and 1 <= int(match[1]) <= 10 and max(int(match[2]), int(match[3])) <= 60_000


_LEVEL = re.compile("level([0-3]):(?:null|ring|pipeline|fullmesh|H-D_R|pairwise|NHR|NHR_V1|AHC|AHC_BROKE|NB|NA)")
_OPERATOR = re.compile(
    "(?:broadcast|allreduce|reduce|send|receive|allgather|reducescatter|alltoall|gather|scatter|sendrecv|others)=(.+)"
)


def _are_algorithms(text: str) -> bool:
    """`level0:NA;level1:ring` for all operators, or `allreduce=.../alltoall=...`; empty means the default.

    Spaces are ignored. The sources handle `others=`, but those of 2026 then refuse it; it counts as accepted here.
    """
    text = text.replace(" ", "")
    if not text or not {"=", "/"} & set(text):
        return not text or _is_each_level_once(text)
    operators = [_OPERATOR.fullmatch(part) for part in text.split("/")]
    return all(
        operator and "level0:null" not in operator[1] and _is_each_level_once(operator[1]) for operator in operators
    )


def _is_each_level_once(text: str) -> bool:
    levels = [_LEVEL.fullmatch(part) for part in text.split(";")]
    return all(levels) and len({level[1] for level in levels if level}) == len(levels)


def _are_topics(text: str) -> bool:
    """`ALG,TASK`, or `^ALG` for all others; HCCL skips empty ones."""
    topics = text.removeprefix("^").upper().split(",")
    return set(topics) <= {"ALG", "TASK", "RESOURCE", "AIV_OPS_EXC", ""}


_DFS_KEYS: Mapping[str, str] = {
    "connection_fault_detection_time": "0|2[0-9]|[3-9][0-9]|[1-9][0-9]{2}|[1-6][0-9]{3}|7[01][0-9]{2}|7200",
    "cluster_heartbeat": "on|off",
    "stuck_detection": "on|off",
    "inconsistent_check": "on|first|off",
    "task_exception": "on|off",
    "task_monitor_interval": "[0-9]{1,6}|[1-6][0-9]{6}|7[01][0-9]{5}|7200000",
}


def _are_dfs_settings(text: str) -> bool:
    """`key:value,...`, each key one of _DFS_KEYS with a value of its pattern."""
    pairs = [part.partition(":") for part in text.split(",")]
    return all(re.fullmatch(_DFS_KEYS.get(key, "(?!)"), value) for key, _, value in pairs)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?[0-9]{0,20}\.?[0-9]{1,20}", text) is not None


_SWITCH = _one_of("0", "1")
_PORTS = Accepted("auto, or ports and ranges that do not overlap, such as 60000-60015,61000", _are_ports)

_MODES = ("AI_CPU", "AIV", "AIV_ONLY", "HOST", "HOST_TS")
_NEW_MODES = {"AICPU_CacheDisable": (9, 0), "CCU_MS": (9, 0), "CCU_SCHED": (9, 0), "AICPU_TS": (9, 1)}
"""AICPU_TS is the default of Atlas 950, where it replaces AI_CPU."""

VALUES: Mapping[str, Accepted] = {
    "HCCL_CONNECT_TIMEOUT": _whole(120, 7200),
    "HCCL_EXEC_TIMEOUT": _seconds(0, 2_147_483_647),
    "HCCL_INTRA_PCIE_ENABLE": _SWITCH,
    "HCCL_INTRA_ROCE_ENABLE": _SWITCH,
    "HCCL_WHITELIST_DISABLE": _SWITCH,
    "HCCL_IF_IP": Accepted(
        "an address, with %INTERFACE or without", lambda text: ip_of(text.partition("%")[0]) is not None
    ),
    "HCCL_SOCKET_IFNAME": Accepted(
        "names of interfaces separated by commas, after =, ^ or ^= where needed",
        lambda text: all(text.removeprefix("^").removeprefix("=").split(",")),
    ),
    "HCCL_SOCKET_FAMILY": _one_of("AF_INET", "AF_INET6"),
    "HCCL_IF_BASE_PORT": _whole(1024, 65520),
    "HCCL_HOST_SOCKET_PORT_RANGE": _PORTS,
    "HCCL_NPU_SOCKET_PORT_RANGE": _PORTS,
    "HCCL_RDMA_TC": _whole(0, 255, step=4),
    "HCCL_RDMA_SL": _whole(0, 7),
    "HCCL_RDMA_TIMEOUT": _whole(5, 24),
    "HCCL_RDMA_RETRY_CNT": _whole(1, 7),
    "HCCL_RDMA_QPS_PER_CONNECTION": _whole(1, 32),
    "HCCL_MULTI_QP_THRESHOLD": _whole(1, 8192),
    "HCCL_BUFFSIZE": Accepted(
        "a whole number of MB, from 1 on; the manual advises micro batch x sequence x hidden size x bytes / 2^20",
        lambda text: len(text) <= _MAX_DIGITS and re.fullmatch("[0-9]*[1-9][0-9]*", text) is not None,
    ),
    "HCCL_DETERMINISTIC": _one_of_any_case("true", "false", "strict"),
    "HCCL_INTER_HCCS_DISABLE": _one_of_any_case("true", "false"),
    "HCCL_DIAGNOSE_ENABLE": _SWITCH,
    "HCCL_ENTRY_LOG_ENABLE": _SWITCH,
    "HCCL_OP_EXPANSION_MODE": Accepted(
        " or ".join(_MODES), {*_MODES, *_NEW_MODES}.__contains__, _NEW_MODES, origin=MODES, stops_on=("a5",)
    ),
    "HCCL_OP_RETRY_ENABLE": Accepted("levels L0 to L2, each with 0 or 1, such as L1:1,L2:0", _are_levels),
    "HCCL_OP_RETRY_PARAMS": Accepted(
        "MaxCnt:N,HoldTime:N,IntervalTime:N, a count from 1 to 10 and up to 60000 milliseconds", _are_retries
    ),
    "HCCL_ALGO": Accepted(
        "an algorithm for each level, such as level0:NA;level1:ring, or the same for operators, such as "
        "allreduce=level0:NA;level1:ring/alltoall=level0:NA;level1:pairwise",
        _are_algorithms,
    ),
    "HCCL_DEBUG_CONFIG": Accepted("ALG, TASK and RESOURCE, separated by commas, after ^ for all others", _are_topics),
    "HCCL_DFS_CONFIG": Accepted(
        "key:value pairs separated by commas, with the keys " + ", ".join(_DFS_KEYS),
        _are_dfs_settings,
        origin=PAGES_9_1,
        stops_on=(),
    ),
    "HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT": _one_of_any_case("true", "false")._replace(stops_on=()),
    "HCCL_RDMA_QP_PORT_CONFIG_PATH": Accepted(
        "the absolute path of a folder with MultiQpSrcPort.cfg", lambda text: text.startswith("/"), stops_on=()
    ),
    "HCCL_ALG_MULTIPLE_DIMENSION_SPLIT_RATIO": Accepted(
        "a number; beyond 0 to 1 HCCL takes 0.5", _is_number, origin=PAGES_9_2
    ),
    "HCOMM_DEBUG_CONFIG": Accepted(
        "TASK and DATA_OP, separated by commas without blanks, after ^ for all others",
        lambda text: set(text.removeprefix("^").upper().split(",")) <= {"TASK", "DATA_OP"},
        origin=PAGES_9_1,
        stops_on=(),
    ),
    **{
        name: _whole(0, 31)._replace(origin=PAGES_9_2, stops_on=())
        for name in ("HCOMM_TA_CTP_UB_TIMEOUT", "HCOMM_TA_RTP_UB_TIMEOUT", "HCOMM_TA_RTP_UBOE_TIMEOUT")
    },
    "HCCL_LOGIC_SUPERPOD_ID": Accepted("a text of less than 128 bytes", lambda text: len(os.fsencode(text)) < 128),
}

_OLD: Mapping[str, Accepted] = {"HCCL_EXEC_TIMEOUT": _seconds(0.01, 17_340)}
_NEW: Mapping[str, Accepted] = {"HCCL_RDMA_TIMEOUT": _whole(5, 20)}
_A5: Mapping[str, Accepted] = {"HCCL_RDMA_TIMEOUT": _whole(0, 4_294_967_295)._replace(origin=PAGES_9_1)}
"""Only Atlas 350 with RDMA cards of the user reads it; 0, and 32 or more, mean no limit."""
BY_PRODUCT: Mapping[str, Mapping[str, Accepted]] = {
    "910": _OLD,
    "300i-duo": _OLD,
    "a2": _NEW,
    "a2-box16": _NEW,
    "a3": _NEW,
    "a5": _A5,
}
"""The values of a product that accepts others."""
