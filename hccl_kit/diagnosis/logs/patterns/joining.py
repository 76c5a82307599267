"""Lines that tell which process is which rank of which communicator."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hccl_kit.diagnosis.facts import (
    Fact,
    GroupLeft,
    GroupNamed,
    Joined,
    JoinFailed,
    NeverConnected,
    PeerClosed,
    RootCreated,
    RootSilent,
    RootUnreachable,
)
from hccl_kit.diagnosis.logs.patterns.row import Fields, Found, Row, address, rank, result, server

_IDENTIFIER = re.compile(r"(?P<host>[^%\s]{1,255})%[^%\s]{1,64}_[0-9]{1,5}_[0-9]{1,6}_[0-9]{16}")


def _root(group: str | None) -> str | None:
    found = _IDENTIFIER.fullmatch(group or "")
    return found["host"] if found else None


def joined(found: Found, *, complete: bool = False) -> Iterator[Fact]:
    """A rank of a communicator, by whatever names the line gives its values."""
    fields = found.fields()
    own = fields.rank("rank", "localrank", "userrank", "rankid")
    if own is None:
        return
    group = fields.text("identifier", "group")
    if group is None and not found.record.is_whole:
        return  # the part of the line that is lost may name a communicator, in which ranks count otherwise
    yield Joined(
        group,
        own,
        fields.rank("ranknum", "ranks", "totalranks", "ranksize"),
        server(fields.text("server", "serverid")),
        fields.rank("logicdevid", "devicelogicid", "logicdeviceid"),
        fields.rank("phydevid", "devicephyid", "phydeviceid", "device"),
        address(fields.text("deviceip", "devip")),
        fields.text("ip") or _root(group),
        complete,
    )


def _complete(found: Found) -> Iterator[Fact]:
    return joined(found, complete=True)


def _root_created(found: Found) -> Iterator[Fact]:
    group = found.fields().text("identifier")
    if group:
        yield RootCreated(group)


def _init_info(found: Found) -> Iterator[Fact]:
    # It follows the list of ranks that the root has sent.
    yield from joined(found, complete=True)
    fields = found.fields()
    name, group = fields.text("commid"), fields.text("identifier")
    if name and group and name != group:
        yield GroupNamed(group, name)


def _join_failed(found: Found) -> Iterator[Fact]:
    fields = found.fields()
    yield JoinFailed(
        fields.text("identifier"),
        fields.rank("rank"),
        fields.rank("ranknum"),
        server(fields.text("server")),
        result(fields.text("return")),
    )


def _left(found: Found) -> Iterator[Fact]:
    yield GroupLeft(found.fields().text("group", "identifier") or _old_group(found))


def _old_group(found: Found) -> str | None:
    """The name in place of the thread (2022): hccl-PID-0-TIME-NAME."""
    old = re.match(r" ?\[(hccl-[^\[\]]{1,120})\]", found.record.text)
    return old[1] if old else None


def _never(found: Found) -> Iterator[Fact]:
    ranks = tuple(one for text in found.match["ranks"].split(",")[: 1 << 16] if (one := rank(text.strip())) is not None)
    if ranks:
        yield NeverConnected(ranks)


def _unreachable(found: Found) -> Iterator[Fact]:
    port = found.match["port"]
    yield RootUnreachable(server(found.match["host"]), int(port))


def _silent(found: Found) -> Iterator[Fact]:
    yield PeerClosed(None) if found.match["ret"] == "13" else RootSilent()


_OF_OTHERS = (4, 9, 11, 12, 13)
"""HcclResults of a communicator that others may have broken: internal, timeout, and connections."""


def _not_joined(found: Found) -> Iterator[Fact]:
    """2022: `[hccl-PID-0-TIME-NAME][RANK][HcomInitByFile]errNo[0x...] ... hcom init failed`."""
    text, fields = found.record.text, Fields.of(found.record.text)
    if found.record.level != "ERROR":
        return
    named = re.match(r" ?\[hccl-[^\[\]]{1,120}\]\[([0-9]{1,8})\]", text)
    own, code = rank(named[1]) if named else None, result(fields.text("errno", "return"))
    if code is None or code in _OF_OTHERS:
        yield JoinFailed(_old_group(found), own, None, None, code)
    elif own is not None:
        yield Joined(_old_group(found), own)  # an error before this line has the cause


ROWS = (
    Row("hcom init failed", "hcom init failed", _not_joined, before=True, whole=True),
    Row("Entry-HcclCommInit", r"Entry-HcclCommInit\w{0,40}", joined),
    Row("SetupAgent", r"SetupAgent rankNum", joined),
    Row("hcom init by file", r"hcom init by file succe+ss", _complete),
    Row("HcclCommInitRootInfo", r"HcclCommInitRootInfo\w{0,20} success", _complete),
    Row("HcclCommInitClusterInfo", r"HcclCommInitClusterInfo\w{0,20} success", _complete),
    Row("hcclCommInitInfo", r"hcclCommInitInfo:", _init_info),
    Row("LocalRank Key Info", r"LocalRank Key Info\]?", joined),
    Row("HcclGetRootInfo", r"HcclGetRootInfo\w{0,20} success", _root_created),
    Row("failed, return", r"(?:HcclCommInit\w{0,40}|Init) failed, ?return", _join_failed, before=True),
    Row("Entry-HcclCommDestroy", r"Entry-HcclCommDestroy", _left),
    Row("destroy complete", r"(?:hcom|op_base comm) destroy complete", _left, before=True),
    Row("Failed to connect agent", r"Failed to connect agent ?\[(?P<ranks>[0-9, ]{1,16384})\]", _never),
    Row("List of unconnected ranks", r"List of unconnected ranks: ?\W?\[(?P<ranks>[0-9, ]{1,16384})\]", _never),
    Row("connectFailedAgentIdList", r"connectFailedAgentIdList ?:?\[(?P<ranks>[0-9, ]{1,16384})\]", _never),
    Row(
        "topo exchange agent get socket timeout",
        r"topo exchange agent get socket timeout",
        lambda _: [RootUnreachable(None, None)],
    ),
    Row(
        "connect server",
        r"connect server ?\[(?P<host>[^\[\]]{1,255}?) ?: ?(?P<port>[0-9]{1,5})\] ?failed",
        _unreachable,
    ),
    Row(
        "receive msg length from fdhandle",
        r"receive msg length from fdhandle failed, ret\[(?P<ret>[0-9]{1,3})\]",
        _silent,
    ),
)
