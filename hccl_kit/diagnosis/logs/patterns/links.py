"""Lines about ports, links between cards, and what breaks them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from hccl_kit.diagnosis.facts import (
    AllReachable,
    Card,
    Fact,
    LinkFailed,
    LinkRow,
    LinkTimedOut,
    ListenFailed,
    Listening,
    P2PTimedOut,
    PeerClosed,
    SuperPod,
    Tls,
    Unreachable,
)
from hccl_kit.diagnosis.logs.patterns.row import Found, Row, address, card, rank, server


def _role(text: str | None) -> Literal["client", "server"] | None:
    return "client" if text in ("1", "client") else "server" if text in ("0", "server") else None


def _listening(found: Found) -> Iterator[Fact]:
    fields = found.fields()
    ip, port = fields.text("ip"), fields.number("port")
    if ip and port is not None and port < 65536:
        yield Listening("card", ip, port, fields.rank("devphyid"))


def _listen_failed(found: Found) -> Iterator[Fact]:
    fields = found.fields()
    kind = fields.number("type")
    yield ListenFailed("host" if kind == 2 else "card", fields.text("ip"), fields.rank("port"))


def _timed_out(found: Found) -> Iterator[Fact]:
    match = found.match
    yield LinkTimedOut(rank(match["rank"]), _role(match["role"]), int(match["seconds"]) if match["seconds"] else None)


def _old_timed_out(found: Found) -> Iterator[Fact]:
    yield LinkTimedOut(rank(found.match["rank"]), _role(found.match["role"]), None)


_END = re.compile(r"(?P<address>[^\s()]{1,80}) ?\((?P<rank>[0-9]{1,10})\)")


def _row(found: Found) -> Iterator[Fact]:
    """A row of the table of broken links: ends, ports, role, status, and TLS from 8.3 on."""
    cells = [cell.strip() for cell in found.match["cells"].split("|")]
    ends = [end for cell in cells if (end := _END.fullmatch(cell))]
    roles = [at for at, cell in enumerate(cells) if cell.lower() in ("client", "server")]
    # A cut row ends with an empty cell: what follows the role is not known then.
    if len(ends) != 2 or not roles or not "".join(cells[roles[0] + 1 : roles[0] + 2]):
        return
    peer, own = ends
    after = cells[roles[0] + 1 :]
    tls = next((word for cell in after[1:] for word in ("enable", "disable") if cell.lower().startswith(word)), None)
    yield LinkRow(
        rank(own["rank"]),
        _without_card(own["address"]),
        rank(peer["rank"]),
        _without_card(peer["address"]),
        _role(cells[roles[0]].lower()),
        after[0][:40],
        tls,
    )


def _without_card(text: str) -> str | None:
    return address(text.split("/", maxsplit=1)[0])


_CREATE = (
    r"createLink para:rank\[[0-9]{1,10}\]-localUserrank\[(?P<rank>[0-9]{1,10})\]"
    r"-localIpAddr\[(?P<own>[^\[\]]{0,255})\],"
    r" ?(?:dst_rank|remoteRank|dstRank)\[[0-9]{1,10}\]-remoteUserrank\[(?P<peer_rank>[0-9]{1,10})\]"
    r"-(?:remoteIpAddr|remote_ip_addr)\[(?P<peer>[^\[\]]{0,255})\]"
)


def _link_failed(found: Found) -> Iterator[Fact]:
    match = found.match
    own, peer = card(match["own"]), card(match["peer"])
    yield LinkFailed(rank(match["rank"]), own, rank(match["peer_rank"]), peer, found.fields().text("tag"))


def _p2p(found: Found) -> Iterator[Fact]:
    match = found.match
    seconds = int(match["seconds"]) if match["seconds"] else None
    yield P2PTimedOut(rank(match["logic"]), rank(match["physical"]), seconds)


_NODE = r"\(server (?P<{0}>[^\s(),]{{1,255}}), ?device ID (?P<{0}_device>[0-9]{{1,6}})\)"


def _detected(found: Found) -> Iterator[Fact]:
    match = found.match
    source = Card(server(match["source"]), rank(match["source_device"]))
    yield Unreachable(source, Card(server(match["target"]), rank(match["target_device"])))


def _tls(found: Found) -> Iterator[Fact]:
    yield Tls(found.match["on"] == "1")


def _super_pod(found: Found) -> Iterator[Fact]:
    fields = found.fields()
    yield SuperPod(fields.text("logicsuperpodid", "superpodid"), fields.text("physuperpodid"), fields.text("nictype"))


ROWS = (
    Row("Listen on ip", r"Listen on ip\[[^\[\]]{1,80}\], ?port\[[0-9]{1,5}\] ?suc+ess?", _listening),
    Row(
        "listen on ip",
        r"socket type\[[0-9]\], ?listen on ip\[[^\[\]]{0,80}\][^\n]{0,40}port\[[0-9]{1,5}\] ?fail",
        _listen_failed,
        before=True,
    ),
    Row(
        "wait socket establish timeout",
        r"wait socket establish timeout, ?role\[(?P<role>[01])\] ?,? ?rank\[(?P<rank>[0-9]{1,10})\]"
        r"(?: ?,? ?timeout\[(?P<seconds>[0-9]{1,6}) ?s?\])?",
        _timed_out,
    ),
    Row(
        "et timeout, total[",
        r"(?P<role>client|server) ?: ?device\[[0-9]{1,6}\] rank\[(?P<rank>[0-9]{1,10})\] get so[ck]{2}et timeout",
        _old_timed_out,
        before=True,
    ),
    Row("|", r"^[ \[\w\]]{0,80}\|(?P<cells>(?:[^|\n]{1,120}\|){4,12})", _row, before=True),
    Row("createLink para", _CREATE, _link_failed),
    Row(
        "p2p timeout",
        r"p2p timeout, ?timeout:(?P<seconds>[0-9]{1,6}) ?s\.? ?local logicDevid:(?P<logic>[0-9]{1,6}),"
        r" ?remote physic id:(?P<physical>[0-9]{1,6})\b",
        _p2p,
        whole=True,
    ),
    Row(
        "fails to connect to dstRank",
        rf"srcRank {_NODE.format('source')} fails to connect to dstRank {_NODE.format('target')}",
        _detected,
        before=True,
    ),
    Row("No abnormal periods", r"No abnormal periods were discovered", lambda _: [AllReachable()]),
    Row("TLS SWITCH", r"TLS SWITCH ?\((?P<on>[01])\)", _tls),
    Row("uperPodId", r"local rank information:? ?nicType", _super_pod, before=True),
    Row("errNo[0x", r"errNo\[0x0{0,12}50[01]0{0,6}0[dD]\]", lambda _: [PeerClosed(None)]),
)
