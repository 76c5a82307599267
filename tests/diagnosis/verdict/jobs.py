"""Small handwritten jobs as events: four cards per server, and one process per card."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hccl_kit.diagnosis import facts
from hccl_kit.diagnosis.facts import Card, Event, Evidence, Fact, LogFile, Place, Process

GROUP = "10.1.0.0%eth0_60000_0_1760000000000000"
START, JOINED, GAVE_UP = 1000.0, 1010.0, 1140.0
"""Seconds on the clock of every server: the processes start, the group is complete, links are given up."""
STUCK = JOINED + 100 + 1836
"""When a training operator times out."""
CARDS = 4


def address(rank: int) -> str:
    """The address of a rank's card."""
    return f"192.168.{rank // CARDS}.{rank % CARDS}"


def host(rank: int) -> str:
    """The server of a rank."""
    return f"10.1.0.{rank // CARDS}"


class Logs:
    """The logs of a job of some ranks in one folder for each server."""

    def __init__(self, size: int, *, joined: bool = True, without: Iterable[int] = ()) -> None:
        self.size = size
        self._cut: set[int] = set()
        self._lines: dict[int, list[tuple[float | None, bool, Fact]]] = {}
        for rank in sorted(set(range(size)) - set(without)):
            self._lines[rank] = []
            self.say(rank, START, self.joining(rank, complete=False))
            if joined:
                self.say(rank, JOINED, self.joining(rank, complete=True))

    def joining(self, rank: int, *, complete: bool) -> facts.Joined:
        """The events in the log of a rank that joins."""
        card = rank % CARDS
        return facts.Joined(GROUP, rank, self.size, host(rank), card, card, address(rank), host(0), complete)

    def say(self, rank: int, time: float | None, fact: Fact, *, error: bool = False) -> Logs:
        """Add a line."""
        self._lines.setdefault(rank, []).append((time, error, fact))
        return self

    def fail(self, rank: int, time: float | None, fact: Fact) -> Logs:
        """Add a line of level ERROR."""
        return self.say(rank, time, fact, error=True)

    def cut(self, *ranks: int) -> Logs:
        """The ends of the logs of these ranks are missing."""
        self._cut.update(ranks)
        return self

    def evidence(self) -> Evidence:
        """The evidence as a reader returns it."""
        files, events = [], []
        for rank, lines in self._lines.items():
            process = Process(f"node-{rank // CARDS}", 100 + rank)
            name = f"{process.worker}/debug/plog/plog-{process.pid}_20260101.log"
            times = [time for time, *_ in lines if time is not None]
            cut = "ends in a line" if rank in self._cut else None
            files.append(LogFile(process, name, 1, min(times, default=None), max(times, default=None), cut))
            for number, (time, error, fact) in enumerate(lines, 1):
                events.append(Event(process, Place(name, number), time, error, fact))
        return Evidence(tuple(files), tuple(events))


def row(own: int, peer: int) -> facts.LinkRow:
    """A broken link to another card."""
    return facts.LinkRow(own, peer, address(peer))


def unlinked(logs: Logs, rank: int, peers: Iterable[int], time: float = GAVE_UP) -> Logs:
    """A rank gives up its links to others."""
    logs.fail(rank, time, facts.LinkTimedOut(rank))
    for peer in peers:
        logs.fail(rank, time, row(rank, peer))
    return logs


def stuck(
    size: int, rank: int, awaited: int | None = None, *, position: int = 7, count: int = 64
) -> facts.OperatorTimedOut:
    """An operator that timed out."""
    return facts.OperatorTimedOut(rank, size, awaited, f"AllReduce_{GROUP}", GROUP, position, count, "float16")


def port_taken() -> Logs:
    """Rank 5 cannot listen, and all links to it are given up; rank 5 gives up as well."""
    logs = Logs(8)
    logs.fail(5, JOINED + 1, facts.ListenFailed("card", address(5), 16666))
    for rank in (4, 6, 7):
        unlinked(logs, rank, [5])
    unlinked(logs, 1, [5])
    return unlinked(logs, 5, [4, 6], GAVE_UP + 1)


def exception() -> Logs:
    """The program of rank 2 fails in training, and the others time out waiting for it."""
    logs = Logs(8).fail(2, JOINED + 100, facts.Fault(None, "PYTHON", "ValueError", "ValueError: no"))
    for rank in (0, 1, 3, 4, 5, 6, 7):
        logs.fail(rank, STUCK + rank / 10, stuck(8, rank, 2))
    return logs


def never_entered() -> Logs:
    """Rank 6 never calls the operator: its server waits for it, and the other one for its server."""
    logs = Logs(8)
    for rank in (4, 5, 7):
        unlinked(logs, rank, [6])
    for rank in range(4):
        unlinked(logs, rank, [rank + 4], GAVE_UP + 1)
    return logs


