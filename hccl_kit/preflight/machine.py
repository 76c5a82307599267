"""What is known of this machine without a rank table: versions, variables, settings, packages, and all of its cards.

It travels as JSON: the part `machine` of `schemas/snapshot.schema.json`.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hccl_kit.discovery.installation import other_packages, versions
from hccl_kit.discovery.product_here import product_of_chips
from hccl_kit.preflight.answer import TLS, assert_matches
from hccl_kit.preflight.card_probe import probe
from hccl_kit.preflight.card_state import CardState
from hccl_kit.preflight.facts import facts
from hccl_kit.preflight.job_variables import job_variables
from hccl_kit.preflight.node import CannotTellError, Node
from hccl_kit.preflight.probes.cards import ids_in_dev, info, physical_ids
from hccl_kit.preflight.system_settings import system_settings
from hccl_kit.preflight.tool_queries import ToolQueries
from hccl_kit.table.model import Device, RankTable, Server
from hccl_kit.table.products import Product, any_product

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
