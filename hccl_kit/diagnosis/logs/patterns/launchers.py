"""Lines of launchers about ranks that ended: our scripts, srun, the scheduler of msrun."""

from __future__ import annotations

import re
from collections.abc import Iterator
from signal import SIGTERM

from hccl_kit.base.wording import killed_by
from hccl_kit.diagnosis.facts import Exited, Fact, Fault
from hccl_kit.diagnosis.logs.patterns.row import MAX_WORD, Found, Row, rank

MAX_NODES = 4096
_SIGNALS = {"Killed": 9, "Terminated": 15, "Segmentation fault": 11, "Aborted": 6, "Bus error": 7, "Hangup": 1}


def _ours(found: Found) -> Iterator[Fact]:
    own, code = rank(found.match["rank"]), int(found.match["code"])
    if own is not None and code < 256:
        yield Exited(own, None, code - 128) if 128 < code < 193 else Exited(own, code, None)


def _hang(found: Found) -> Iterator[Fact]:
    yield Fault(None, "LAUNCHER", "a rank took no step for too long", found.record.text[:MAX_WORD])


def _slurm(found: Found) -> Iterator[Fact]:
    """`srun: error: n1: task 3: Killed`; a list of several tasks is what the end of the job did to them."""
    own, code, signal = rank(found.match["task"]), found.match["code"], found.match["signal"]
    if own is not None:
        yield Exited(own, int(code), None) if code else Exited(own, None, _SIGNALS[signal])


def _out_of_memory(found: Found) -> Iterator[Fact]:
    yield Fault(None, "LAUNCHER", "out of host memory", found.record.text[:MAX_WORD])


def _timed_out(found: Found) -> Iterator[Fact]:
    own = rank(found.match["node"])
    if own is not None:
        yield Exited(own, None, None)


def _timed_out_nodes(found: Found) -> Iterator[Fact]:
    """The list of msrun, at its end: nodes whose heartbeats the scheduler no longer received."""
    for digits in re.findall(r"[0-9]{1,8}", found.match["nodes"])[:MAX_NODES]:
        if (own := rank(digits)) is not None:
            yield Exited(own, None, None)


def _elastic(found: Found) -> Iterator[Fact]:
    """A line of torchrun about a process that it started; what it did to the others is SIGTERM."""
    code, local = -int(found.match["code"]), found.match["local"]
    if code > 0 and code != SIGTERM:
        kind = f"local rank {local} was {killed_by(code)}"
        yield Fault(None, "LAUNCHER", kind, found.record.text[:MAX_WORD].strip())


ROWS = (
    Row(
        "error: rank ",
        r"error: rank (?P<rank>[0-9]{1,8}) on device [0-9]{1,6} of [\w.:-]{1,255} failed with exit code"
        r" (?P<code>[0-9]{1,3})(?: \(SIG[\w+-]{1,12}\))?$",
        _ours,
        whole=True,
    ),
    Row(
        "error: rank ",
        r"error: rank [0-9]{1,8} on device [0-9]{1,6} of [\w.:-]{1,255} took no step for",
        _hang,
        before=True,
    ),
    Row("error: ranks ", r"error: ranks [0-9, ]{4,99} of [\w.:-]{1,255} took no step for", _hang, before=True),
    Row(
        "srun: error:",
        r"srun: error: [\w.-]{1,255}: task (?P<task>[0-9]{1,8}): "
        rf"(?:Exited with exit code (?P<code>[0-9]{{1,3}})|(?P<signal>{'|'.join(_SIGNALS)}))\b",
        _slurm,
        whole=True,
    ),
    *(
        Row(key, r"oom[-_]kill event|oom-kill:|Out of memory: Killed process", _out_of_memory, before=True, whole=True)
        for key in ("oom-kill", "oom_kill", "Out of memory: Killed")
    ),
    Row(
        "Time out nodes are",
        r"Time out nodes are \[(?P<nodes>(?:'[0-9]{1,8}'(?:, )?){1,4096})\]",
        _timed_out_nodes,
    ),
    Row(
        "of binary:",
        r"failed \(exitcode: (?P<code>-?[0-9]{1,3})\) local_rank: (?P<local>[0-9]{1,6}) \(pid: [0-9]{1,10}\)"
        r" of binary:",
        _elastic,
        before=True,
    ),
    Row("is timed out. It may exit", r"node: (?P<node>[0-9]{1,8}) is timed out", _timed_out, before=True),
)
