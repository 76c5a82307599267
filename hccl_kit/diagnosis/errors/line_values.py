"""The values in a line of a log, for the blanks of the sentences about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hccl_kit.base.message import Message
from hccl_kit.diagnosis.errors.agreement import COMMANDS, REDUCTIONS

MAX_VALUE = 160
"""Characters of a value of a line that are shown."""
_VALUE = re.compile(
    r"Value[ ]+(?P<value>[^\n]{0,200}?)[ ]*\bfor ranktable variable (?P<variable>[^\n]{1,200}?) is invalid"
    r"(?:[. ]*Expected value: *(?P<expected>[^\n]{1,200}))?",
    re.IGNORECASE,
)
"""The message of EI0014."""
_BYTES = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_MUCH = 0.2
"""The share of a card's memory that only another process explains: HCCL and the runtime need less."""


def values_of(line: str, match: re.Match[str]) -> Mapping[str, str]:
    """The groups of a pattern that matches a line; and of a message of EI0014 in it: value, variable, expectation."""
    return {**_of_message(line), **_of_match(match)}


def values_found(line: str) -> Iterator[Message]:
    """What HCCL found in a rank table, as a sentence for each message of EI0014."""
    for message in _messages(line):
        value, variable = message["value"] or Message("diagnosis.nothing", "nothing"), message["variable"]
        if expected := (message["expected"] or "").strip(' ."'):
            yield Message(
                "diagnosis.value-expected",
                "HCCL found {value} for {variable}; it expects: {expected}",
                value=value,
                variable=variable,
                expected=expected,
            )
        else:
            yield Message("diagnosis.value-found", "HCCL found {value} for {variable}", value=value, variable=variable)


def variables_in(line: str) -> Iterator[str]:
    """HCCL's names of the values that messages of EI0014 are about."""
    return (message["variable"] for message in _messages(line))


def bounded(value: str) -> str:
    """A value of a line as it is shown."""
    return value if len(value) <= MAX_VALUE else f"{value[:MAX_VALUE]}..."


def _messages(line: str) -> Iterator[re.Match[str]]:
    return _VALUE.finditer(line) if "ranktable variable" in line.casefold() else iter(())


def _of_message(line: str) -> Mapping[str, str]:
    match = next(_messages(line), None)
    return {key: part.strip(' ."') for key, part in match.groupdict().items() if part} if match else {}


def _of_match(match: re.Match[str]) -> Mapping[str, str]:
    """The values of a line. A `peer` that is unknown or local becomes `untold` or `itself`, with its own sentence."""
    values = {key: bounded(part) for key, part in match.groupdict().items() if part}
    values |= _memory(values)
    special = {"unknown": "untold", "4294967295": "untold", "local": "itself"}
    if name := special.get(values.get("peer", "")):
        values[name] = values.pop("peer")
    names = {"cmdType": COMMANDS, "op": REDUCTIONS}.get(values.get("field", ""), {})
    for end in ("own", "other"):
        if values.get(end) in names:
            values[end] += f" ({names[values[end]]})"
    return values


def _memory(values: Mapping[str, str]) -> Mapping[str, str]:
    """Who holds the memory of a card: `outside` of this process, or `mostly` this process itself."""
    sizes = [_in_bytes(values.get(name, "")) for name in ("total", "free", "reserved")]
    if not all(sizes):
        return {}
    total, free, reserved = sizes
    outside = total - free - reserved
    if outside > _MUCH * total:
        return {"outside": f"{outside / _BYTES['GiB']:.1f} GiB"}
    return {"mostly": values["reserved"]} if reserved > total / 2 else {}


def _in_bytes(size: str) -> float:
    """60.96 GiB as a number; 0 if it is not a size."""
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,4})?) ?([KMGT]iB)", size)
    return float(match[1]) * _BYTES[match[2]] if match else 0.0
