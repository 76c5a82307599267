"""Lines of HCCL's monitoring of other cards: lost heartbeats, ranks that stand still, lost packets."""

from __future__ import annotations

import re
from calendar import timegm
from collections.abc import Iterator

from hccl_kit.diagnosis.facts import Card, ErrorCqe, Fact, Heartbeat, Lost
from hccl_kit.diagnosis.logs.patterns.row import Found, Row, address, card, number, rank, server

_STATUS = r"status ?\[(?P<status>[A-Za-z ]{1,40})\]"
_END = r"\[(?P<{0}>[^\[\]]{{1,255}})\]"


def _status(text: str) -> Lost:
    text = text.lower()
    return "error cqe" if "cqe" in text else "stuck" if "stuck" in text else "lost"


def _end(text: str | None) -> tuple[Card, int | None]:
    if text is None:
        return Card(), None
    own = rank(text.strip())
    return (Card(), own) if own is not None else (card(text.strip()), None)


def _event(found: Found) -> Iterator[Fact]:
    match = found.match
    yield Heartbeat(*_end(match["culprit"]), _end(match["reporter"])[1], _status(match["status"]), False)


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _arrival(text: str | None) -> float | None:
    """The time that C's ctime prints, whatever the locale of this process is."""
    found = re.fullmatch(
        r"\w{3} (\w{3}) {1,2}([0-9]{1,2}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) ([0-9]{4})", (text or "").strip()
    )
    if not found or found[1] not in _MONTHS:
        return None
    day, hour, minute, second, year = (int(found[at]) for at in range(2, 7))
    if not (1 <= day <= 31 and hour < 24 and minute < 60 and second < 61 and year >= 1970):
        return None
    return float(timegm((year, _MONTHS.index(found[1]) + 1, day, hour, minute, second, 0, 0, 0)))


def _verdict(found: Found) -> Iterator[Fact]:
    match = found.match
    if "nconsistent" in match["status"]:
        return  # of operators: nobody is lost, and the line about their arguments names both ranks
    reporter, arrival = _end(match["reporter"])[1], _arrival(match["arrival"])
    yield Heartbeat(*_end(match["culprit"]), reporter, _status(match["status"]), True, arrival)


def _old_verdict(found: Found) -> Iterator[Fact]:
    match = found.match
    culprit = Card(server(match["server"]), rank(match["device"]))
    yield Heartbeat(culprit, None, None, _status(match["status"]), True)


def _oldest_verdict(found: Found) -> Iterator[Fact]:
    match = found.match
    yield Heartbeat(card(match["culprit"]), None, None, _status(match["status"]), True)


def _cqe(found: Found) -> Iterator[Fact]:
    text = found.record.text
    status = re.search(r"status ?\[([0-9]{1,6})\]", text)
    local = re.search(r"local ?Info ?\{([^{}]{0,400})\}", text, re.IGNORECASE)
    remote = re.search(r"remote ?(?:IP|Info) ?\{([^{}]{0,400})\}|\bip:\[([^\[\]]{1,80})\]", text, re.IGNORECASE)
    if remote:
        peer = _card_in(remote[1]) if remote[1] is not None else Card(address=address(remote[2]))
        yield ErrorCqe(_card_in(local[1] if local else ""), peer, number(status[1]) if status else None)


def _card_in(text: str) -> Card:
    def value(name: str) -> str | None:
        found = re.search(rf"\b{name} ?:? ?\[([^\[\]]{{1,255}})\]", text, re.IGNORECASE)
        return found[1] if found else None

    own = address(value("(?:deviceIp|ip)"))
    if own is None and re.fullmatch(r" ?\[?[0-9a-fA-F.:]{3,45}\]? ?", text):
        own = address(text.strip(" []"))
    return Card(server(value("server(?:Id)?")), rank(value("deviceId")), own)


_SIDE = (
    r"server:? (?P<{0}_server>[^\s,]{{1,255}}), ?device ID:? (?P<{0}_device>[0-9]{{1,6}}),"
    r" ?device IP:? (?P<{0}_ip>[0-9a-fA-F.:]{{2,45}}?)"
)


def _ei0013(found: Found) -> Iterator[Fact]:
    match = found.match
    own, peer = (
        Card(server(match[f"{side}_server"]), rank(match[f"{side}_device"]), address(match[f"{side}_ip"].rstrip(".")))
        for side in ("own", "peer")
    )
    yield ErrorCqe(own, peer, None)


ROWS = (
    Row(
        "crimer rank",
        rf"crimer rank ?{_END.format('culprit')} ?{_STATUS} ?by informer rank ?{_END.format('reporter')}",
        _event,
    ),
    Row(
        "[HCCL_TRACE]rank",
        rf"\[HCCL_TRACE\]rank ?\[[^\[\]]{{1,255}}\]: ?rank ?{_END.format('culprit')} ?{_STATUS}"
        rf" ?by rank ?{_END.format('reporter')}",
        _event,
    ),
    Row(
        "Cluster Exception Location",
        rf"Cluster Exception Location ?\[IP/ID\] ?: ?{_END.format('culprit')}, ?Arrival Time ?: ?"
        rf"\[(?P<arrival>[^\[\]]{{0,40}})\],"
        rf"(?: ?Discoverer ?: ?{_END.format('reporter')},)? ?ExceptionType ?: ?\[(?P<status>[^\[\]]{{1,80}})\]",
        _verdict,
    ),
    Row(
        "Occurred",
        r"serverId ?\[(?P<server>[^\[\]]{1,255})\], ?deviceId ?\[(?P<device>[0-9]{1,6})\], ?"
        r"(?P<status>Heartbeat Lost|Stuck|Error cqe) Occurred",
        _old_verdict,
        before=True,
        whole=True,
    ),
    Row(
        "Occurred",
        r"server:(?P<culprit>[^\s,/]{1,255}/[0-9]{1,6}), ?server:[^\s,/]{1,255}/[0-9]{1,6}, ?"
        r"(?P<status>Heartbeat Lost|Stuck|Error cqe) Occurred",
        _oldest_verdict,
        before=True,
        whole=True,
    ),
    Row("cqe err", r"cqe err(?:or)? status ?\[[0-9]{1,6}\]", _cqe),
    Row(
        "An error CQE occurred",
        rf"Local information: {_SIDE.format('own')}\.? Peer information: {_SIDE.format('peer')}(?:\.(?:\s|$)|\s|,|$)",
        _ei0013,
        whole=True,
    ),
)
