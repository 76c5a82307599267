"""What is known about a job at one time: its ranks, the slowest one, and the state of the job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from time import localtime, strftime
from typing import Literal, NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.wording import clauses, counted, listed, plural
from hccl_kit.runtime.pulse import SECONDS, STEPS, Point, Span, total
from hccl_kit.runtime.straggler import PARTS, SLOWER, WINDOWS, Lag, slowest, straggler

SILENT = 10.0
"""Seconds without a sign of life, of which there is one a second, after which a rank counts as silent."""
GONE = 60.0
"""Seconds without a sign of life after which a job counts as over. The longest pause of a restart is 30 s."""
SHOWN = 16
"""Ranks that are shown one by one, and whose curve and log are read."""

_SEE_LOG = Message("watch.see-log", "see its log")

State = Literal["failed", "silent", "ended", "running", "starting", "done", "unknown"]
"""The state of a rank or a job. `ended`: by the launch script, before it was done; `unknown`: it reports no steps."""


class WatchedRank(NamedTuple):
    """A rank. `idle_s` is since its last step, `silent_s` since its last sign of life; None is unknown."""

    rank: int
    state: State
    host: str = ""
    device: int | None = None
    step: int | None = None
    idle_s: float | None = None
    silent_s: float | None = None
    doing: str = ""
    loss: float | None = None
    memory: int | None = None
    windows: tuple[Span, ...] = ()
    why: str = ""
    last_line: str = ""
    curve: tuple[Point, ...] = ()

    @property
    def recent(self) -> Span | None:
        """The last windows together; None if no step was timed."""
        recent = total(self.windows)
        return recent if recent.steps else None

    @property
    def own_s(self) -> float:
        """Seconds of a step for data and computing; 0 if no step was timed."""
        return self.recent.own if self.recent else 0.0

    @property
    def name(self) -> Message:
        """The rank with its host and card, as far as they are known."""
        where = [self.host] if self.host else []
        if self.device is not None:
            where.append(Message("watch.card", "card {card}", card=self.device))
        if not where:
            return Message("watch.rank", "rank {rank}", rank=self.rank)
        return Message("watch.rank-at", "rank {rank} ({where})", rank=self.rank, where=clauses(where))


class Straggler(NamedTuple):
    """A rank that slows down the others, since when (None: not known), and how many others lag as well."""

    lag: Lag
    since_step: int | None
    since: float | None
    others: int


class WatchedJob(NamedTuple):
    """A job: `size` ranks of which `ranks` are known, in their order."""

    run: str
    time: float
    state: State
    size: int
    restarts: int
    ranks: tuple[WatchedRank, ...]
    slowest: Lag | None = None
    straggler: Straggler | None = None
    notes: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    """Servers that were asked and did not answer, each with the reason."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be expected."""
        if self.state == "done":
            return True
        signs = [rank.silent_s for rank in self.ranks]
        return bool(signs) and all(sign is not None and sign > GONE for sign in signs)

    @property
    def is_well(self) -> bool:
        """Whether no rank has failed or is silent, none slows down the others, and all servers answered."""
        return self.state not in ("failed", "silent", "ended") and self.straggler is None and not self.lost

    @property
    def speed(self) -> float | None:
        """Steps per second: the median of the ranks, since all ranks take a step together."""
        speeds = sorted(recent.steps / recent.seconds for rank in self.ranks if (recent := rank.recent))
        return speeds[len(speeds) // 2] if speeds else None

    def rank(self, number: int) -> WatchedRank | None:
        """The rank of that number."""
        return next((rank for rank in self.ranks if rank.rank == number), None)


def job(
    run: str, time: float, ranks: Sequence[WatchedRank], *, size: int = 0, restarts: int = 0, notes: Sequence[str] = ()
) -> WatchedJob:
    """The job of these ranks, with its state and its straggler. `size` is the expected number of ranks."""
    ordered = tuple(sorted(ranks, key=lambda rank: rank.rank))
    size = max([size, *(rank.rank + 1 for rank in ordered)], default=0)
    return WatchedJob(
        run,
        time,
        _state(ordered, size),
        size,
        restarts,
        ordered,
        slowest({rank.rank: recent for rank in ordered if (recent := rank.recent)}),
        _straggler({rank.rank: rank for rank in ordered}),
        tuple(notes),
    )


def unseen(seen: WatchedJob, seconds: float, why: str) -> WatchedJob:
    """A job that was seen so many seconds ago and cannot be seen now: its ranks are silent since then."""
    ranks = []
    for rank in seen.ranks:
        silent_s = (rank.silent_s or 0.0) + seconds
        runs = rank.state in ("running", "starting", "unknown")
        ranks.append(rank._replace(silent_s=silent_s, state="silent" if runs and silent_s > SILENT else rank.state))
    clock = strftime("%T", localtime(seen.time))
    note = Message("watch.not-seen", "not seen since {clock}: {reason}", clock=clock, reason=why)
    return job(seen.run, seen.time + seconds, ranks, size=seen.size, restarts=seen.restarts, notes=[note])


def chosen(ranks: Sequence[WatchedRank], limit: int = SHOWN) -> list[WatchedRank]:
    """The ranks that matter most, in the order of their numbers: failed and silent ones, the slowest, rank 0."""

    def key(rank: WatchedRank) -> tuple[bool, bool, bool, float, int]:
        return (rank.rank != 0, rank.state != "failed", rank.state != "silent", -rank.own_s, rank.rank)

    return sorted(sorted(ranks, key=key)[:limit], key=lambda rank: rank.rank)


def problems(job: WatchedJob) -> list[Message]:
    """What is wrong, a sentence each."""
    failed = [rank for rank in job.ranks if rank.state == "failed"][:3]
    sentences = [
        Message("watch.failed", "{rank} failed: {why}", rank=rank.name, why=rank.why or _SEE_LOG) for rank in failed
    ]
    silent = [rank for rank in job.ranks if rank.state == "silent"]
    if silent:
        sentences.append(
            Message(
                "watch.silent",
                "no sign of life from {ranks} for {time}",
                ranks=ranks_in_words([rank.rank for rank in silent], 6),
                time=duration(max(rank.silent_s or 0.0 for rank in silent)),
            )
        )
    sentences += [Message("watch.lost-server", "no answer from server {server}", server=lost) for lost in job.lost[:3]]
    if job.straggler:
        sentences.append(_holds_up(job, job.straggler))
    return sentences


def ranks_in_words(ranks: Sequence[int], limit: int) -> Message:
    """The first `limit` of some ranks and the number of the others: "ranks 1, 2 and 3 more"."""
    return Message("watch.ranks", "{noun} {ranks}", noun=plural("rank", len(ranks)), ranks=listed(ranks, limit))


def duration(value: float | None) -> str:
    """Seconds in words, short: "0.3 s", "12 s", "3 min", "2.5 h"."""
    if value is None:
        return "-"
    if value >= 5400:
        return f"{value / 3600:.1f} h"
    return f"{value / 60:.0f} min" if value >= 90 else f"{value:.0f} s" if value >= 10 else f"{value:.1f} s"


def _holds_up(job: WatchedJob, straggler: Straggler) -> Message:
    lag, step, others = straggler.lag, straggler.since_step, straggler.others
    rank = job.rank(lag.rank)
    since: Message | str = "" if step is None else Message("watch.since", " since step {step}", step=step)
    more: Message | str = ""
    if others:
        more = Message("watch.others-slow", "; {others} are slow too", others=counted(others, "other rank"))
    if others == 1:
        more = Message("watch.other-slow", "; 1 other rank is slow too")
    return Message(
        "watch.straggler",
        "{rank} slows down the others{since}, by its {part}: {lag}{more}",
        rank=(rank or WatchedRank(lag.rank, "unknown")).name,
        since=since,
        part=PARTS[lag.part],
        lag=lag.figures,
        more=more,
    )


def _state(ranks: Sequence[WatchedRank], size: int) -> State:
    states = [rank.state for rank in ranks]
    if "failed" in states:
        return "failed"
    if states and all(state == "done" for state in states) and len(states) == size:
        return "done"
    # A rank that waits for a dead one lives on, and ranks that are done wait for no other.
    order: tuple[State, ...] = ("silent", "ended", "running", "starting")
    return next((state for state in order if state in states), "running" if "done" in states else "unknown")


def _straggler(ranks: Mapping[int, WatchedRank]) -> Straggler | None:
    """By the rule of `runtime.straggler`, over the last full windows of the ranks."""
    full = {number: _full(rank.windows) for number, rank in ranks.items()}
    enough = {number: windows[-WINDOWS:] for number, windows in full.items() if len(windows) >= WINDOWS}
    rounds = [{number: windows[place] for number, windows in enough.items()} for place in range(WINDOWS)]
    lag = straggler(rounds)
    if lag is None:
        return None
    others = sum(total(enough[number]).own > SLOWER * lag.others_s for number in enough) - 1
    first = enough[lag.rank][0]
    since, at = _since(ranks, lag) or (first.step - first.steps + 1, None)
    return Straggler(lag, since, at, others)


def _full(windows: Sequence[Span]) -> list[Span]:
    return [window for window in windows if window.steps >= STEPS and window.seconds >= SECONDS]


def _since(ranks: Mapping[int, WatchedRank], lag: Lag) -> tuple[int, float | None] | None:
    """Since which step and time, by the curves of the rank and of the one in the middle; None if there are none."""
    curve = ranks[lag.rank].curve
    drawn = sorted(
        (rank for rank in ranks.values() if rank.curve and rank.rank != lag.rank), key=lambda rank: rank.own_s
    )
    if not curve or not drawn:
        return None
    other = drawn[len(drawn) // 2].curve

    def lags(point: Point) -> bool:
        meanwhile = next((later.span for later in other if later.span.step >= point.span.step), other[-1].span)
        return point.span.steps > 0 < meanwhile.steps and point.span.own > SLOWER * meanwhile.own

    chain = list(takewhile(lags, reversed(curve)))
    if not chain:
        return None
    first = chain[-1].span
    return first.step - first.steps + 1, chain[-1].time - first.seconds
