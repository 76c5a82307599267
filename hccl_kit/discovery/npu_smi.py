"""What npu-smi answers: the chips of a server, the processes on them, their ids, and their places in a super pod.

`npu-smi info` prints two tables:

    | NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
    | Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
    +===========================+===============+====================================================+
    | 0     Ascend910           | OK            | 178.8       36                0    / 0             |
    | 0     0                   | 0000:9D:00.0  | 0           0    / 0          3397 / 65536         |

The columns differ between generations: 910 and A2 have no Phy-ID, 300I Duo has `Device`, Atlas 950 has `NPU ID` and no
chip, and releases since 26.0 add the process id inside the container. So columns are found by their names.

`npu-smi info -t spod-info -i NPU -c CHIP` prints the place of a card of Atlas A3, whose NPUs have two chips; each is a
device with the physical id NPU * 2 + CHIP:

    SDID                           : 4259841
    Super Pod Size                 : 384
    Super Pod ID                   : 0
    Server Index                   : 1
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import row
from hccl_kit.discovery import driver_tool

USUAL_PLACES = ("/usr/local/sbin/npu-smi", "/usr/local/bin/npu-smi")
CHIPS = 2
"""Chips per NPU; every chip is a device."""

_NUMBER = re.compile(r"[0-9]{1,10}")
_NONE = 0xFFFF_FFFF
"""All 32 bits set: no id."""


class Place(NamedTuple):
    """A card's id in its super pod, and the id of that super pod."""

    sdid: int
    super_pod: int


def find() -> str | None:
    """The path of npu-smi: the first on PATH, else at one of its usual places, else None."""
    return driver_tool.find("npu-smi", USUAL_PLACES)


def places(tool: str, ids: Sequence[int], *, timeout: float = driver_tool.TIMEOUT) -> dict[int, Place]:
    """The place of every card in `ids` (physical ids); `timeout` is in seconds per card.

    Raises KitError with the reason of every card without a place, or if the cards are in several super pods.
    """

    def query_card(device_id: int) -> Place:
        npu, chip = divmod(device_id, CHIPS)
        return place(driver_tool.query([tool, "info", "-t", "spod-info", "-i", str(npu), "-c", str(chip)], timeout))

    places_of, failures = driver_tool.query_each(ids, query_card)
    plain = Message(
        "discovery.no-place.fix", "--table-version 1.0 writes a table of plain servers, which connect over RoCE"
    )
    if failures:
        raise KitError(
            "discovery.no-place",
            "{tool} reports no place in a super pod for {failed} of {count} cards:{reasons}",
            hint=plain,
            tool=tool,
            failed=len(failures),
            count=len(ids),
            reasons=driver_tool.reason_lines(failures),
        )
    pods = sorted({card.super_pod for card in places_of.values()})
    if len(pods) > 1:
        raise KitError(
            "discovery.several-super-pods",
            "{tool} reports that the cards of this server are in super pods {super_pods}",
            hint=plain,
            tool=tool,
            super_pods=row(map(str, pods)),
        )
    return places_of


def place(answer: str) -> Place:
    """The place in an answer. Raises NoAnswerError if it has none."""
    values = rows(answer)
    if "SDID" not in values or "Super Pod ID" not in values:
        raise driver_tool.NoAnswerError(driver_tool.excerpt(answer))
    for name in ("SDID", "Super Pod ID"):
        value = values[name]
        if not _NUMBER.fullmatch(value) or int(value) >= _NONE:
            bad = driver_tool.excerpt(value)
            raise driver_tool.NoAnswerError(
                Message("discovery.bad-place", "{name} {value!r} is not valid", name=name, value=bad)
            )
    return Place(int(values["SDID"]), int(values["Super Pod ID"]))


def rows(answer: str) -> Mapping[str, str]:
    """The rows `name : value` of an answer; of duplicate names the first, which belongs to the NPU as a whole."""
    values: dict[str, str] = {}
    for line in answer.split("\n"):
        name, colon, value = line.partition(":")
        if colon:
            values.setdefault(name.strip(" \t"), value.strip(" \t\r"))
    return values


_INCOMPLETE = "driver package may not be completely installed"
_CAPACITY = re.compile(r"/ *([0-9]{1,10})$")
_NAMES_OF_NPU = ("NPU", "NPU ID")

Row = Sequence[str]


class Chip(NamedTuple):
    """A chip of the first table. `physical` is its Phy-ID, None if the table has no such column.

    `memory` is what it has in MB: of its HBM, or of another kind if it has no HBM; None if the table does not say.
    """

    npu: int
    chip: int
    health: str
    physical: int | None
    name: str
    memory: int | None = None


