"""A diagnosis as text: a heading and its values on each line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable, text_width
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import clauses, listed, sentences
from hccl_kit.diagnosis.errors.row import TEXTS
from hccl_kit.diagnosis.moments import clock
from hccl_kit.diagnosis.report.names import (
    clock_sentences,
    full_names,
    link_count,
    short_name,
    short_names,
    subject,
)
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis, FirstFault, Suspect
from hccl_kit.diagnosis.verdict.names import place_name, rank_name

MAX_GROUPS = 3
"""Groups of ranks with one awaited rank that the cascade shows, a line each."""
MIN_RUN = 3
"""Ranks in a row that wait for ranks in a row, from which on they are one item."""
MAX_PLACES = 4
MAX_CLOCKS = 4
MAX_NOTES = 5
FIRST_FAULT = Message("diagnosis.head-first-fault", "first fault")
NOTE = Message("diagnosis.head-note", "note")
_COLUMN = 14


def as_text(diagnosis: Diagnosis) -> str:
    """The whole diagnosis, without control characters; no line for what is not known."""
    rows = ((_label(heading), translated(value)) for heading, value in lines(diagnosis) if value)
    return "\n".join(printable(label + value) for label, value in rows)


def _label(heading: str) -> str:
    label = translated(Message("diagnosis.label", "{heading}:", heading=heading)) if heading else ""
    return label + " " * (_COLUMN - text_width(label))


def lines(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    """Heading and value of each line; a value may be empty, and so is the heading of a line that goes on."""
    fault = diagnosis.first_fault
    yield FIRST_FAULT, fault_sentence(fault, subject(diagnosis, fault.suspect)) if fault else _cannot_tell(diagnosis)
    yield Message("diagnosis.head-fix", "fix"), translated(diagnosis.fix, TEXTS)
    others = [suspect for suspect in diagnosis.suspects if not (fault and suspect == fault.suspect)]
    if diagnosis.where not in ("host", "all"):
        either, suspects = Message("diagnosis.head-or", "or"), Message("diagnosis.head-suspects", "suspects")
        yield either if fault else suspects, listed(map(rank_name, others))
    for number, sentence in enumerate(cascade_sentences(diagnosis)):
        yield Message("diagnosis.head-cascade", "cascade") if number == 0 else "", sentence
    yield Message("diagnosis.head-silent", "no log from"), full_names(diagnosis.silent)
    clocks = clock_sentences(diagnosis.clock_offsets)
    yield (
        Message("diagnosis.head-clocks", "clocks"),
        Message(
            "diagnosis.clocks", "{clocks} ({basis})", clocks=listed(clocks, MAX_CLOCKS), basis=link_count(diagnosis)
        )
        if clocks
        else "",
    )
    yield Message("diagnosis.head-evidence", "evidence"), listed(map(place_name, diagnosis.evidence), MAX_PLACES)
    yield Message("diagnosis.head-last", "last line"), clock(diagnosis.last)
    yield certainty_sentence(diagnosis)
    for note in diagnosis.notes[:MAX_NOTES]:
        yield NOTE, note
    if (more := len(diagnosis.notes) - MAX_NOTES) > 0:
        yield NOTE, Message("diagnosis.more-notes", "{number} more notes in the JSON form", number=more)


def _cannot_tell(diagnosis: Diagnosis) -> str:
    reason = diagnosis.reason or Message("diagnosis.no-reason", "the logs name no cause")
    return Message("diagnosis.cannot-tell", "cannot tell, because {reason}", reason=reason)


def fault_sentence(fault: FirstFault, subject: str) -> str:
    """`rank 27 (10.0.0.3, card 11), 2025-11-20 21:37:51: could not listen on port 16666 [HK701 EI0019]`."""
    codes = " ".join(filter(None, (fault.rule, fault.code)))
    return Message(
        "diagnosis.fault",
        "{subject}: {what}{codes}",
        subject=clauses(filter(None, (subject, clock(fault.time)))),
        what=translated(fault.kind, TEXTS),
        codes=codes and f" [{codes}]",
    )


def cascade_sentences(diagnosis: Diagnosis) -> Iterator[str]:
    """How many ranks waited, and for whom, a line each: ranks that wait for the same rank are one item."""
    waits = diagnosis.cascade
    if not waits:
        return
    codes = sorted({wait.code for wait in waits if wait.code})
    number = len({wait.suspect for wait in waits})
    if number == 1:
        sentence = Message("diagnosis.cascade-of-one", "1 rank waits for others")
    else:
        sentence = Message("diagnosis.cascade", "{number} ranks wait for others", number=number)
    groups = wait_groups(diagnosis)
    if groups:
        sentence = Message("diagnosis.cascade-groups", "{waits}: {group}", waits=sentence, group=groups[0])
    if codes:
        sentence = Message("diagnosis.cascade-codes", "{waits} [{codes}]", waits=sentence, codes=", ".join(codes))
    yield sentence
    yield from groups[1 : MAX_GROUPS - 1]
    rest = groups[MAX_GROUPS - 1 :]
    if rest:
        more = len(rest) - 1
        yield (
            Message("diagnosis.more-waits", "{group}, and {number} more", group=rest[0], number=more)
            if more
            else rest[0]
        )


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
    waiters: dict[Suspect, list[Suspect]] = {}
    for wait in diagnosis.cascade:
        if wait.waits_for is not None:
            waiters.setdefault(wait.waits_for, []).append(wait.suspect)
    return dict(sorted(waiters.items(), key=lambda item: (item[0] != culprit, -len(item[1]))))


def certainty_sentence(diagnosis: Diagnosis) -> tuple[str, str]:
    """How sure the diagnosis is, why, and what speaks against it."""
    against, why = sentences(diagnosis.contradicts), sentences(diagnosis.supports)
    if diagnosis.first_fault is None:
        return Message("diagnosis.head-facts", "facts"), sentences([why, against])
    certain, likely = Message("diagnosis.head-certain", "certain"), Message("diagnosis.head-likely", "likely")
    doubt = (
        Message("diagnosis.against", "against it: {facts}", facts=against)
        if against
        else Message("diagnosis.no-contradiction", "nothing contradicts it")
    )
    return certain if diagnosis.certainty == "certain" else likely, sentences([why, doubt])
