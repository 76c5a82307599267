"""A job as text: a table of its ranks for any terminal, and single lines for a log."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hccl_kit.base.message import Message
from hccl_kit.base.terminal import in_columns
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import as_note, clauses, counted
from hccl_kit.runtime.straggler import PARTS, seconds
from hccl_kit.watch.torch_status import ENABLE
from hccl_kit.watch.view import WatchedJob, WatchedRank, chosen, duration, problems

HEADINGS = (
    Message("watch.head-rank", "rank"),
    Message("watch.head-host", "host"),
    Message("watch.head-card", "card"),
    Message("watch.head-state", "state"),
    Message("watch.head-step", "step"),
    Message("watch.head-last-step", "last step"),
    Message("watch.head-steps-per-s", "steps/s"),
    Message("watch.head-own", "own"),
    Message("watch.head-data", "data"),
    Message("watch.head-comp", "comp"),
    Message("watch.head-comm", "comm"),
    Message("watch.head-loss", "loss"),
    Message("watch.head-memory", "memory"),
)
LEFT = ("host", "state")
STATES = {
    "failed": Message("watch.state-failed", "failed"),
    "silent": Message("watch.state-silent", "silent"),
    "ended": Message("watch.state-ended", "ended"),
    "running": Message("watch.state-running", "running"),
    "starting": Message("watch.state-starting", "starting"),
    "done": Message("watch.state-done", "done"),
    "unknown": Message("watch.state-unknown", "no steps"),
}
UNSEEN = Message("watch.state-unseen", "unknown")
MAX_HOST = 16
MAX_STATE = 32
MAX_SAID = 100
"""Characters of a log line."""


def as_text(job: WatchedJob) -> str:
    """The job in some lines: its state, what is wrong, a row for each rank that is shown, logs and notes."""
    shown = chosen(job.ranks)
    rows = [[*map(translated, row)] for row in (HEADINGS, *map(cells, shown))]
    table = in_columns(rows, left=[place for place, heading in enumerate(HEADINGS) if heading in LEFT])
    lines = [headline(job), *map(as_problem, problems(job)), "", *table, *rest(job, shown), ""]
    lines += [*slowest(job), *said(shown, job), *map(as_note, notes(job))]
    text = [translated(line) for n, line in enumerate(lines) if line or (n and lines[n - 1])]
    return "\n".join(text).rstrip()


def as_problem(problem: str) -> Message:
    """The line for one of `problems`."""
    return Message("watch.problem", "problem: {problem}", problem=problem)


def headline(job: WatchedJob) -> Message:
    """The state of the whole job on one line."""
    steps = [rank.step for rank in job.ranks if rank.step is not None]
    state = UNSEEN if job.state == "unknown" and not job.ranks else STATES[job.state]
    parts = [state, counted(job.size, "rank")]
    if any(steps):
        first, last = min(steps), max(steps)
        span = Message("watch.steps", "steps {first} to {last}", first=first, last=last)
        parts.append(Message("watch.step", "step {step}", step=last) if first == last else span)
    if job.speed is not None:
        parts.append(Message("watch.speed", "{speed} steps/s", speed=_figure(job.speed)))
    losses = [rank.loss for rank in job.ranks if rank.loss is not None]
    if losses:
        parts.append(Message("watch.loss", "loss {loss}", loss=_figure(losses[0])))
    if job.restarts:
        parts.append(counted(job.restarts, "restart"))
    return Message("watch.headline", "{run}: {parts}", run=job.run, parts=clauses(parts))


def cells(rank: WatchedRank) -> tuple[str, ...]:
    """The row of a rank, a cell for each of HEADINGS."""
    recent = rank.recent
    whole = (recent.data_s + recent.compute_s + recent.communication_s) or 1.0 if recent else 1.0
    shares = [recent.data_s, recent.compute_s, recent.communication_s] if recent else []
    is_waiting = rank.doing and rank.state == "running" and (rank.idle_s is None or rank.idle_s > 5)
    waits = Message("watch.in", "in {collective}", collective=rank.doing[: MAX_STATE - len("in ")])
    return (
        str(rank.rank),
        rank.host if len(rank.host) <= MAX_HOST else f"{rank.host[: MAX_HOST - 3]}...",
        "-" if rank.device is None else str(rank.device),
        waits if is_waiting else STATES[rank.state],
        "-" if rank.step is None else str(rank.step),
        duration(rank.idle_s),
        _figure(recent.steps / recent.seconds) if recent and recent.seconds else "-",
        seconds(rank.own_s) if recent else "-",
        *([f"{share / whole:.0%}" for share in shares] or ["-"] * 3),
        "-" if rank.loss is None else _figure(rank.loss),
        "-" if rank.memory is None else f"{rank.memory / (1 << 20):.0f} MiB",
    )


def rest(job: WatchedJob, shown: Sequence[WatchedRank]) -> list[str]:
    """A line about the ranks that have no row, if there are any."""
    numbers = {rank.rank for rank in shown}
    others = [rank for rank in job.ranks if rank.rank not in numbers]
    if not others:
        return []
    times = [rank.own_s for rank in others if rank.recent]
    steps = [rank.step for rank in others if rank.step is not None]
    parts = [counted(len(others), "more rank")]
    if times:
        least, most = seconds(min(times)), seconds(max(times))
        parts.append(Message("watch.rest-times", "{least} to {most} a step of their own", least=least, most=most))
    if steps:
        parts.append(Message("watch.rest-steps", "at steps {first} to {last}", first=min(steps), last=max(steps)))
    return [clauses(parts)]


def slowest(job: WatchedJob) -> list[str]:
    """The slowest rank, and by how much it is slower; nothing if `problems` names a straggler."""
    lag = job.slowest
    if lag is None or job.straggler is not None:
        return []
    rank = job.rank(lag.rank)
    name = rank.name if rank else str(lag.rank)
    part, figures = PARTS[lag.part], lag.figures
    return [Message("watch.slowest", "slowest: {rank}, in {part}: {figures}", rank=name, part=part, figures=figures)]


def said(shown: Sequence[WatchedRank], job: WatchedJob) -> list[str]:
    """The last lines of the logs that matter: of failed and silent ranks, of the slowest one, of rank 0."""
    slow = job.straggler.lag.rank if job.straggler else job.slowest.rank if job.slowest else -1
    telling = [rank for rank in shown if rank.state in ("failed", "silent")][:3]
    telling += [rank for rank in shown if rank.rank in (0, slow) and rank not in telling]
    return [
        Message("watch.last-line", "rank {rank}, last log line: {line}", rank=rank.rank, line=rank.last_line[:MAX_SAID])
        for rank in telling
        if rank.last_line
    ]


def notes(job: WatchedJob) -> list[str]:
    """The notes on the job, with one on a missing heartbeat or on missing ranks."""
    lines = list(job.notes)
    if any(rank.state == "unknown" for rank in job.ranks):
        lines.append(
            Message(
                "watch.no-heartbeat",
                "the program reports no steps: hccl_kit.Heartbeat in it counts them; without a change in it, {enable}=1"
                " in its environment shows the collectives of torch_npu",
                enable=ENABLE,
            )
        )
    missing = job.size - len(job.ranks)
    if missing > 0 and not lines and not job.lost:
        lines.append(
            Message(
                "watch.missing-ranks",
                "{missing} of {size} ranks have no files here; TABLE --ssh shows those of all servers",
                missing=missing,
                size=job.size,
            )
        )
    return lines


def as_line(job: WatchedJob) -> Message:
    """A refresh on one line, for logs and pipes."""
    lag = job.slowest
    if lag is None:
        return headline(job)
    return Message(
        "watch.line",
        "{job}, slowest rank {rank} in {part}: {own}, others {others}",
        job=headline(job),
        rank=lag.rank,
        part=PARTS[lag.part],
        own=seconds(lag.own_s),
        others=seconds(lag.others_s),
    )


def _figure(value: float) -> str:
    """Three digits of a number."""
    if not math.isfinite(value) or not 1000 <= abs(value) < 1e9:  # a loss that diverges has hundreds of digits
        return f"{value:.3g}"
    return f"{value:.0f}"
