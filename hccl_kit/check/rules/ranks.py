"""HK2: every rank from 0 to N-1 exactly once (R17). The order in the file is free (R18)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from hccl_kit.base.message import Message
from hccl_kit.check.rule import ALL_KINDS, Rule, first_defined, repeated
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Edit, Finding
from hccl_kit.table.model import Device, RankTable
from hccl_kit.table.products import Product


def rank_taken(table: RankTable, _product: Product) -> Iterator[Finding]:
    """Two devices have the same rank.

    What:           a `rank_id` that an earlier device of the table already has.
    Why it matters: two processes would be the same rank; HCCL requires N different ranks for N devices.
    Example:        two tables joined without renumbering the second.
    Fix:            give every device its own rank, 0 to N-1.
    HCCL:           EI0014, rank_id "is less than the communication size N and must be unique."
    """
    size, times = table.world_size, Counter(table.ranks)
    if len(times) == size:
        return
    free = sorted(set(range(size)).difference(times))
    hint = (
        Message("HK201.free.fix", "use rank {rank}, which no device has", rank=free[0])
        if len(free) == 1
        else Message("HK201.fix", "number the ranks 0 to {last}", last=size - 1)
    )
    owners = ((device.rank, (server, device)) for server, device in table.devices() if times[device.rank] > 1)
    for rank, (_, device), (server, earlier) in repeated(owners):
        message = Message(
            "HK201.taken",
            "rank {rank} is already taken by device {device} of server {server}",
            rank=rank,
            device=earlier.id,
            server=shown(server.id),
        )
        related = first_defined((*earlier.at, "rank_id"))
        yield Finding(message, hint, pointer=(*device.at, "rank_id"), related=related)


def rank_outside(table: RankTable, _product: Product) -> Iterator[Finding]:
    """A rank is not below the number of devices.

    What:           a `rank_id` of N or more in a table of N devices. Reported once for a table, at the first one.
    Why it matters: ranks are 0 to N-1 without a gap; with one too high, another is missing.
    Example:        eight devices ranked 1 to 8, or the second half of a table that was cut in two.
    Fix:            number the ranks from 0. `--fix` writes the missing number if one rank alone is wrong, and shifts
                    all ranks if all are too high; ranks that can be right stay.
    HCCL:           EI0014, rank_id "is less than the communication size N and must be unique."
    """
    size = table.world_size
    outside = [device for device in table.every if device.rank >= size]
    if outside:
        count = len(outside) - 1
        others: Message | str = ""
        if count:
            others = Message("HK202.another", ", nor is another rank")
        if count > 1:
            others = Message("HK202.others", ", nor are {count} other ranks", count=count)
        missing = min(set(range(size)).difference(table.ranks))
        message = Message(
            "HK202.outside",
            "rank {rank} is not in 0..{last}{others}; the first rank that is missing is {missing}",
            rank=outside[0].rank,
            last=size - 1,
            others=others,
            missing=missing,
        )
        fix = tuple(_renumbered(table, outside))
        hint = Message("HK202.fix", "number the ranks 0 to {last}", last=size - 1)
        if not fix:
            hint = Message(
                "HK202.choose.fix",
                "number the ranks 0 to {last}; more than one numbering is possible: choose one",
                last=size - 1,
            )
        yield Finding(message, hint, pointer=(*outside[0].at, "rank_id"), fix=fix)


def _renumbered(table: RankTable, outside: Sequence[Device]) -> Iterator[Edit]:
    """The edits if there is exactly one correct numbering; none if the user has to choose.

    A rank that can be right stays. One rank out of range gets the free number; if all are out of range and without a
    gap, they are shifted down together. Ranks 1 to N are neither: rank N may be meant for 0, or all may be one too
    high.
    """
    ranks = set(table.ranks)
    lowest, size = min(ranks), table.world_size
    is_shifted = ranks == set(range(lowest, lowest + size))
    quote = "" if table.version == "2.0" else '"'  # only there a rank is an integer
    if len(ranks) < size or (is_shifted and 0 < lowest < size) or not (is_shifted or len(outside) == 1):
        return
    free = next(iter(set(range(size)) - ranks))
    for device in outside:
        right = device.rank - lowest if is_shifted else free
        yield Edit((*device.at, "rank_id"), f"{quote}{right}{quote}")


RULES = (
    Rule("HK201", "duplicate-rank", rank_taken, hccl_error="EI0014", variables=("rank_id", "rankId"), kinds=ALL_KINDS),
    Rule(
        "HK202",
        "rank-out-of-range",
        rank_outside,
        hccl_error="EI0014",
        variables=("rank_id", "rankId"),
        kinds=ALL_KINDS,
    ),
)
