"""The cards of this machine, according to /dev and npu-smi."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from hccl_kit.base.grouped import grouped
from hccl_kit.base.message import Message
from hccl_kit.base.wording import joined, plural, spans
from hccl_kit.discovery import npu_smi
from hccl_kit.preflight.node import CannotTellError, Node
from hccl_kit.preflight.probes import tools
from hccl_kit.table.finding import Finding, finding

CONTROLS = ("davinci_manager", "devmm_svm", "hisi_hdc")
"""The device files that every program on an NPU opens, apart from that of its card."""
VISIBLE_TO_CONTAINER = "ASCEND_VISIBLE_DEVICES"
"""Read by the Ascend container runtime: the physical ids that it puts into the container."""
NO_NPU = Message("preflight.no-npu", "no NPU found on this machine, see HK620")
NOT_HERE = Message("preflight.no-card", "none of the table's cards is present")
_DAVINCI = re.compile(r"davinci([0-9]{1,4})")
_VISIBLE = re.compile(r"(?:Ascend[0-9A-Za-z]{0,16}-)?([0-9]{1,4})(?:-([0-9]{1,4}))?")

Place = tuple[int, int]
"""An NPU and a chip on it, as npu-smi counts them."""


def ids_in_dev(node: Node) -> tuple[int, ...]:
    """The physical ids N of the files /dev/davinciN, ascending."""
    return tuple(sorted(int(match[1]) for name in _names_in_dev(node) if (match := _DAVINCI.fullmatch(name))))


def shows_npu(node: Node) -> bool:
    """Whether this machine has any sign of an NPU: a device file, or a tool of the driver."""
    names = _names_in_dev(node)
    return bool(
        ids_in_dev(node)
        or names.intersection(CONTROLS)
        or any(tools.find(node, tool) for tool in (tools.NPU_SMI, tools.HCCN_TOOL))
    )


def need_npu(node: Node) -> None:
    """Raises CannotTellError if this machine has no sign of an NPU."""
    if not shows_npu(node):
        raise CannotTellError(NO_NPU)


def here(node: Node) -> tuple[int, ...]:
    """The physical ids of the table's cards that are present. Raises CannotTellError if there are none."""
    need_npu(node)
    ids = tuple(sorted(set(node.device_ids) & set(ids_in_dev(node))))
    if not ids:
        raise CannotTellError(NOT_HERE)
    return ids


def info(node: Node) -> npu_smi.Info:
    """The output of `npu-smi info`. Raises CannotTellError if it has no table of cards."""
    need_npu(node)
    shown = npu_smi.info(tools.smi(node, "info"))
    if shown is None or not shown.chips:
        raise CannotTellError("preflight.no-cards-shown", "npu-smi shows no table of cards, see HK638")
    return shown


def physical_ids(node: Node, chips: Iterable[npu_smi.Chip]) -> Mapping[Place, int]:
    """The physical id of every chip for which it is known.

    npu-smi prints it on A3 (Phy-ID) and, with -m, on Atlas 950. Elsewhere its logic ids number the cards of this system
    from 0, so logic id 0 is the first file in /dev. If these do not match, an NPU with one chip has its own number.
    """
    chips = tuple(chips)
    if all(chip.physical is not None for chip in chips):
        return {(chip.npu, chip.chip): chip.physical for chip in chips if chip.physical is not None}
    mapped = {(chip.npu, chip.chip): chip for chip in npu_smi.parse_map(tools.smi(node, "info", "-m"))}
    in_dev = ids_in_dev(node)
    matches_dev = sorted(-1 if chip.logic is None else chip.logic for chip in mapped.values()) == list(
        range(len(in_dev))
    )
    single = {npu for npu, group in groupby(sorted(chip.npu for chip in chips)) if len(list(group)) == 1}
    ids: dict[Place, int] = {}
    for chip in chips:
        place = (chip.npu, chip.chip)
        entry = mapped.get(place)
        if entry and entry.physical is not None:
            ids[place] = entry.physical
        elif entry and entry.logic is not None and matches_dev:
            ids[place] = in_dev[entry.logic]
        elif chip.npu in single:
            ids[place] = chip.npu
    return ids


def named(ids: Iterable[int]) -> Message:
    """`named([3])` is "card 3", `named([0, 1, 2, 3, 6])` is "cards 0 to 3 and 6"."""
    numbers = sorted(ids)
    parts = [span(*text.split("-")) for text in spans(numbers)]
    return Message("preflight.named", "{noun} {numbers}", noun=plural("card", len(numbers)), numbers=joined(parts))


def span(first: str, last: str = "") -> str:
    """From the first to the last, or the first alone."""
    return Message("preflight.span", "{first} to {last}", first=first, last=last) if last else first


def visible_cards(text: str) -> Sequence[int]:
    """The cards of ASCEND_VISIBLE_DEVICES in their order: of `4,3`, `0-3` or `Ascend910-0,Ascend910-1`.

    Empty if it is something else.
    """
    matches = [_VISIBLE.fullmatch(part.strip()) for part in text[:4096].split(",")]
    if not all(matches):
        return ()
    return [number for match in matches if match for number in range(int(match[1]), int(match[2] or match[1]) + 1)]


def findings_on_cards(texts: Mapping[int, str], hint: str | None = None) -> Iterator[Finding]:
    """One finding for each text, with all cards that have it."""
    for text, ids in grouped((text, device_id) for device_id, text in texts.items()).items():
        yield finding(
            "preflight.cards",
            "{cards}: {text}",
            hint=hint,
            device=ids[0] if len(ids) == 1 else None,
            cards=named(ids),
            text=text,
        )


def _names_in_dev(node: Node) -> frozenset[str]:
    try:
        return frozenset(os.listdir(node.root / "dev"))  # noqa: PTH208 - names are enough
    except OSError:
        return frozenset()
