"""What is known of this machine: as a server of a table its report, and what servers are compared by, such as versions.

Without a table: versions, variables, settings, packages and all of its cards. It travels as JSON: the part `machine` of
`schemas/snapshot.schema.json`.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError
from hccl_kit.discovery import installation
from hccl_kit.discovery.installation import other_packages, package_version, versions
from hccl_kit.discovery.product_here import product_of_chips
from hccl_kit.preflight.answer import ABSENT, HOST, TABLE, TLS, Answer, assert_matches, inspect
from hccl_kit.preflight.card_probe import probe
from hccl_kit.preflight.card_round import CardState
from hccl_kit.preflight.node import CannotTellError, Node, ToolQueries
from hccl_kit.preflight.probes.cards import ids_in_dev, info, physical_ids
from hccl_kit.preflight.probes.port_holder import read
from hccl_kit.preflight.rules.card_links import tls_switches
from hccl_kit.preflight.rules.versions import boards_of_cards
from hccl_kit.preflight.system_settings import job_variables, system_settings
from hccl_kit.runtime.worker_env import RANK_TABLE_FILE
from hccl_kit.table.model import Device, RankTable, Server
from hccl_kit.table.products import Product, any_product
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
    cann = installation.cann(node.root, node.environ)
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
    text = read(node.root / "proc/sys/kernel/random/boot_id").strip()
    return text if re.fullmatch(r"[0-9a-f-]{36}", text) else None


def _driver(node: Node) -> str | None:
    driver = installation.driver(node.root)
    return driver.version if driver else _version_on_boards(node, "Software Version")


def _firmware(node: Node) -> str | None:
    """As reported by the cards, which run it; the file has the version installed last."""
    firmware = installation.firmware(node.root)
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


PRODUCT = "product"
"""The setting that names the product of the cards."""
_MAX_REASON = 200

Facts = Mapping[str, str]


class Machine(NamedTuple):
    """Facts by name. `cards` are those of each card by its physical id. `host` is the name of the machine."""

    host: str
    versions: Facts
    cards: Mapping[str, Facts]
    variables: Facts
    settings: Facts
    packages: Facts


def node_of_all_cards(root: Path, environ: Mapping[str, str]) -> Node:
    """This machine, as the only server of a table that has all of its cards, without addresses."""
    bare = Node(RankTable("1.0", "completed", ()), any_product(), None, environ, ToolQueries(), root)
    server = Server("localhost", tuple(Device(card, None, rank) for rank, card in enumerate(ids_in_dev(bare))))
    return bare._replace(table=RankTable("1.0", "completed", (server,)), server=server)


def this_machine() -> Machine:
    """The machine that this runs on."""
    return machine_of(node_of_all_cards(Path("/"), os.environ))


def machine_of(node: Node) -> Machine:
    """The machine of `node_of_all_cards`."""
    compared = facts(node)
    # The cards know which driver and firmware run; the files name those that were installed last.
    of_driver = {name: compared[name] for name in ("driver", "firmware") if name in compared}
    tls = {TLS: compared[TLS]} if TLS in compared else {}
    product = _product(node)
    return Machine(
        socket.gethostname(),
        {**versions(node.root, node.environ), **of_driver},
        _cards(node),
        job_variables(node.environ),
        {**system_settings(node.root), **tls, **({PRODUCT: product.name} if product else {})},
        other_packages(),
    )


def _product(node: Node) -> Product | None:
    """The product that the cards of this machine are of; None if npu-smi does not tell it."""
    try:
        return product_of_chips(info(node).chips)
    except CannotTellError:
        return None


def _cards(node: Node) -> Mapping[str, Facts]:
    cards = {str(card): dict[str, str]() for card in node.device_ids}
    try:
        chips = info(node).chips
        places = physical_ids(node, chips)
    except CannotTellError as reason:
        for card in cards.values():
            card["health"] = _unknown(reason.message)
        chips, places = (), {}
    for chip in chips:
        cards.setdefault(str(places.get((chip.npu, chip.chip), f"{chip.npu}.{chip.chip}")), {}).update(
            chip=chip.name, health=chip.health, **({"memory": f"{chip.memory} MB"} if chip.memory else {})
        )
    answer = probe(node, all_pairs=False)
    for card_id, state in answer.states.items():
        cards[str(card_id)].update(_readings(state))
    return cards


def _readings(state: CardState) -> Facts:
    """The readings that are equal from one minute to the next."""
    speed = {"speed": state.speed} if state.speed else {}
    readings = {"link": state.link or _unknown(state.unread.get("link", "")), **speed, **(state.memory or {})}
    return {name: str(value) for name, value in readings.items()}


def _unknown(reason: str) -> str:
    return f"unknown: {reason[:_MAX_REASON]}"


def from_value(value: Any) -> Machine:
    """The machine in a value that another server sent, or that a file has. Raises KitError if it is not one."""
    assert_matches(value, "snapshot", "machine")
    return Machine(**{name: value[name] for name in Machine._fields})
