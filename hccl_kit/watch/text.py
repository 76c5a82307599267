"""A job as text: a table of its ranks for any terminal, and single lines for a log."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hccl_kit.base.message import Message
from hccl_kit.base.terminal import in_columns
from hccl_kit.base.wording import counted
from hccl_kit.runtime.straggler import seconds
from hccl_kit.watch.torch_status import ENABLE
from hccl_kit.watch.view import WatchedJob, WatchedRank, chosen, duration, problems

HEADINGS = (
    "rank",
    "host",
    "card",
    "state",
    "step",
    "last step",
    "steps/s",
    "own",
    "data",
    "comp",
    "comm",
    "loss",
    "memory",
)
LEFT = ("host", "state")
_WORDS = {"unknown": "no steps"}
MAX_HOST = 16
MAX_STATE = 32
MAX_SAID = 100
"""Characters of a log line."""


def as_text(job: WatchedJob) -> str:
    """The job in some lines: its state, what is wrong, a row for each rank that is shown, logs and notes."""
    shown = chosen(job.ranks)
    table = in_columns([HEADINGS, *(cells(rank) for rank in shown)], left=[HEADINGS.index(name) for name in LEFT])
    lines = [headline(job), *(f"problem: {problem}" for problem in problems(job)), "", *table, *rest(job, shown), ""]
    lines += [*slowest(job), *said(shown, job), *(f"note: {note}" for note in notes(job))]
    text = [line for n, line in enumerate(lines) if line or (n and lines[n - 1])]
    return "\n".join(text).rstrip()


def headline(job: WatchedJob) -> str:
    """The state of the whole job on one line."""
    steps = [rank.step for rank in job.ranks if rank.step is not None]
    state = _WORDS.get(job.state, job.state) if job.ranks else job.state
    parts: list[str] = [state, counted(job.size, "rank")]
    if any(steps):
        parts.append(f"step {max(steps)}" if min(steps) == max(steps) else f"steps {min(steps)} to {max(steps)}")
    if job.speed is not None:
        parts.append(f"{_figure(job.speed)} steps/s")
    losses = [rank.loss for rank in job.ranks if rank.loss is not None]
    if losses:
        parts.append(f"loss {_figure(losses[0])}")
    if job.restarts:
        parts.append(counted(job.restarts, "restart"))
    return f"{job.run}: {', '.join(parts)}"


def cells(rank: WatchedRank) -> tuple[str, ...]:
    """The row of a rank, a cell for each of HEADINGS."""
    recent = rank.recent
    whole = (recent.data_s + recent.compute_s + recent.communication_s) or 1.0 if recent else 1.0
    shares = [recent.data_s, recent.compute_s, recent.communication_s] if recent else []
    is_waiting = rank.doing and rank.state == "running" and (rank.idle_s is None or rank.idle_s > 5)
    state = f"in {rank.doing}" if is_waiting else _WORDS.get(rank.state, rank.state)
    return (
        str(rank.rank),
        rank.host if len(rank.host) <= MAX_HOST else f"{rank.host[: MAX_HOST - 3]}...",
        "-" if rank.device is None else str(rank.device),
        state[:MAX_STATE],
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
    parts = [f"{counted(len(others), 'more rank')}"]
    if times:
        parts.append(f"{seconds(min(times))} to {seconds(max(times))} a step of their own")
    if steps:
        parts.append(f"at steps {min(steps)} to {max(steps)}")
    return [", ".join(parts)]


def slowest(job: WatchedJob) -> list[str]:
    """The slowest rank, and by how much it is slower; nothing if `problems` names a straggler."""
    lag = job.slowest
    if lag is None or job.straggler is not None:
        return []
    rank = job.rank(lag.rank)
    return [f"slowest: {rank.name if rank else lag.rank}, in {lag.part}: {lag}"]


def said(shown: Sequence[WatchedRank], job: WatchedJob) -> list[str]:
    """The last lines of the logs that matter: of failed and silent ranks, of the slowest one, of rank 0."""
    slow = job.straggler.lag.rank if job.straggler else job.slowest.rank if job.slowest else -1
    telling = [rank for rank in shown if rank.state in ("failed", "silent")][:3]
    telling += [rank for rank in shown if rank.rank in (0, slow) and rank not in telling]
    return [f"rank {rank.rank}, last log line: {rank.last_line[:MAX_SAID]}" for rank in telling if rank.last_line]


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


def as_line(job: WatchedJob) -> str:
    """A refresh on one line, for logs and pipes."""
    lag = job.slowest
    slow = (
        f", slowest rank {lag.rank} in {lag.part}: {seconds(lag.own_s)}, others {seconds(lag.others_s)}" if lag else ""
    )
    return headline(job) + slow


def _figure(value: float) -> str:
    """Three digits of a number."""
    if not math.isfinite(value) or not 1000 <= abs(value) < 1e9:  # a loss that diverges has hundreds of digits
        return f"{value:.3g}"
    return f"{value:.0f}"
