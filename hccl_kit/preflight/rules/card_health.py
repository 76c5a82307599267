"""HK6: whether the cards of the table are present and healthy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hccl_kit.base.message import Message
from hccl_kit.check.rule import Rule
from hccl_kit.preflight.node import CannotTellError, Node
from hccl_kit.preflight.probes.cards import (
    NOT_HERE,
    VISIBLE_TO_CONTAINER,
    findings_on_cards,
    here,
    ids_in_dev,
    info,
    named,
    need_npu,
    physical_ids,
    shows_npu,
    visible_cards,
)
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding, finding

_MINOR = "Warning"
_HEALTHY = "OK"
_ASK_FOR_CODE = Message("HK625.fix", "npu-smi info -t health -i NPU -c CHIP prints the error code")


def card_missing(node: Node) -> Iterator[Finding]:
    """A card of the table is not on this machine.

    What:           the table gives this server a card N, and there is no /dev/davinciN.
    Why it matters: the rank of that card cannot open it, and the others wait for this rank.
    Example:        the table has cards 0 to 7, and the container was given cards 0 to 3.
    Fix:            use a table of this machine, or give the container the cards: docker run --device=/dev/davinci4, or
                    ASCEND_VISIBLE_DEVICES=0-7 with the Ascend container runtime.
    HCCL:           EI0014, devicePhyId (R20), where another card is opened instead; else the runtime fails before HCCL
                    starts.
    """
    ids = ids_in_dev(node)
    missing = sorted(set(node.device_ids) - set(ids))
    if not missing or _is_renumbered(node):
        return
    if not shows_npu(node):
        yield finding(
            "HK620.no-npu",
            "no NPU found: neither a device file in /dev nor a tool of the driver",
            fix="install the driver; in a container, start it with the Ascend container runtime and {variable}, or "
            "with --device and the driver's folder mounted",
            variable=VISIBLE_TO_CONTAINER,
        )
        return
    present = Message("HK620.no-cards", "/dev has no davinciN")
    if ids:
        present = Message("HK620.present-cards", "/dev has davinci for {cards}", cards=named(ids))
    hint = Message(
        "HK620.missing-cards.fix",
        "use a table of this machine, or start the container with --device=/dev/davinci{card}",
        card=missing[0],
    )
    cards = named(missing)
    if len(missing) > 1:
        message = Message(
            "HK620.missing-cards", "{cards} of the table are missing; {present}", cards=cards, present=present
        )
        yield Finding(message, hint)
    else:
        message = Message(
            "HK620.missing-card", "{card} of the table is missing; {present}", card=cards, present=present
        )
        yield Finding(message, hint, device=missing[0])


def ids_not_physical(node: Node) -> Iterator[Finding]:
    """The table numbers the cards of a container from 0, or uses cards that the container does not have.

    What:           the table has cards 0, 1, ... that are not here, and as many others are; or its cards are not among
                    those of ASCEND_VISIBLE_DEVICES.
    Why it matters: a table holds physical ids. Inside a container programs number their cards from 0, and a table does
                    not show which are meant: both readings are valid.
    Example:        a container has davinci4 to davinci7, and the table has cards 0 to 3.
    Fix:            hccl-gen --device_num "[0,4)" --visible_devices 4,5,6,7, which writes physical ids.
    HCCL:           EI0014, devicePhyId (R20).
    """
    need_npu(node)
    ids = ids_in_dev(node)
    if not ids:
        raise CannotTellError(NOT_HERE)
    if _is_renumbered(node):
        pairs = ", ".join(f"{logical} is {physical}" for logical, physical in enumerate(ids))
        yield finding(
            "HK622.counted-from-0",
            "the table has {cards}, probably numbered from 0 inside this container; here are {present} "
            "(logical {pairs})",
            hint=Message(
                "HK622.counted-from-0.fix",
                'if so, write it with: hccl-gen --device_num "[0,{number})" --visible_devices {cards}\n'
                "if not, start the container with the cards of the table",
                number=len(node.device_ids),
                cards=",".join(map(str, ids)),
            ),
            cards=named(node.device_ids),
            present=named(ids),
            pairs=pairs,
        )
        return
    given = set(visible_cards(node.environ.get(VISIBLE_TO_CONTAINER, "")))
    outside = sorted(set(node.device_ids) & set(ids) - given) if given else []
    if outside:
        text = shown(node.environ[VISIBLE_TO_CONTAINER])
        yield finding(
            "HK622.other-cards",
            "the table uses {cards}, and {variable}={value} gives this container other cards",
            fix="use a table of these cards, or start the container with the cards of the table",
            cards=named(outside),
            variable=VISIBLE_TO_CONTAINER,
            value=text,
        )


def card_unhealthy(node: Node) -> Iterator[Finding]:
    """A card of the table is unhealthy.

    What:           npu-smi shows Alarm, Critical or UNKNOWN for a card of the table, or does not list it at all.
    Why it matters: a card with a major alarm stops or gives wrong results; UNKNOWN is one that did not start, and one
                    that is in /dev and not listed fell off the bus.
    Example:        card 7: its health is Critical
    Fix:            npu-smi info -t health -i NPU -c CHIP prints the error code; leave the card out until it is
                    repaired.
    HCCL:           no code of its own; the runtime fails on that card, and the other ranks end with EI0006 or EI0002.
    """
    health = _health(node)
    lost = Message("HK625.not-shown", "npu-smi does not list it")
    bad = {card: _health_in_words(text) for card, text in health.items() if text not in (None, _HEALTHY, _MINOR)}
    missing = {card: lost for card, text in health.items() if text is None}
    yield from findings_on_cards(bad | missing, _ASK_FOR_CODE)


def card_with_alarm(node: Node) -> Iterator[Finding]:
    """A card of the table has a minor alarm.

    What:           npu-smi shows Warning for a card of the table.
    Why it matters: jobs run on such a card; the cause, such as an optical module, may end them later.
    Example:        cards 0 to 7: their health is Warning
    Fix:            npu-smi info -t health -i NPU -c CHIP prints the error code.
    HCCL:           no code.
    """
    minor = {card: _health_in_words(text) for card, text in _health(node).items() if text == _MINOR}
    yield from findings_on_cards(minor, _ASK_FOR_CODE)


def _health_in_words(text: str | None) -> Message:
    return Message("HK625.health", "its health is {text}", text=text)


def _health(node: Node) -> Mapping[int, str | None]:
    """Of each present card of the table; None if npu-smi lists all its cards and not this one.

    Raises CannotTellError if no chip can be matched to a card.
    """
    wanted = here(node)
    chips = info(node).chips
    ids = physical_ids(node, chips)
    if not ids:
        raise CannotTellError("HK625.no-card-of-chip", "npu-smi does not show which chip is which card")
    health = {ids[chip.npu, chip.chip]: chip.health for chip in chips if (chip.npu, chip.chip) in ids}
    is_whole = len(ids) == len(chips)
    return {card: health.get(card) for card in wanted if is_whole or card in health}


def _is_renumbered(node: Node) -> bool:
    """Whether the table looks as if it counted the cards of this container from 0."""
    ids, wanted = ids_in_dev(node), set(node.device_ids)
    return bool(wanted - set(ids)) and wanted <= set(range(len(ids)))


RULES = (
    Rule("HK620", "missing-card", card_missing, hccl_error="EI0014", needs_server=True),
    Rule("HK622", "logical-device-ids", ids_not_physical, hccl_error="EI0014", needs_server=True),
    Rule("HK625", "unhealthy-card", card_unhealthy, needs_server=True),
    Rule("HK626", "minor-card-alarm", card_with_alarm, severity="warning", needs_server=True),
)
