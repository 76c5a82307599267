"""A made-up job and its plogs in HCCL's grammar: the header of a record in the forms of several releases, the files."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timezone
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

CARDS = 8
"""Cards of a server."""
Release = Literal["6.3", "8.0", "8.3", "8.5"]
RELEASES: tuple[Release, ...] = ("6.3", "8.0", "8.3", "8.5")
Layout = Literal["world", "data", "pipeline"]
LAYOUTS: tuple[Layout, ...] = ("world", "data", "pipeline")
HEADERS = ("plain",) * 6 + ("glued", "blanks", "date", "nameless")
_HEADS = {
    "plain": "[{0}] {1}({2},{3}):{4}",
    "glued": "[{0}]{1}({2},{3}):{4}",
    "blanks": "[{0}] {1}({2}, {3}) :{4}",
    "date": "[{0}] {1}({2},{3}):{5}",
    "nameless": "[{0}] {1}({2},):{4}",
}
"""How the header of a line is written: level, module, pid, name of the process, date with a hyphen or a blank."""
Kind = Literal["debug", "run", "device", "screen"]


class Rank(NamedTuple):
    """A rank of the job: where it runs, and how its logs name it."""

    number: int
    server: int
    card: int
    pid: int
    host: str
    """The address of its server."""
    address: str
    """The address of its card."""
    folder: str
    """The folder of its server's logs."""

    @property
    def at(self) -> str:
        """`10.0.0.1/3`, as heartbeats name it."""
        return f"{self.host}/{self.card}"


class Group(NamedTuple):
    """A communicator: its name, and its ranks in the order in which it counts them."""

    name: str
    members: tuple[int, ...]


