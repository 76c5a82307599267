"""The answer of this machine: its report, and what servers are compared by, such as versions and the TLS setting."""

from __future__ import annotations

import hashlib
import re
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError
from hccl_kit.discovery import packages
from hccl_kit.discovery.installation import package_version
from hccl_kit.preflight.answer import ABSENT, HOST, TABLE, TLS, Answer
from hccl_kit.preflight.inspection import inspect
from hccl_kit.preflight.node import CannotTellError, Node
from hccl_kit.preflight.probes.cards import ids_in_dev
from hccl_kit.preflight.rules.card_links import tls_switches
from hccl_kit.preflight.rules.versions import boards_of_cards
from hccl_kit.runtime.worker_env import RANK_TABLE_FILE
from hccl_kit.table.source import MAX_BYTES

_FAMILIES = ("HCCL_", "HCOMM_", "ASCEND_GLOBAL_", "ASCEND_RT_", RANK_TABLE_FILE)
_PER_SERVER = ("HCCL_IF_IP", "HCCL_SOCKET_IFNAME", "HCCL_KIT_")
"""Prefixes of variables that may differ between servers; each server checks its own (HK610, HK611)."""
MAX_VALUE = 1000
"""Characters of a variable that are compared."""


def answer(node: Node) -> Answer:
    """Check this machine, and collect its facts."""
    return Answer(
        server=node.server.id if node.server else "",
        machine=socket.gethostname(),
        report=inspect(node),
        facts={**_table_there(node.path), **facts(node)},
        variables={
            name: value[:MAX_VALUE]
            for name, value in sorted(node.environ.items())
            if name.startswith(_FAMILIES) and not name.startswith(_PER_SERVER)
        },
        clock=time.time(),
    )


def facts(node: Node) -> Mapping[str, str]:
    """Name to value, such as "CANN" to "8.0.RC2" and TLS to "off"; what this server does not know is left out."""
    cann = packages.cann(node.root, node.environ)
    known = {
        "driver": _driver(node),
        "firmware": _firmware(node),
        "CANN": cann.version if cann else None,
        TLS: _tls(node),
        "MindSpore": package_version("mindspore"),
        "Python": ".".join(map(str, sys.version_info[:2])),
        HOST: _host(node),
    }
    return {name: value for name, value in known.items() if value}


def _host(node: Node) -> str | None:
    """The boot id, which all containers of a host share. None if this machine has no card."""
    if not ids_in_dev(node):
        return None
    try:
        text = (node.root / "proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return text if re.fullmatch(r"[0-9a-f-]{36}", text) else None


def _driver(node: Node) -> str | None:
    driver = packages.driver(node.root)
    return driver.version if driver else _version_on_boards(node, "Software Version")


def _firmware(node: Node) -> str | None:
    """As reported by the cards, which run it; the file has the version installed last."""
    firmware = packages.firmware(node.root)
    return _version_on_boards(node, "Firmware Version") or (firmware.version if firmware else None)


def _version_on_boards(node: Node, name: str) -> str | None:
    try:
        boards = boards_of_cards(node)
    except CannotTellError:
        return None
    values = {board.get(name, "") for board in boards.values()} - {"", "NA"}
    return " and ".join(sorted(values)) or None


def _tls(node: Node) -> str | None:
    try:
        switches = set(tls_switches(node).values())
    except CannotTellError:
        return None
    return switches.pop() if len(switches) == 1 else "on some" if switches else None


def _table_there(path: Path | None) -> Mapping[str, str]:
    if path is None:
        return {}
    try:
        return {TABLE: hashlib.sha256(read_bounded(path, MAX_BYTES)).hexdigest()}
    except KitError:
        return {TABLE: ABSENT}
