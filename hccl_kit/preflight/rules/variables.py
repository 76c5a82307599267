"""HK6: the variables that HCCL and the driver read. The accepted values are data, from HCCL's own parser."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from hccl_kit.base.message import Message
from hccl_kit.base.wording import joined, row
from hccl_kit.check.rule import Rule
from hccl_kit.discovery import installation
from hccl_kit.preflight.node import Node
from hccl_kit.preflight.probes.cards import ids_in_dev, named
from hccl_kit.preflight.rules.variable_values import VALUES, links_contradict
from hccl_kit.preflight.rules.variable_verdict import Refusal, refusal
from hccl_kit.runtime.worker_env import MISLEADING, NAMES, RANK_TABLE_FILE, STARTS_TORCHRUN, VISIBLE_DEVICES
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding, finding

_CHIEF = ("CM_CHIEF_IP", "CM_CHIEF_PORT", "CM_CHIEF_DEVICE", "CM_WORKER_SIZE", "CM_WORKER_IP")
_WHITELIST_OFF, _WHITELIST = "HCCL_WHITELIST_DISABLE", "HCCL_WHITELIST_FILE"
_WITHOUT_WHITELIST = Message("HK607.whitelist.fix", "export {switch}=1", switch=_WHITELIST_OFF)
_OF_USERS = ("MINDSPORE_HCCL_CONFIG_PATH", VISIBLE_DEVICES, *STARTS_TORCHRUN)
_OF_LAUNCHERS = tuple(name for name in MISLEADING if name not in _OF_USERS)


def value_not_accepted(node: Node) -> Iterator[Finding]:
    """HCCL does not accept the value of a variable.

    What:           a variable of HCCL has a value that its parser refuses, in the installed release of CANN and on this
                    product (on every one if it is not known); an empty value is refused too.
    Why it matters: HCCL reads them all at its start and stops at the first invalid one.
    Example:        HCCL_CONNECT_TIMEOUT=60; 120 to 7200 is accepted.
    Fix:            export an accepted value, or unset the variable.
    HCCL:           EI0001, which names value, variable and expectation.
    """
    yield from (_to_export(name, refused) for name, refused in _refusals(node) if refused.is_certain)


def value_unknown(node: Node) -> Iterator[Finding]:
    """It is not known whether HCCL accepts the value of a variable.

    What:           a variable of HCCL has a value that is in no list of this program, and HCCL may accept it all the
                    same: the release of CANN is not known, or newer or older than these lists, or another product
                    accepts the value.
    Why it matters: if HCCL refuses the value, no rank starts.
    Example:        HCCL_RDMA_TIMEOUT=31, which Atlas 950 accepts, without --product.
    Fix:            compare it with the page of the variable in the manual of the installed CANN; --product names the
                    product, and ASCEND_HOME_PATH the CANN.
    HCCL:           EI0001 if it refuses the value.
    """
    yield from (_to_export(name, refused) for name, refused in _refusals(node) if not refused.is_certain)


def variables_contradict(node: Node) -> Iterator[Finding]:
    """Variables contradict each other.

    What:           PCIe and RoCE inside a server are both switched on, or one alone is switched off; variables of a
                    start without rank table (CM_*) are set; a whitelist is enabled and its file does not exist.
    Why it matters: HCCL refuses such pairs, or connects the ranks without the table.
    Example:        HCCL_INTRA_ROCE_ENABLE=0 alone; CM_CHIEF_IP together with RANK_TABLE_FILE.
    Fix:            unset one of them.
    HCCL:           EI0001; for the whitelist, connections that are refused and EI0006.
    """
    environ = node.environ
    if links := links_contradict(environ):
        yield links
    chief = [name for name in _CHIEF if name in environ]
    if chief:
        mixed = [name for name in (RANK_TABLE_FILE, *NAMES["rank"][:1], *NAMES["size"][:1]) if name in environ]
        others = Message("HK607.with-table", "with a rank table")
        if mixed:
            others = Message("HK607.with-variables", "with {variables}", variables=joined(mixed))
        yield finding(
            "HK607.without-table",
            "{variables} {others}: HCCL uses either these or a table",
            hint=Message("HK607.without-table.fix", "unset {variables}", variables=" ".join(chief)),
            variables=row(chief),
            others=others,
        )
    if environ.get(_WHITELIST_OFF) == "0":
        yield from _whitelist(node)


def of_another_launcher(node: Node) -> Iterator[Finding]:
    """A variable of another launcher is set.

    What:           a variable that msrun, mpirun or torchrun sets for its ranks is in the environment.
    Why it matters: frameworks look for these first: MindSpore waits for a scheduler that was never started, or starts
                    MPI.
    Example:        MS_ROLE=MS_WORKER, left in a shell by an earlier job.
    Fix:            unset it, or start from a new shell; scripts of `hccl-kit launch` unset these themselves.
    HCCL:           no code; the job hangs before HCCL starts, or EI0015.
    """
    names = [name for name in _OF_LAUNCHERS if node.environ.get(name)]
    if names:
        message = Message("HK608.variable", "{variable} of another launcher is set", variable=names[0])
        if len(names) > 1:
            message = Message("HK608.variables", "{names} of another launcher are set", names=row(names))
        yield Finding(message, Message("HK608.fix", "unset {variables}", variables=" ".join(names)))


def visible_devices(node: Node) -> Iterator[Finding]:
    """ASCEND_RT_VISIBLE_DEVICES hides cards of the table, or is not read as written.

    What:           its value is not ascending numbers, separated by commas without spaces; or cards that the table has
                    on this server are not among them, whether they are physical ids or count the cards in /dev from 0,
                    as in a container.
    Why it matters: the driver stops reading at the first thing it does not expect: `0, 1` is card 0 alone. No rank can
                    open a hidden card.
    Example:        ASCEND_RT_VISIBLE_DEVICES="0, 1, 2, 3"
    Fix:            unset it, or write the physical ids ascending and without spaces.
    HCCL:           EI0014, devicePhyId (R20); or the framework finds no card.
    """
    text = node.environ.get(VISIBLE_DEVICES)
    if text is None:
        return
    cards = ",".join(map(str, sorted(node.device_ids))) or "0,1,2,3"
    hint = Message("HK609.fix", "unset {variable}, or write {cards}", variable=VISIBLE_DEVICES, cards=cards)
    ids = listed_devices(node.environ)
    if ids is None:
        yield finding(
            "HK609.not-numbers",
            "{variable}={value}; accepted: numbers separated by commas, without spaces",
            hint=hint,
            variable=VISIBLE_DEVICES,
            value=shown(text),
        )
        return
    if any(before >= after for before, after in pairwise(ids)):
        yield finding(
            "HK609.order",
            "{variable}={value} is not in ascending order",
            hint=hint,
            variable=VISIBLE_DEVICES,
            value=shown(text),
        )
    wanted = set(node.device_ids)
    hidden = min(wanted - set(ids), wanted - set(_in_container(node, ids)), key=len)
    if hidden:
        yield finding(
            "HK609.hidden",
            "{variable}={value} hides {cards} of the table",
            hint=hint,
            variable=VISIBLE_DEVICES,
            value=shown(text),
            cards=named(hidden),
        )


def listed_devices(environ: Mapping[str, str]) -> tuple[int, ...] | None:
    """The numbers of ASCEND_RT_VISIBLE_DEVICES; None if it is not set or not valid."""
    text = environ.get(VISIBLE_DEVICES, "")
    return tuple(map(int, text.split(","))) if re.fullmatch(r"[0-9]{1,4}(,[0-9]{1,4})*", text) else None


def cards_meant(node: Node, number: int) -> frozenset[int]:
    """The physical ids of the cards that DEVICE_ID=`number` may name.

    It is the id itself, as scripts of `hccl-kit launch` set it without a list; with ASCEND_RT_VISIBLE_DEVICES an index
    into that list, as under msrun; and in a container that renumbers its cards, an index into those in /dev.
    """
    visible = listed_devices(node.environ)
    ids = (number,) if visible is None else visible[number : number + 1]
    return frozenset([*ids, *_in_container(node, ids)])


def _in_container(node: Node, ids: Iterable[int]) -> Iterator[int]:
    """The cards in /dev that `ids` count from 0."""
    there = ids_in_dev(node)
    return (there[number] for number in ids if number < len(there))


def _refusals(node: Node) -> Iterator[tuple[str, Refusal]]:
    """The variables whose value is not in the table of this product and release, with what is known about it."""
    installed = installation.cann(node.root, node.environ)
    for name in VALUES:
        value = node.environ.get(name)
        if value is None:
            continue
        refused = refusal(name, value, product=node.product.name, cann=installed.version if installed else None)
        if refused:
            yield name, refused


def _to_export(name: str, refused: Refusal) -> Finding:
    return Finding(
        refused.message,
        Message("preflight.variable.fix", "export an accepted value of {variable}, or unset it", variable=name),
    )


def _whitelist(node: Node) -> Iterator[Finding]:
    value = node.environ.get(_WHITELIST)
    if not value:
        yield finding(
            "HK607.no-whitelist",
            "{switch}=0 enables the whitelist, and {variable} is not set",
            hint=_WITHOUT_WHITELIST,
            switch=_WHITELIST_OFF,
            variable=_WHITELIST,
        )
    elif not Path(value).is_file() or not os.access(value, os.R_OK):
        yield finding(
            "HK607.whitelist-not-read",
            "{variable}={value} is not a readable file",
            hint=_WITHOUT_WHITELIST,
            variable=_WHITELIST,
            value=shown(value),
        )


RULES = (
    Rule("HK606", "invalid-variable", value_not_accepted, hccl_error="EI0001"),
    Rule("HK607", "conflicting-variables", variables_contradict, hccl_error="EI0001"),
    Rule("HK608", "stale-launcher-variable", of_another_launcher, severity="warning"),
    Rule("HK650", "unlisted-value", value_unknown, severity="warning"),
    Rule("HK609", "hidden-cards", visible_devices, hccl_error="EI0014"),
)
