"""What the servers of a job are compared by: versions, the TLS setting of the cards, which host they are on."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from hccl_kit.discovery import packages
from hccl_kit.preflight.node import CannotTellError, Node
from hccl_kit.preflight.probes.cards import ids_in_dev
from hccl_kit.preflight.rules.card_links import tls_switches
from hccl_kit.preflight.rules.versions import boards_of_cards

TLS = "TLS"
"""The fact whether the cards use TLS (HK617)."""
HOST = "host"
"""The fact which host this is, also in a container (HK662); it is the only one that must differ."""
FRAMEWORK = ("MindSpore", "Python")
"""Versions that HCCL does not compare (HK660); all others it does (HK616)."""


def facts(node: Node) -> Mapping[str, str]:
    """Name to value, such as "CANN" to "8.0.RC2" and TLS to "off"; what this server does not know is left out."""
    cann = packages.cann(node.root, node.environ)
    known = {
        "driver": _driver(node),
        "firmware": _firmware(node),
        "CANN": cann.version if cann else None,
        TLS: _tls(node),
        "MindSpore": _installed("mindspore"),
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


def _installed(name: str) -> str | None:
    """The installed version of a package, which is not imported; None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