class Job(NamedTuple):
    """The job before anything goes wrong. Times are in seconds since 1970, without the error of a server's clock."""

    ranks: tuple[Rank, ...]
    release: Release
    start: float
    connect_timeout: int
    exec_timeout: int
    group: str
    steps: int
    """Operators of the group that have succeeded."""
    header: str
    layout: Layout = "world"

    @property
    def servers(self) -> int:
        """The number of servers."""
        return self.ranks[-1].server + 1

    @property
    def world(self) -> Group:
        """The communicator of all ranks."""
        return Group(self.group, tuple(range(len(self.ranks))))

    def tensor(self, rank: Rank) -> Group:
        """The communicator of a rank's neighbours: of its server, or of half a server if there is only one."""
        size = self._tensor_size
        first = rank.number // size * size
        return self._group(first // size, tuple(range(first, first + size)))

    def across(self, rank: Rank) -> Group:
        """The communicator of the ranks that have the same place in all tensor groups: of data, or of a pipeline."""
        size = self._tensor_size
        return self._group(1000 + rank.number % size, tuple(range(rank.number % size, len(self.ranks), size)))

    def groups(self, rank: Rank) -> tuple[Group, ...]:
        """The communicators of a rank beside the one of all ranks."""
        return () if self.layout == "world" else (self.tensor(rank), self.across(rank))

    @property
    def _tensor_size(self) -> int:
        return CARDS if self.servers > 1 else CARDS // 2

    def _group(self, number: int, members: tuple[int, ...]) -> Group:
        microseconds = int((self.start + 6 + number / 100) * 1e6)
        return Group(f"{self.ranks[members[0]].host}%eth0_60000_{number % 1000 + 1}_{microseconds}", members)


def new_job(random: Random, ranks: int, network: int = 20) -> Job:
    """A job of that many ranks on servers of CARDS cards, whose addresses begin with 10.NETWORK."""
    start = 1_760_000_000 + random.random() * 20_000_000
    release: Release = random.choice(RELEASES)
    in_containers, names = random.random() < 0.3, random.choice(("address", "node-{}", "worker-{}"))
    pids = [random.randint(200, 60_000) for _ in range(ranks)]

    def rank(number: int) -> Rank:
        server, card = divmod(number, CARDS)
        host = f"10.{network}.{server // 200}.{server % 200 + 1}"
        pid = 1000 + card if in_containers else pids[number] * 100 + card
        folder = host if names == "address" else names.format(server)
        return Rank(number, server, card, pid, host, f"192.168.{100 + card}.{server + 1}", folder)

    every = tuple(map(rank, range(ranks)))
    name = f"{every[0].host}%eth0_60000_0_{int(start * 1e6)}"
    connect, execute = random.choice((120, 120, 300, 600)), random.choice((1836, 1836, 1800, 900))
    steps, header = random.randint(3, 400), random.choice(HEADERS)
    layout = random.choices(LAYOUTS, (5, 3, 2))[0]
    return Job(every, release, start, connect, execute, name, steps, header, layout)


class Plogs:
    """The lines of all files, which are sorted by time when they are written."""

    def __init__(self, job: Job, random: Random) -> None:
        self.job, self.random = job, random
        self.clock_errors = [0.0] * job.servers
        self._lines: dict[tuple[Rank, Kind], list[tuple[float, int, str]]] = defaultdict(list)
        self.silent: set[int] = set()
        """Ranks that never start: they have no files."""
        self.ends: dict[int, float] = {}
        """When a rank's process ends: nothing is written later."""
        self.has_outputs = False
        """Whether the outputs of the programs and of their launchers were collected, and not only codes on screens."""
        self.has_plogs = True
        self.is_merged = False
        """Whether the outputs of all programs are one file, with the rank before each line."""
        self.gone: set[int] = set()
        """Servers that ended as a whole: no launcher of theirs tells anything."""
        self.exits: dict[int, tuple[float, int]] = {}
        """When the process of a rank ended by itself, and its exit code; that of a signal is negative."""
        self.texts: dict[str, str] = {}
        """Other files by their path, such as those of launchers and hosts."""

    def relayout(self, layout: Layout) -> None:
        """Before anything is written: the communicators that the job has."""
        self.job = self.job._replace(layout=layout)

    def put(
        self,
        rank: Rank,
        time: float,
        text: str,
        *,
        level: str = "ERROR",
        kind: Kind | None = None,
        module: str = "HCCL",
        source: str = "op_base.cc",
        stage: str = "",
    ) -> None:
        """A record of a rank; errors go to debug, all others to run. `stage` is what 8.5 writes in brackets."""
        kind = kind or ("debug" if level == "ERROR" else "run")
        lines = self._lines[rank, kind]
        lines.append(
            (time, len(lines), self._record(rank, time, text, level=level, module=module, source=source, stage=stage))
        )

    def has_errors(self, rank: Rank) -> bool:
        """Whether a rank has reported an error of its own."""
        return (rank, "debug") in self._lines

    def screen(self, rank: Rank, time: float, text: str) -> None:
        """A line as the program of a rank prints it, without the header of a plog."""
        lines = self._lines[rank, "screen"]
        lines.append((time, len(lines), text))

    def _record(self, rank: Rank, time: float, text: str, *, level: str, module: str, source: str, stage: str) -> str:
        release, pid = self.job.release, rank.pid
        line = self.random.randint(40, 1900)
        tid = pid if module != "HCCL" or level != "ERROR" else pid + 1000
        stamp = stamped(time + self.clock_errors[rank.server])
        name = "hccp_service.bin" if module == "HCCP" else "python3"
        head = _HEADS[self.job.header].format(
            level, module, pid, name, stamp, stamp.replace("-", " ").replace(" ", "-", 2)
        )
        head += f" [{source}:{line}]"
        if module == "HCCP":
            return f"{head}tid:{tid},rs_call({line}) : {text}"
        if module == "RUNTIME":
            return f"{head}{tid} Call:{text}"
        if release == "6.3":
            return f"{head}[{pid}][{tid}]{text}"
        if release == "8.5":
            return f"{head} [{tid}]{stage}{text}"
        return f"{head}[{tid}]{text}"

    def write(self, folder: Path, *, without: frozenset[int] = frozenset()) -> list[Path]:
        """The files, but for those of the ranks `without`; returns their paths."""
        texts = dict(self.texts)
        merged: list[tuple[float, int, str]] = []
        for (rank, kind), lines in self._lines.items():
            if rank.number in self.silent or rank.number in without or not (self.has_plogs or kind == "screen"):
                continue
            end = self.ends.get(rank.number)
            kept = [line for line in sorted(lines) if end is None or line[0] <= end]
            if kind == "screen" and self.is_merged:
                mark = f"[rank{rank.number}]:"
                merged += [(time, n, text if text.startswith(mark) else f"{mark} {text}") for time, n, text in kept]
            elif kept:
                texts[self._path(rank, kind)] = self._joined([text for _, _, text in kept])
        if merged:
            texts["train.log"] = self._joined([text for _, _, text in sorted(merged)])
        for name, text in texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return [folder / name for name in texts]

    def last_error(self, rank: Rank) -> float | None:
        """When a rank wrote its last error into its plog."""
        return max((time for time, _, _ in self._lines.get((rank, "debug"), ())), default=None)

    def _joined(self, lines: list[str]) -> str:
        """The lines; now and then two records share one, as after writes of two threads at once."""
        ends = ["" if self.random.random() < 0.001 else "\n" for _ in lines[1:]]
        return "".join(line + end for line, end in zip(lines, [*ends, "\n"], strict=True))

    def _path(self, rank: Rank, kind: Kind) -> str:
        stamp = stamped(self.job.start + self.clock_errors[rank.server])
        digits = "".join(char for char in stamp if char.isdecimal())[:17]
        if kind == "screen":
            return f"{rank.folder}/rank_{rank.number}.log"
        if kind == "device":
            return f"{rank.folder}/run/device-{rank.card}/device-{rank.pid}_{digits}.log"
        return f"{rank.folder}/{kind}/plog/plog-{rank.pid}_{digits}.log"


def stamped(time: float) -> str:
    """`2025-11-20-21:37:51.123.456`."""
    moment = datetime.fromtimestamp(time, timezone.utc)
    return f"{moment:%Y-%m-%d-%H:%M:%S}.{moment.microsecond // 1000:03}.{moment.microsecond % 1000:03}"