def absent() -> Logs:
    """Rank 3 never starts: the root does not hear of it, and the others hear nothing of the root."""
    logs = Logs(8, joined=False, without=[3])
    logs.fail(0, GAVE_UP, facts.Connected((0, 1, 2, 4, 5, 6, 7), 8)).fail(0, GAVE_UP, facts.NeverConnected((3,)))
    for rank in (1, 2, 4, 5, 6, 7):
        logs.fail(rank, GAVE_UP + 1, facts.RootSilent())
    return logs


def lost() -> Logs:
    """Rank 1 is killed in training; all others are notified of the loss, and give up half an hour later."""
    logs = Logs(8)
    for rank in (0, 2, 3, 4, 5, 6, 7):
        logs.say(rank, JOINED + 140, heard(1)).fail(rank, STUCK + rank / 10, stuck(8, rank))
    return logs


def heard(rank: int) -> facts.Heartbeat:
    """A rank has stopped responding."""
    return facts.Heartbeat(Card(host(rank), rank % CARDS), None, None, "lost", is_verdict=False)


def behind() -> Logs:
    """Rank 4 is an operator behind the others."""
    logs = Logs(8)
    for rank in range(8):
        logs.fail(rank, STUCK + rank / 10, stuck(8, rank, position=6 if rank == 4 else 7))
    return logs


def late() -> Logs:
    """Rank 7 arrives after the others have given up, and then waits for them."""
    logs = Logs(8)
    for rank in range(7):
        unlinked(logs, rank, [7])
    return unlinked(logs, 7, [4, 5], GAVE_UP + 150)


def tls() -> Logs:
    """The card of rank 6 alone has TLS."""
    logs = Logs(8)
    for rank in range(8):
        logs.say(rank, JOINED, facts.Tls(rank == 6))
    for rank in (4, 5, 7, 2):
        unlinked(logs, rank, [6])
    return unlinked(logs, 6, [4, 5, 7, 2])


def another_algorithm() -> Logs:
    """The second of three servers has another HCCL_ALGO, so its ranks connect to other peers than expected."""
    logs = Logs(12)
    for rank in range(12):
        logs.say(rank, START, facts.Setting("HCCL_ALGO", "level0:NA;level1:ring" if host(rank) == host(4) else ""))
    for rank in range(4):
        unlinked(logs, rank, [rank + 4])
        unlinked(logs, rank + 4, [rank, rank + 8])
        unlinked(logs, rank + 8, [rank + 4])
    return logs


def cut_off() -> Logs:
    """The second of three servers has no network: it and the others wait for each other."""
    logs = Logs(12)
    for rank in range(4):
        unlinked(logs, rank, [rank + 4])
        unlinked(logs, rank + 4, [rank, rank + 8])
        unlinked(logs, rank + 8, [rank + 4])
    return logs


def packets_lost() -> Logs:
    """Ranks 1 and 5 lose packets to each other."""
    logs = Logs(8)
    logs.fail(1, JOINED + 100, facts.ErrorCqe(Card(address=address(5))))
    return logs.fail(5, JOINED + 100, facts.ErrorCqe(Card(address=address(1))))


def two_programs() -> Logs:
    """The programs of ranks 2 and 5 fail in training, that of rank 5 a minute later; the timeouts name no rank."""
    logs = Logs(8).fail(2, JOINED + 100, facts.Fault(None, "PYTHON", "ValueError", "ValueError: no"))
    logs.fail(5, JOINED + 160, facts.Fault(None, "PYTHON", "OSError", "OSError: no"))
    for rank in (0, 1, 3, 4, 6, 7):
        logs.say(rank, START, facts.Setting("HCCL_EXEC_TIMEOUT", "1836")).fail(rank, STUCK + rank / 10, stuck(8, rank))
    return logs


def two_releases() -> Logs:
    """The second of three servers has another release; the ring has links between all servers."""
    logs = Logs(12)
    for rank in range(12):
        own, other = ("8.3", "8.5") if host(rank) == host(4) else ("8.5", "8.3")
        logs.fail(rank, JOINED + 1, facts.VersionMismatch(own, other))
    return logs


PLANTED: dict[str, tuple[Callable[[], Logs], frozenset[int]]] = {
    "port taken": (port_taken, frozenset({5})),
    "exception": (exception, frozenset({2})),
    "never entered": (never_entered, frozenset({6})),
    "absent": (absent, frozenset({3})),
    "lost": (lost, frozenset({1})),
    "behind": (behind, frozenset({4})),
    "late": (late, frozenset({7})),
    "another algorithm": (another_algorithm, frozenset({4, 5, 6, 7})),
    "TLS": (tls, frozenset({6})),
    "cut off": (cut_off, frozenset({4, 5, 6, 7})),
    "packets lost": (packets_lost, frozenset({1, 5})),
}
"""Jobs, and the ranks that are a correct verdict."""
