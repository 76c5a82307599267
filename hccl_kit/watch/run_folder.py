"""Read the log folder of a run: what its ranks do now. Nothing outside it is opened, and sizes are bounded.

facts_<rank>.jsonl   what a rank does (hccl_kit.runtime.flight_recorder)
rank_<rank>.log      its output
launcher_<server>    what the launch script saw
restart_<n>/         the same after the n-th restart
torch_hccl_status-*  the last collective of a rank (torch_status), if it writes no facts
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.bounded_file import open_regular
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.process_end import exit_code
from hccl_kit.runtime.flight_recorder import CURVE_AT, DONE
from hccl_kit.watch import records, torch_status
from hccl_kit.watch.records import Rows
from hccl_kit.watch.torch_status import StatusFile
from hccl_kit.watch.view import SILENT, State, WatchedRank

DEFAULT = Path("hccl_logs") / "latest"
"""The folder of the latest run of a launch script, below the folder in which the script was started."""
MAX_RANKS = 20_000
"""Ranks of a folder that are read."""
LONGEST_START = 600.0
"""Seconds after which a rank that counts no step is no longer called starting: it may count none at all."""
MAX_SERVERS = 5_000
MAX_NOTES = 64 << 10
"""Maximum bytes of the notes of a launch script."""
LOG_END = 4096
"""Bytes at the end of a log in which its last line is looked for."""
_NAME = re.compile(r"(?:(facts)_([0-9]{1,7})\.jsonl|(rank)_([0-9]{1,7})\.log|(launcher)_([0-9]{1,7}))")
_RESTART = re.compile(r"restart_([1-9][0-9]{0,6})")
_EXITED = re.compile(rb"[0-9]{1,11} exited ([0-9]{1,7}) ([0-9]{1,3})(?: ([0-9]{1,6}) ([\w.:-]{1,255}))?")
_ENDING = re.compile(rb"[0-9]{1,11} ending ([a-z]{1,10}) (-?[0-9]{1,7}) ([0-9]{1,3})")


class Attempt(NamedTuple):
    """The folder of the last start of a run, its number of restarts, and the files there by kind and number."""

    folder: Path
    restarts: int
    files: dict[str, list[int]]
    statuses: Mapping[int, StatusFile]


class Script(NamedTuple):
    """What launch scripts saw: exit code, host and card of ranks that failed first, ranks that took no step for too
    long, and whether they have ended the others.
    """

    exits: Mapping[int, tuple[int, str, int | None]]
    hung: Sequence[int]
    is_ending: bool


NOTHING = Script({}, (), False)
_NO_EXIT = (None, "", None)
HUNG = Message("watch.hung", "took no step for too long")


def find(given: Path | None) -> Path:
    """The folder of a run: the one that is given, the latest below it, or the latest below the current folder.

    Raises KitError if there is none.
    """
    if given is None:
        if not DEFAULT.is_dir():
            raise KitError(
                "watch.no-logs",
                "there is no {folder} here",
                fix="name the log folder of a run, or the folder of a training (train.ckpt_save_dir)",
                folder=DEFAULT,
            )
        return _named(DEFAULT)
    try:
        is_folder = given.is_dir()
    except ValueError as error:  # a NUL character
        raise KitError(
            "watch.folder-not-read", "cannot read {folder!r}: {reason}", folder=str(given), reason=error
        ) from error
    if not is_folder:
        raise KitError(
            "watch.not-a-folder",
            "{path} is not a folder",
            fix="name the log folder of a run, such as hccl_logs/latest",
            path=given,
        )
    return _named(given / "latest") if (given / "latest").is_dir() else given


def _named(latest: Path) -> Path:
    """The folder to which the link points, since a later run moves the link."""
    target = latest.resolve()
    return latest.parent / target.name if target.parent == latest.parent.resolve() else target


def attempt(run: Path) -> Attempt:
    """The last start in the folder of a run. Raises KitError if the folder cannot be read."""
    try:
        names = os.listdir(run)  # noqa: PTH208 - half the time of iterdir where there are many
        numbers = [int(match[1]) for name in names if (match := _RESTART.fullmatch(name))]
        folder, last = run, run / f"restart_{max(numbers, default=0)}"
        if numbers and last.is_dir() and not last.is_symlink():
            folder = last
            names = os.listdir(folder)  # noqa: PTH208
    except OSError as error:
        raise KitError(
            "watch.not-read", "cannot read {path}: {reason}", path=error.filename, reason=error.strerror
        ) from error
    files: dict[str, list[int]] = {"facts": [], "rank": [], "launcher": []}
    for name in names:
        if match := _NAME.fullmatch(name):
            kind, number = (group for group in match.groups() if group)
            files[kind].append(int(number))
    for found_numbers in files.values():
        found_numbers.sort()
    match = _RESTART.fullmatch(run.name)
    return Attempt(folder, max(numbers, default=int(match[1]) if match else 0), files, torch_status.newest(names))


def ranks_of(attempt: Attempt, ages: Ages) -> tuple[list[WatchedRank], int]:
    """The ranks of a start, and how many there should be."""
    script = _script(attempt)
    size = 0
    ranks = {}
    for number in attempt.files["facts"][:MAX_RANKS]:
        rows = _rows(attempt.folder / f"facts_{number}.jsonl")
        if rows is None:
            continue
        size = max(size, records.whole(rows[0].get("ranks"), 1 << 24) or 0)
        ranks[number] = rank(number, rows, ages.of(number, records.seconds(rows[1].get("alive"))), script)
    without = {*attempt.files["rank"][:MAX_RANKS], *sorted(attempt.statuses)[:MAX_RANKS]} - ranks.keys()
    are_starting = any(of_rank.state == "starting" for of_rank in ranks.values())
    for number in without:
        ranks[number] = _without_heartbeat(attempt, number, script, are_starting=are_starting)
        size = max(size, attempt.statuses[number].ranks if number in attempt.statuses else 0)
    stuck = {ranks[number].step for number in script.hung if number in ranks}
    for number, found_rank in ranks.items():
        stands = found_rank.step is not None and found_rank.step in stuck and found_rank.state != "done"
        if number in script.hung or stands:  # the scripts name the first of those at one step
            ranks[number] = found_rank._replace(state="failed", why=HUNG)
    return list(ranks.values()), min(size, 1 << 24)


def rank(number: int, rows: Rows, silent_s: float | None, script: Script = NOTHING) -> WatchedRank:
    """A rank, from its own file and from what the launch script saw."""
    code, _, _ = script.exits.get(number, _NO_EXIT)
    head, alive, end = rows
    known = records.fields({**head, **alive})
    start, last, idle = map(records.seconds, (head.get("start"), alive.get("alive"), alive.get("idle")))
    ended, message = records.text(end.get("ended"), 40), records.text(end.get("message"))
    state: State = "running" if idle is not None or known["step"] else "starting"
    if state == "starting" and start is not None and (last or 0.0) - start > LONGEST_START:
        state = "unknown"
    why = ""
    if code is not None or ended not in ("", DONE):
        state = "failed"
        ending = "" if ended == DONE else f"{ended}: {message}" if message else ended
        why = ending or exit_code(code)
    elif ended == DONE:
        state = "done"
    elif silent_s is not None and silent_s > SILENT:
        state = "ended" if script.is_ending else "silent"
    known["step"] = known["step"] or 0
    known["doing"] = known["doing"] if state in ("running", "starting", "silent") else ""
    idle = None if idle is None else idle + (silent_s or 0.0)
    return WatchedRank(number, state, idle_s=idle, silent_s=silent_s, why=why, **known)


def with_details(attempt: Attempt, rank: WatchedRank) -> WatchedRank:
    """The rank with its curve and the last line of its log."""
    facts = read_part(attempt.folder / f"facts_{rank.rank}.jsonl", CURVE_AT, records.CURVE_BYTES)
    log = read_part(attempt.folder / f"rank_{rank.rank}.log", -LOG_END, LOG_END)
    return rank._replace(curve=records.curve(facts or b""), last_line=records.last_line(log or b""))


class Ages:
    """How long ago ranks gave their last signs of life.

    The first read compares the clocks of the two machines. After that, new signs of life are timed by the monotonic
    clock here: the clocks of servers on a shared disk differ, and may be set.
    """

    def __init__(self, now: float, monotonic: float) -> None:
        self.now, self.monotonic = now, monotonic
        self._seen: dict[int, tuple[float, float, float]] = {}

    def look(self, now: float, monotonic: float) -> None:
        """Begin another read."""
        self.now, self.monotonic = now, monotonic

    def of(self, rank: int, alive: float | None) -> float | None:
        """Seconds since the last sign of life of a rank, which came at `alive` by its own clock."""
        if alive is None:
            return None
        before = self._seen.get(rank)
        if before is None:
            self._seen[rank] = (alive, max(0.0, self.now - alive), self.monotonic)
        elif before[0] != alive:
            self._seen[rank] = (alive, 0.0, self.monotonic)
        _, age, since = self._seen[rank]
        return age + self.monotonic - since


def _rows(path: Path) -> Rows | None:
    """The first lines of a file; read again if it was written meanwhile."""
    for _ in range(3):
        data = read_part(path, 0, records.HEAD_BYTES)
        rows = records.rows(data) if data else None
        if rows is not None and records.seconds(rows[1].get("alive")) is not None:
            break
    return rows


def _without_heartbeat(attempt: Attempt, number: int, script: Script, *, are_starting: bool) -> WatchedRank:
    """A rank without heartbeat, or that has not reached it yet: what torch_npu and the launch script know of it."""
    file = attempt.statuses.get(number)
    data = read_part(attempt.folder / file.name, 0, torch_status.MAX_BYTES) if file else None
    seen = torch_status.rank_of(number, file, data) if file and data else None
    code, host, device = script.exits.get(number, _NO_EXIT)
    if code is not None:
        return WatchedRank(number, "failed", host, device, why=seen.why if seen and seen.why else exit_code(code))
    if seen and not (script.is_ending and seen.state == "running"):
        return seen
    return WatchedRank(number, "ended" if script.is_ending else "starting" if are_starting else "unknown")


def _script(attempt: Attempt) -> Script:
    """What the launch scripts noted, up to the moment from which on they ended the ranks themselves."""
    exits: dict[int, tuple[int, str, int | None]] = {}
    hung: list[int] = []
    is_ending = False
    for server in attempt.files["launcher"][:MAX_SERVERS]:
        for line in (read_part(attempt.folder / f"launcher_{server}", 0, MAX_NOTES) or b"").split(b"\n"):
            if ending := _ENDING.fullmatch(line):
                is_ending = True
                if ending[1] == b"hang":
                    hung.append(int(ending[2]))
                elif ending[1] == b"rank":
                    exits.setdefault(int(ending[2]), (int(ending[3]), "", None))
                break
            if exited := _EXITED.fullmatch(line):
                host, device = (exited[4] or b"").decode("ascii", "replace"), int(exited[3]) if exited[3] else None
                exits.setdefault(int(exited[1]), (int(exited[2]), host, device))
    return Script(exits, hung, is_ending)


def read_part(path: Path, at: int, size: int) -> bytes | None:
    """`size` bytes of a regular file from `at` on, from the end if that is negative; None if it cannot be read."""
    try:
        descriptor = open_regular(path, follows=False)
    except OSError:
        return None
    try:
        start = max(0, os.fstat(descriptor).st_size + at) if at < 0 else at
        return os.pread(descriptor, size, start)
    except OSError:
        return None
    finally:
        os.close(descriptor)
