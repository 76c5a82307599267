"""A diagnosis as text: a heading and its values on each line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import counted, listed
from hccl_kit.diagnosis.moments import clock
from hccl_kit.diagnosis.report.names import (
    clock_sentences,
    link_count,
    place_name,
    rank_name,
    rank_names,
    reason,
    short_name,
    short_names,
    subject,
)
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis, FirstFault, Suspect

MAX_GROUPS = 3
"""Groups of ranks with one awaited rank that the cascade shows, a line each."""
MIN_RUN = 3
"""Ranks in a row that wait for ranks in a row, from which on they are one item."""
MAX_PLACES = 4
MAX_CLOCKS = 4
MAX_NOTES = 5
_COLUMN = 14


def as_text(diagnosis: Diagnosis) -> str:
    """The whole diagnosis, without control characters; no line for what is not known."""
    rows = ((f"{heading}:" if heading else "", value) for heading, value in lines(diagnosis) if value)
    return "\n".join(printable(f"{heading:{_COLUMN}}{value}") for heading, value in rows)


def lines(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    """Heading and value of each line; a value may be empty, and so is the heading of a line that goes on."""
    fault = diagnosis.first_fault
    told = (
        fault_sentence(fault, subject(diagnosis, fault.suspect))
        if fault
        else f"cannot tell, because {reason(diagnosis)}"
    )
    yield "first fault", told
    yield "fix", diagnosis.fix
    others = [one for one in diagnosis.suspects if not (fault and one == fault.suspect)]
    if diagnosis.where not in ("host", "all"):
        yield "or" if fault else "suspects", listed(map(rank_name, others))
    for number, sentence in enumerate(cascade_sentences(diagnosis)):
        yield "cascade" if number == 0 else "", sentence
    yield "no log from", rank_names(diagnosis.silent)
    clocks = clock_sentences(diagnosis.clock_offsets)
    yield "clocks", f"{listed(clocks, MAX_CLOCKS)} ({link_count(diagnosis)})" if clocks else ""
    yield "evidence", listed(map(place_name, diagnosis.evidence), MAX_PLACES)
    yield "last line", clock(diagnosis.last)
    yield certainty_sentence(diagnosis)
    for note in diagnosis.notes[:MAX_NOTES]:
        yield "note", note
    if len(diagnosis.notes) > MAX_NOTES:
        yield "note", f"{len(diagnosis.notes) - MAX_NOTES} more notes in the JSON form"


def fault_sentence(fault: FirstFault, subject: str) -> str:
    """`rank 27 (10.0.0.3, card 11), 2025-11-20 21:37:51: could not listen on port 16666 [HK701 EI0019]`."""
    time = clock(fault.time)
    codes = " ".join(filter(None, (fault.rule, fault.code)))
    return f"{subject}{time and f', {time}'}: {fault.kind}{codes and f' [{codes}]'}"


def cascade_sentences(diagnosis: Diagnosis) -> Iterator[str]:
    """How many ranks waited, and for whom, a line each: ranks that wait for the same rank are one item."""
    waits = diagnosis.cascade
    if not waits:
        return
    codes = sorted({wait.code for wait in waits if wait.code})
    number = len({wait.suspect for wait in waits})
    groups = wait_groups(diagnosis)
    who = f"{counted(number, 'rank')} {'waits' if number == 1 else 'wait'} for others"
    yield who + (f": {groups[0]}" if groups else "") + (f" [{', '.join(codes)}]" if codes else "")
    yield from groups[1 : MAX_GROUPS - 1]
    rest = groups[MAX_GROUPS - 1 :]
    if rest:
        yield rest[0] if len(rest) == 1 else f"{rest[0]}, and {len(rest) - 1} more"


def wait_groups(diagnosis: Diagnosis) -> list[str]:
    """`0-2,4 -> 3`, and for a chain `8-23 -> 0-15`, where the first waits for the first."""
    groups = waiting(diagnosis)
    chained = {
        ones[0].rank: awaited.rank
        for awaited, ones in groups.items()
        if len(ones) == 1 and awaited.rank is not None and ones[0].rank is not None
    }
    starts = [rank for rank in chained if chained.get(rank - 1) != chained[rank] - 1]
    runs = {rank: length for rank in starts if (length := _run(rank, chained)) >= MIN_RUN}
    inside = {rank + n for rank, length in runs.items() for n in range(length)}
    texts = []
    for awaited, ones in groups.items():
        first, target = ones[0].rank, awaited.rank
        if first is None or target is None or first not in inside or len(ones) > 1:
            texts.append(f"{short_names(ones)} -> {short_name(awaited)}")
        elif first in runs:
            last = runs[first] - 1
            texts.append(f"{first}-{first + last} -> {target}-{target + last}")
    return texts


def _run(rank: int, chained: Mapping[int, int]) -> int:
    """How many ranks from this one on wait for ranks in a row."""
    length = 1
    while chained.get(rank + length) == chained[rank] + length:
        length += 1
    return length


def waiting(diagnosis: Diagnosis) -> dict[Suspect, list[Suspect]]:
    """The awaited ranks with those that wait for them: the first fault first, then the most awaited."""
    culprit = diagnosis.first_fault and diagnosis.first_fault.suspect
    found: dict[Suspect, list[Suspect]] = {}
    for wait in diagnosis.cascade:
        if wait.waits_for is not None:
            found.setdefault(wait.waits_for, []).append(wait.suspect)
    return dict(sorted(found.items(), key=lambda item: (item[0] != culprit, -len(item[1]))))


def certainty_sentence(diagnosis: Diagnosis) -> tuple[str, str]:
    """How sure the diagnosis is, why, and what speaks against it."""
    against = "; ".join(diagnosis.contradicts)
    why = "; ".join(diagnosis.supports)
    if diagnosis.first_fault is None:
        return "facts", "; ".join(part for part in (why, against) if part)
    heading = "certain" if diagnosis.certainty == "certain" else "likely"
    doubt = f"against it: {against}" if against else "nothing contradicts it"
    return heading, f"{why}; {doubt}" if why else doubt