class Process(NamedTuple):
    """A process on a chip. `inner` is its id inside its container, None if the table has no such column."""

    npu: int
    chip: int
    pid: int
    name: str
    inner: int | None


class Info(NamedTuple):
    """The answer of `npu-smi info`. `is_incomplete`: it warns that the driver may not be completely installed."""

    chips: tuple[Chip, ...]
    processes: tuple[Process, ...]
    is_incomplete: bool


def info(answer: str) -> Info | None:
    """The tables of an answer; None if it has no table of chips."""
    lines = [line.strip() for line in answer.splitlines() if line.lstrip().startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    start = next((at for at, row in enumerate(rows) if "Health" in row), None)
    if start is None or start + 1 >= len(rows):
        return None
    end = next((at for at, row in enumerate(rows) if "Process id" in row), len(rows))
    upper, lower = rows[start], rows[start + 1]
    # Skip notices between the rows.
    body = [row for row in rows[start + 2 : end] if len(row) in (len(upper), len(lower))]
    pairs = zip(body[::2], body[1::2], strict=False)
    chips = [_chip({**_record(upper, first), **_record(lower, second)}) for first, second in pairs]
    processes = [_process(_record(rows[end], row)) for row in rows[end + 1 :]] if end < len(rows) else []
    return Info(
        chips=tuple([chip for chip in chips if chip]),
        processes=tuple([process for process in processes if process]),
        is_incomplete=_INCOMPLETE in answer,
    )


def _record(head: Row, row: Row) -> Mapping[str, str]:
    """Column to value. A cell may hold several columns, whose names are separated by at least two blanks."""
    record: dict[str, str] = {}
    if len(row) == len(head):
        for names, values in zip(head, row, strict=True):
            columns = re.split(r"[ \t]{2,}", names)
            record.update(zip(columns, values.split(None, len(columns) - 1), strict=False))
    return record


def _chip(record: Mapping[str, str]) -> Chip | None:
    npu = _npu(record)
    if npu is None or not record.get("Health"):
        return None
    chip = _number(record.get("Chip", ""))
    capacity = _CAPACITY.search(record.get("HBM-Usage(MB)") or record.get("Memory-Usage(MB)") or "")
    memory = int(capacity[1]) if capacity else None
    return Chip(npu, chip or 0, record["Health"], _number(record.get("Phy-ID", "")), record.get("Name", ""), memory)


def _process(record: Mapping[str, str]) -> Process | None:
    npu, pid = _npu(record), _number(record.get("Process id", ""))
    if npu is None or pid is None:
        return None
    inner = _number(record.get("Process id in container", ""))
    return Process(npu, _number(record.get("Chip", "")) or 0, pid, record.get("Process name", ""), inner)


def _npu(record: Mapping[str, str]) -> int | None:
    return next((_number(record[name]) for name in _NAMES_OF_NPU if name in record), None)


def _number(text: str) -> int | None:
    """The number in a cell; None if it holds something else."""
    return int(text) if _NUMBER.fullmatch(text) else None


_BETWEEN = re.compile(r"[ \t]{2,}|\t")


class ChipMapping(NamedTuple):
    """A chip: `logic` is its number among the visible chips, from 0; None if a column is missing."""

    npu: int
    chip: int
    logic: int | None
    physical: int | None


def parse_map(answer: str) -> tuple[ChipMapping, ...]:
    """The chips of an answer of `npu-smi info -m` that are cards, in its order.

        NPU ID                         Chip ID                        Chip Logic ID                  Chip Name
        0                              0                              0                              Ascend 910B4
        0                              1                              -                              Mcu

    Others (Mcu) have only the id of their NPU. Atlas A3 adds `Chip Phy-ID`; Atlas 950 has it and no logic id, and a
    `Slot ID`.
    """
    rows = [_BETWEEN.split(line.strip()) for line in answer.splitlines()]
    start = next((at for at, row in enumerate(rows) if "NPU ID" in row and "Chip ID" in row), len(rows))
    mappings = []
    for cells in rows[start + 1 :]:
        record = {name: _number(value) for name, value in zip(rows[start], cells, strict=False)}
        npu, chip = record.get("NPU ID"), record.get("Chip ID")
        logic, physical = record.get("Chip Logic ID"), record.get("Chip Phy-ID")
        if npu is not None and chip is not None and (logic is not None or physical is not None):
            mappings.append(ChipMapping(npu, chip, logic, physical))
    return tuple(mappings)
