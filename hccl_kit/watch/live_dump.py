"""Dumps of the flight recorders of running ranks, which go on: asked for through their pipes, read as `diagnose` does.

With TORCH_HCCL_DEBUG_INFO_PIPE_FILE=STEM (torch_npu) or TORCH_NCCL_DEBUG_INFO_PIPE_FILE=STEM (torch with NCCL), each
rank reads the pipe STEM<rank>.pipe of its host, and dumps after any byte. It looks there every second, if it also dumps
after a timeout, else every 600 s.

Source: DumpPipe in torch_npu's ProcessGroupHCCL.hpp and torch's ProcessGroupNCCL.hpp, seen on 2026-11-28; nothing here
has run on an NPU or with NCCL.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.base.grouped import grouped
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.diagnosis.facts import Dumped, Traced
from hccl_kit.diagnosis.logs.reading import read
from hccl_kit.watch.view import ranks_in_words

SECONDS = 20.0
"""That ranks have for their dumps."""
POLL = 0.2
SETTLED_NS = 1_000_000_000
"""Since the last change of a dump until it is taken for complete; it is not written at one go."""
MAX_NAMED = 8
UNREADABLE = Message("watch.dump-unreadable", "unknown: the dump is incomplete, or cannot be read")
BEFORE = Message("watch.dump-before", "before any collective")
_PIPE = re.compile(r"([0-9]{1,7})\.pipe", re.ASCII)
_DUMP = re.compile(r"(?:hccl|torch)_trace_rank_([0-9]{1,7})", re.ASCII)


def notes(folder: Path, stem: str) -> list[Message]:
    """What the ranks of this host are in, by new dumps in the log folder of a start, a sentence for each collective.

    `stem` is the value of the variable. Raises KitError if no rank listens.
    """
    before = _dumps(folder)
    asked = {rank for rank, path in _pipes(stem) if _ask(path)}
    if not asked:
        raise KitError(
            "watch.no-pipe",
            "no rank of this host listens at {stem}RANK.pipe",
            fix="start with hccl-kit run --env TORCH_HCCL_DEBUG_INFO_PIPE_FILE={stem} (of torch: TORCH_NCCL_...)",
            stem=stem,
        )
    dumps = _new(folder, before, asked)
    late = sorted(asked - dumps.keys())
    sentences = [*_collectives(dumps)] if dumps else []
    if late:
        sentences.append(
            Message(
                "watch.no-dump",
                "no dump of {ranks} within {seconds:g} s: they look at their pipes every second only with "
                "TORCH_HCCL_DUMP_ON_TIMEOUT=1 (of torch: TORCH_NCCL_...), and dump into the folder of the run only if "
                "TORCH_HCCL_DEBUG_INFO_TEMP_FILE says so; hccl-kit run sets both",
                ranks=ranks_in_words(late, MAX_NAMED),
                seconds=SECONDS,
            )
        )
    return sentences


def _pipes(stem: str) -> Iterator[tuple[int, Path]]:
    """The pipes of ranks on this host."""
    folder, start = Path(stem).parent, "" if stem.endswith("/") else Path(stem).name
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name.startswith(start) and (match := _PIPE.fullmatch(path.name.removeprefix(start))):
                yield int(match[1]), path


def _ask(path: Path) -> bool:
    """Write a byte into a pipe; False if it is none, or no rank reads it."""
    with suppress(OSError):
        pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            return stat.S_ISFIFO(os.fstat(pipe).st_mode) and os.write(pipe, b"1") == 1
        finally:
            os.close(pipe)
    return False


def _dumps(folder: Path) -> dict[int, tuple[Path, int]]:
    """The newest dump of each rank, and when it was changed, in ns since 1970 by the clock of its disk."""
    dumps: dict[int, tuple[Path, int]] = {}
    for path in folder.iterdir():
        match = _DUMP.fullmatch(path.name)
        with suppress(OSError):
            if match and (changed := path.stat().st_mtime_ns) > dumps.get(int(match[1]), (path, -1))[1]:
                dumps[int(match[1])] = path, changed
    return dumps


def _new(folder: Path, before: Mapping[int, tuple[Path, int]], asked: set[int]) -> dict[int, Path]:
    """The dumps of these ranks that are new, and have not changed for a while; those that come in time."""
    settled: dict[int, Path] = {}
    seen: dict[int, tuple[int, int]] = {}
    end = time.monotonic() + SECONDS
    while asked - settled.keys() and time.monotonic() < end:
        time.sleep(POLL)
        now = time.monotonic_ns()
        for rank, (path, changed) in _dumps(folder).items():
            if rank in asked and before.get(rank, (path, -1))[1] != changed:
                seen[rank] = seen[rank] if seen.get(rank, (0, 0))[0] == changed else (changed, now)
                if now - seen[rank][1] > SETTLED_NS:
                    settled[rank] = path
    return settled


def _collectives(dumps: Mapping[int, Path]) -> Iterator[Message]:
    """Which ranks are in which collective, the one that most are in first; then those that are in none."""
    try:
        events = read([*dumps.values()]).events
    except KitError:  # not one of them can be read
        events = ()
    whole = {event.fact.rank for event in events if isinstance(event.fact, Dumped) and not event.fact.is_cut}
    last = {rank: BEFORE if rank in whole else UNREADABLE for rank in dumps}
    for event in sorted(events, key=lambda event: event.time or 0.0):
        fact = event.fact
        if isinstance(fact, Traced) and fact.rank in whole and not last[fact.rank].startswith("in "):
            last[fact.rank] = _place(fact)
    places = grouped((place, rank) for rank, place in sorted(last.items()))
    for place, ranks in sorted(places.items(), key=lambda item: (not item[0].startswith("in "), -len(item[1]))):
        named = ranks_in_words(ranks, MAX_NAMED)
        yield Message("watch.dump", "dump: {ranks} {place}", ranks=named, place=place)


def _place(traced: Traced) -> Message:
    operator, group, number = printable(traced.operator), printable(traced.group), traced.sequence
    if traced.left:
        return Message(
            "watch.dump-after", "after {operator} {number} of {group}", operator=operator, number=number, group=group
        )
    return Message("watch.dump-in", "in {operator} {number} of {group}", operator=operator, number=number, group=group)
