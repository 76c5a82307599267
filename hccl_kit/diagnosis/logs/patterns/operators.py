"""Lines about operators: entered, divergent, or waiting for another rank for too long.

HCCL prints one timeout as up to four records in a row (base, para, groupRank and opData information); each yields a
fact with its part of the values, and `assembling.py` joins them into one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from hccl_kit.diagnosis.errors.links import OPERATORS_DIFFER, VERSIONS
from hccl_kit.diagnosis.facts import (
    ArgumentMismatch,
    Fact,
    Fault,
    OperatorEntered,
    OperatorTimedOut,
    VersionMismatch,
    Watchdog,
)
from hccl_kit.diagnosis.logs.patterns.row import MAX_WORD, Fields, Found, Row, group_of_tag, rank

_REMOTE = re.compile(
    r"remote ?rank ?:? ?(?:\[([0-9]{1,10}|local|unknown)\]|([0-9]{1,10}|local)(?=[,.\s]))", re.IGNORECASE
)
_WAITS = ("notify", "event")


def _awaited(text: str) -> int | Literal["local"] | None:
    found = _REMOTE.search(text)
    if not found:
        return None
    named = (found[1] or found[2]).lower()
    return "local" if named == "local" else rank(named)


def _timed_out(found: Found) -> Iterator[Fact]:
    text, fields = found.record.text, found.fields()
    kind = fields.text("tasktype", "type")
    if kind and not kind.lower().startswith(_WAITS):
        yield Fault(
            "EI0012" if "sdma" in kind.lower() or "memcpy" in kind.lower() else None,
            "HCCL",
            f"a task of an operator failed: {kind[:40]}",
            text[:MAX_WORD],
        )
        return
    yield part(text, fields)


def part(text: str, fields: Fields) -> OperatorTimedOut:
    """What a record, or a message with all parts, says about the operator that timed out."""
    tag = fields.text("tag")
    return OperatorTimedOut(
        fields.rank("rankid", "localrank"),
        fields.rank("ranksize"),
        _awaited(text),
        tag,
        fields.text("group") or group_of_tag(tag),
        fields.number("index", "opindex"),
        fields.number("count"),
        fields.text("datatype"),
    )


def _stuck(found: Found) -> Iterator[Fact]:
    fields = found.fields()
    seconds = re.search(r"timeout[:=]([0-9]{1,6})(min)?\b", found.record.text)
    chip = re.search(r"chipId[:=\[] ?([0-9]{1,4})\b", found.record.text)
    yield OperatorTimedOut(
        None,
        None,
        None,
        fields.text("tag"),
        None,
        seconds=int(seconds[1]) * (60 if seconds[2] else 1) if seconds else None,
        physical=rank(chip[1]) if chip else None,
    )


def _entered(found: Found) -> Iterator[Fact]:
    fields = found.fields()
    tag = fields.text("tag")
    yield OperatorEntered(
        found.match["operator"],
        tag,
        fields.text("group", "identifier") or group_of_tag(tag),
        fields.number("index", "opindex"),
        fields.number("count", "sendcount", "recvcount"),
        fields.text("datatype", "senddatatype"),
    )


def _tagged(found: Found) -> Iterator[Fact]:
    fields = found.fields()
    yield OperatorEntered(fields.text("optype"), fields.text("tag"), fields.text("group"))


def _mismatch(found: Found) -> Iterator[Fact]:
    field, own, other = (found.match[name].strip()[:MAX_WORD] for name in ("field", "own", "other"))
    yield VersionMismatch(own, other) if "version" in field.lower() else ArgumentMismatch(field, own, other)


def _versions(found: Found) -> Iterator[Fact]:
    """Which rank has which version; the name of the version file is left out."""
    own, other = (
        re.sub(r" ?\(version file: ?[^()]{0,240}\)", "", found.match[end]).strip()[:MAX_WORD]
        for end in ("own", "other")
    )
    yield VersionMismatch(own, other)


def _operators_differ(found: Found) -> Iterator[Fact]:
    match = found.match
    yield ArgumentMismatch(f"operator {match['index']}", match["own"][:MAX_WORD], match["other"][:MAX_WORD])


def _watchdog(found: Found) -> Iterator[Fact]:
    text = found.record.text
    own = re.search(r"\[[Rr]ank ?([0-9]{1,8})\]", text[: found.match.start()])
    group = re.search(r"\[PG ID ([^\s\]]{1,80})", text[: found.match.start()])
    match = found.match
    milliseconds = int(match["timeout"])
    yield Watchdog(
        rank(own[1]) if own else None,
        int(match["sequence"]),
        match["operator"],
        group[1] if group else None,
        milliseconds / 1000,
    )


ROWS = (
    Row(
        "base information is",
        r"(?:Task run failed|FFTS\+? ?run failed|\[TaskException\])[^\n]{0,200}?base information is",
        _timed_out,
        before=True,
    ),
    Row("para information is", r"para information is", _timed_out),
    Row("groupRank information is", r"groupRank information is", _timed_out),
    Row("opData information is", r"opData information is", _timed_out),
    Row(
        "The wait execution of the Notify register times out",
        r"The wait execution of the Notify register times out",
        _timed_out,
    ),
    Row("fftsplus task timeout", r"fftsplus task timeout occur", _stuck, before=True, whole=True),
    Row("Entry-Hccl", r"Entry-Hccl(?!Comm|GetRoot|Get|Create|Destroy)(?P<operator>[A-Z]\w{1,40}) ?: ?tag", _entered),
    Row("GenerateOpTag", r"GenerateOpTag:", _tagged),
    Row(
        "inconsistent between ranks",
        r"parameter ?\[?(?P<field>\w{1,40})\]?, local(?: end)? ?\[?(?P<own>[^\s,\[\]]{1,512})\]?,"
        r" remote(?: end)? ?\[?(?P<other>[^\s,\[\]]{1,512})",
        _mismatch,
        whole=True,
    ),
    Row(
        "CMD information",
        r"CMD information (?P<field>[\w ]{1,40}?) ?check fail[^\[\n]{0,40}?"
        r"local ?\[(?P<own>[^\[\]]{0,512})\], ?remote ?\[(?P<other>[^\[\]]{0,512})\]",
        _mismatch,
    ),
    *(Row(key, VERSIONS, _versions, before=True, whole=True) for key in ("versions are inconsistent", "Inconsistent ")),
    Row("check opinfo inconsistent", OPERATORS_DIFFER, _operators_differ, whole=True),
    Row(
        "Watchdog caught collective",
        r"Watchdog caught collective operation timeout: Work\w{1,8}"
        r"\(SeqNum=(?P<sequence>[0-9]{1,15}), ?OpType=(?P<operator>\w{1,40}),"
        r"[^()\n]{0,200}?Timeout\(ms\)=(?P<timeout>[0-9]{1,12})\)",
        _watchdog,
        before=True,
    ),
)
