"""Rules HK615 to HK619 and HK660 to HK662: what must be the same on all servers of a job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.grouped import grouped
from hccl_kit.base.hostlist import fold
from hccl_kit.base.message import Message
from hccl_kit.base.wording import counted, listed, sentences
from hccl_kit.check.rule import Rule, run
from hccl_kit.preflight.answer import ABSENT, FRAMEWORK, HOST, TABLE, TLS, Answer
from hccl_kit.preflight.probes.cards import span
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding, finding
from hccl_kit.table.products import ANY_PRODUCT

SKEW = 1.0
"""Maximum difference of two clocks in seconds."""
MAX_VALUES = 4
"""Values of one fact in a message, the most frequent ones; the JSON form has all."""
_UNSET = Message("preflight.unset", "not set")
_AHEAD = Message("HK619.ahead", "ahead of")
_BEHIND = Message("HK619.behind", "behind")


class Round(NamedTuple):
    """All servers of one round that answered.

    `digest` is the SHA-256 of the table's file here. `ahead` has the least number of seconds that the clock of a
    server is ahead of ours, negative if it is behind, without the round trip. `path` is the place of the table
    on each of them, None if not known.
    """

    answers: Sequence[Answer]
    digest: str
    ahead: Mapping[str, float]
    path: Path | None = None


def differences(answered: Round) -> tuple[Finding, ...]:
    """What differs between the servers, in the order of the rules."""
    return tuple(run(CLUSTER_RULES, ANY_PRODUCT, answered))


def folded(servers: Sequence[str]) -> str:
    """Servers in the short form of a host list, if they can be written so."""
    try:
        return fold(list(dict.fromkeys(servers)))
    except KitError:
        return listed(map(shown, servers))


def table_differs(answered: Round) -> Iterator[Finding]:
    """Some servers have a different table.

    What:           at the path of the table a server has a file with other bytes. HK661 reports a missing file.
    Why it matters: ranks that read another table have other numbers, or wait for servers that are not in the job.
    Example:        the table was generated again on the first server and not copied to the others.
    Fix:            copy it to all servers; `hccl-kit diff` shows how two tables differ.
    HCCL:           EI0014 if counts differ; else EI0005 or EI0006 after the timeout.
    """
    others = [
        answer.server for answer in answered.answers if answer.facts.get(TABLE, ABSENT) not in (ABSENT, answered.digest)
    ]
    if others:
        yield finding(
            "HK615.different-tables",
            "the table on {servers} differs from the checked table",
            fix="copy it there; hccl-kit diff shows how they differ",
            servers=folded(others),
        )


def versions_differ(answered: Round) -> Iterator[Finding]:
    """The servers have different versions of driver, firmware or CANN.

    What:           a version differs between servers.
    Why it matters: HCCL compares the versions of CANN when two ranks connect; drivers of two releases are not always
                    compatible.
    Example:        CANN 8.0.RC2 on fifteen servers and 8.0.RC1 on one.
    Fix:            install one release everywhere.
    HCCL:           EI0008.
    """
    for name in _names(answer.facts for answer in answered.answers):
        if name not in (TABLE, TLS, HOST, *FRAMEWORK):
            yield from _unlike(name, _fact(answered, name), _one_release(name))


def tls_differs(answered: Round) -> Iterator[Finding]:
    """The TLS setting differs between servers.

    What:           TLS is switched on for some cards and off for others.
    Why it matters: a card with TLS and one without do not connect.
    Example:        a new server, whose cards came with TLS on.
    Fix:            hccn_tool -i N -tls -s enable 0 for each card, or 1 on all.
    HCCL:           EI0016; EI0006 in older releases.
    """
    yield from _unlike("TLS", _fact(answered, TLS), _one_value("TLS"))


def variables_differ(answered: Round) -> Iterator[Finding]:
    """An HCCL variable differs between servers.

    What:           a variable HCCL_*, HCOMM_*, ASCEND_GLOBAL_*, ASCEND_RT_* or RANK_TABLE_FILE has other values on
                    some servers, as seen by a program that is started there like this one. HCCL_IF_IP and
                    HCCL_SOCKET_IFNAME may differ.
    Why it matters: ranks with different algorithms, buffers or timeouts do not work together.
    Example:        HCCL_BUFFSIZE=400 in the profile of one server only.
    Fix:            export it before `hccl-kit run`, which passes it on, or in the script that every server runs.
    HCCL:           EI0005, or EI0006 after the shortest connect timeout of any rank.
    """
    for name in _names(answer.variables for answer in answered.answers):
        values = {answer.server: answer.variables.get(name, _UNSET) for answer in answered.answers}
        yield from _unlike(name, values, _one_value(name))


def clocks_differ(answered: Round) -> Iterator[Finding]:
    """The clocks of the servers differ.

    What:           the clock of a server differs by more than a second from the clock of this machine.
    Why it matters: after a failure the first error in time over all ranks is the cause; with two clocks the order of
                    the logs is wrong. Certificates and file systems are affected too.
    Example:        a server without chrony is 40 s behind.
    Fix:            start chronyd or ntpd there.
    HCCL:           no code.
    """
    for side, sign in ((_AHEAD, 1), (_BEHIND, -1)):
        by_server = {name: sign * seconds for name, seconds in answered.ahead.items() if sign * seconds > SKEW}
        least, most = (f"{end(by_server.values(), default=0.0):.1f}" for end in (min, max))
        if len(by_server) == 1:
            message = Message(
                "HK619.clock",
                "the clock of {server} is {seconds} s {side} the clock of this machine",
                server=folded([*by_server]),
                seconds=most,
                side=side,
            )
            yield Finding(message, Message("HK619.clock.fix", "start chronyd or ntpd there"))
        elif by_server:
            seconds = most if least == most else span(least, most)
            message = Message(
                "HK619.clocks",
                "the clocks of {servers} are {seconds} s {side} the clock of this machine",
                servers=folded([*by_server]),
                seconds=seconds,
                side=side,
            )
            yield Finding(
                message, Message("HK619.clocks.fix", "start chronyd or ntpd there, or here if this clock is wrong")
            )


def frameworks_differ(answered: Round) -> Iterator[Finding]:
    """The servers have different versions of MindSpore or Python.

    What:           MindSpore's version, or the first two numbers of Python's, differ between servers, for the Python
                    that runs this.
    Why it matters: HCCL does not check it; results of a model, and which data and checkpoints can be read, may differ.
    Example:        Python 3.10 and 3.11.
    Fix:            install one environment everywhere.
    HCCL:           no code.
    """
    for name in FRAMEWORK:
        yield from _unlike(name, _fact(answered, name), _one_release(name))


def table_absent(answered: Round) -> Iterator[Finding]:
    """Some servers do not have the table.

    What:           at the path of the table a server has no readable file.
    Why it matters: the scripts of `hccl-kit launch --to bash` need the table on every server, and so do ranks that read
                    RANK_TABLE_FILE. Ignore this if the job copies it there, or is started with msrun.
    Example:        the table was generated on the first server, and not copied to the second.
    Fix:            copy it to the same path on all servers.
    HCCL:           no code; EI0004 if a rank gets the path of a missing table.
    """
    absent = [answer.server for answer in answered.answers if answer.facts.get(TABLE) == ABSENT]
    if absent:
        yield finding(
            "HK661.missing-table",
            "there is no readable table at {path} on {servers}",
            fix="copy it there",
            path=shown(str(answered.path)),
            servers=folded(absent),
        )


def one_host_twice(answered: Round) -> Iterator[Finding]:
    """Two servers of the table are containers of one host.

    What:           servers with different ids in the table answer from one host.
    Why it matters: HCCL connects the cards of two servers by their RoCE ports, although HCCS links them; where those
                    ports have no cable or no address, the job does not start.
    Example:        two pods of a node with eight cards, each with its own address as server_id.
    Fix:            give them one server_id in the table, such as the address of the node, or take one pod with all
                    cards; with hostNetwork both have that address.
    HCCL:           EI0014 (device_ip), EI0006, or 103900 of HIXL.
    """
    for servers in grouped((host, server) for server, host in _fact(answered, HOST).items()).values():
        if len(servers) > 1:
            yield finding(
                "HK662.one-host",
                "{servers} are several servers in the table, but one host",
                fix="give them one server_id, or take one container with all their cards",
                servers=folded(servers),
            )


def _fact(answered: Round, name: str) -> Mapping[str, str]:
    return {answer.server: answer.facts[name] for answer in answered.answers if name in answer.facts}


def _names(mappings: Iterable[Mapping[str, str]]) -> list[str]:
    return sorted({name for mapping in mappings for name in mapping})


def _one_value(name: str) -> Message:
    return Message("preflight.difference.fix", "set {name} to the same value on all servers", name=name)


def _one_release(name: str) -> Message:
    return Message("preflight.releases.fix", "install one release of {name} on all servers", name=name)


def _unlike(name: str, values: Mapping[str, str], hint: Message) -> Iterator[Finding]:
    """One finding if the values of the servers differ, the most frequent value first."""
    by_value = grouped((value, server) for server, value in values.items())
    if len(by_value) > 1:
        groups = sorted(by_value.items(), key=lambda pair: -len(pair[1]))
        parts = [
            _on_servers(_UNSET if value == _UNSET else shown(value), servers) for value, servers in groups[:MAX_VALUES]
        ]
        rest = [server for _, servers in groups[MAX_VALUES:] for server in servers]
        if rest:
            parts.append(_on_servers(counted(len(groups) - MAX_VALUES, "other value"), rest))
        yield finding("preflight.difference", "{name} differs: {values}", hint=hint, name=name, values=sentences(parts))


def _on_servers(value: str, servers: Sequence[str]) -> Message:
    return Message("preflight.value-on", "{value} on {servers}", value=value, servers=folded(servers))


CLUSTER_RULES: tuple[Rule[[Round]], ...] = (
    Rule("HK615", "different-tables", table_differs, hccl_error="EI0014", kinds=("all nodes",)),
    Rule("HK616", "different-versions", versions_differ, hccl_error="EI0008", kinds=("all nodes",)),
    Rule("HK617", "different-tls", tls_differs, hccl_error="EI0016", kinds=("all nodes",)),
    Rule("HK618", "different-variables", variables_differ, severity="warning", kinds=("all nodes",)),
    Rule("HK619", "clock-skew", clocks_differ, severity="warning", kinds=("all nodes",)),
    Rule("HK660", "different-frameworks", frameworks_differ, severity="warning", kinds=("all nodes",)),
    Rule("HK661", "missing-table", table_absent, severity="warning", kinds=("all nodes",)),
    Rule("HK662", "one-host-twice", one_host_twice, severity="warning", kinds=("all nodes",)),
)
