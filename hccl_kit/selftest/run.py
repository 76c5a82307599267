"""The steps of a selftest: arithmetic of each rank, rounds of pairs, collectives; what looks slow is measured again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from hccl_kit.selftest.bandwidth import OPERATORS, Operator, bus_bandwidth
from hccl_kit.selftest.faults import Fault
from hccl_kit.selftest.measured import Collective, Compute, Link, Measured
from hccl_kit.selftest.protocol import Result, Timing
from hccl_kit.selftest.rounds import Card, Pair, pair_rounds
from hccl_kit.selftest.session import Session

KIB, MIB = 1 << 10, 1 << 20


class Effort(NamedTuple):
    """How thoroughly: seconds of calls for each measurement, sizes in bytes, operators, rounds of pairs of a kind."""

    seconds: float
    pair_sizes: tuple[int, ...]
    sizes: tuple[int, ...]
    operators: tuple[Operator, ...]
    rounds: int | None
    timeout: float
    start: float


QUICK = Effort(0.25, (64 * KIB, MIB), (MIB,), ("all_reduce",), 7, 10.0, 120.0)
FULL = Effort(0.5, (64 * KIB, 4 * MIB), (KIB, 64 * KIB, MIB, 16 * MIB), OPERATORS, None, 30.0, 180.0)
AGAIN = 2
"""How often what looks slow is measured again: load by other programs passes, a fault stays."""


class Judge(NamedTuple):
    """How results are judged while more can be measured, and who is told what is done next."""

    faults: Callable[[Measured], Sequence[Fault]]
    note: Callable[[str], None]


async def measure(session: Session, cards: Sequence[Card], backend: str, effort: Effort, judge: Judge) -> Measured:
    """Measure everything; what looks slow, again."""
    judge.note("starting the ranks")
    await session.ready(effort.start)
    measured = Measured(backend, tuple(cards))
    rounds = bounded(pair_rounds(cards), {card.rank: card.server for card in cards}, effort.rounds)
    measured = await _pairs(session, measured, rounds, effort, judge.note)
    for number in range(AGAIN):
        blamed = {rank for fault in judge.faults(measured) if fault.kind.startswith("slow") for rank in fault.ranks}
        if not blamed:
            break
        judge.note(f"measuring again what looks slow ({number + 1} of {AGAIN})")
        again = [pairs for pairs in rounds if any(blamed.intersection(pair) for pair in pairs)]  # with the same load
        measured = await _pairs(session, measured, again, effort, lambda _: None)
    judge.note("collectives over all ranks")
    for _ in range(1 + AGAIN):
        measured = await _collectives(session, measured, effort)
        has_problem = any(one.problem for one in measured.collectives)
        if has_problem or not any(fault.kind == "collective" for fault in judge.faults(measured)):
            break
    return measured


def bounded(rounds: Iterable[tuple[Pair, ...]], home: Mapping[int, str], most: int | None) -> list[tuple[Pair, ...]]:
    """At most `most` rounds inside servers, and as many between them."""
    kept: list[tuple[Pair, ...]] = []
    numbers = {True: 0, False: 0}
    for pairs in rounds:
        is_inside = home[pairs[0][0]] == home[pairs[0][1]]
        numbers[is_inside] += 1
        if most is None or numbers[is_inside] <= most:
            kept.append(pairs)
    return kept


async def _pairs(
    session: Session,
    measured: Measured,
    rounds: Sequence[tuple[Pair, ...]],
    effort: Effort,
    note: Callable[[str], None],
) -> Measured:
    """Arithmetic and rounds of pairs, joined with what is there: the better one counts."""
    compute = {one.rank: one for one in measured.compute}
    links = {one.pair: one for one in measured.links}
    if not session.is_over:
        note("arithmetic of each rank")
        ranks = session.available()
        results = await session.step({"do": "compute", "seconds": effort.seconds}, ranks, effort.timeout)
        for rank, result in results.items():
            if len(result.values) == 2:
                one = Compute(rank, result.values[0], result.values[1])
                compute[rank] = _better_compute(one, compute.get(rank))
    for number, pairs in enumerate(rounds, 1):
        if session.is_over:
            break
        note(f"round {number} of {len(rounds)}: {len(pairs)} pairs")
        for link in await _round(session, pairs, effort):
            links[link.pair] = _better(link, links.get(link.pair))
    return replace(
        measured,
        compute=tuple(replace(compute[rank], stalled=session.stalled(rank)) for rank in sorted(compute)),
        links=tuple(links[pair] for pair in sorted(links)),
        lost=session.losses(),
        skipped=session.skipped,
    )


async def _round(session: Session, pairs: Sequence[Pair], effort: Effort) -> list[Link]:
    """The pairs that can be measured, all at once."""
    available = set(session.available())
    groups = [pair for pair in pairs if available.issuperset(pair)]
    if not groups:
        return []
    command = _command("all_reduce", effort.pair_sizes, groups, effort)
    ranks = sorted(rank for pair in groups for rank in pair)
    results = await session.step(command, ranks, effort.timeout)
    return [link_of(pair, [results[rank] for rank in pair]) for pair in groups if results.keys() >= set(pair)]


async def _collectives(session: Session, measured: Measured, effort: Effort) -> Measured:
    """The operators over all ranks that are left, joined with what is there: the faster one counts."""
    found = {(one.operator, one.size, one.ranks): one for one in measured.collectives}
    for operator in effort.operators:
        ranks = session.available()
        if session.is_over or len(ranks) < 2 or operator in session.skipped:
            continue
        command = _command(operator, effort.sizes, [ranks], effort)
        results = await session.step(command, ranks, effort.timeout)
        for one in collectives_of(operator, effort.sizes, results):
            key = (one.operator, one.size, one.ranks)
            found[key] = _faster(one, found.get(key))
    compute = tuple(replace(one, stalled=session.stalled(one.rank)) for one in measured.compute)
    lost, skipped = session.losses(), session.skipped
    return replace(measured, collectives=tuple(found.values()), compute=compute, lost=lost, skipped=skipped)


def _command(
    operator: Operator, sizes: Sequence[int], groups: Sequence[Sequence[int]], effort: Effort
) -> dict[str, Any]:
    return {
        "do": "collective",
        "operator": operator,
        "sizes": sizes,
        "groups": groups,
        "seconds": effort.seconds,
        "limit": effort.timeout / 8,
    }


def link_of(pair: Pair, results: Sequence[Result]) -> Link:
    """The link between two ranks by what both measured: the bandwidth of the largest size that both have."""
    problem = next((one.problem for one in results if one.problem), "")
    is_wrong = any(timing.is_wrong for one in results for timing in one.timings)
    common = list(zip(*(one.timings for one in results), strict=False))
    if is_wrong:
        return Link(pair, _bandwidth(common[-1]) if common else None, is_wrong=True)
    if problem or not common:
        return Link(pair, None, problem=problem or "no result")
    return Link(pair, _bandwidth(common[-1]))


def _bandwidth(timings: Sequence[Timing]) -> float:
    return bus_bandwidth("all_reduce", 2, timings[0].size, max(one.fast for one in timings))


def collectives_of(operator: Operator, sizes: Sequence[int], results: Mapping[int, Result]) -> Iterator[Collective]:
    """The collectives by what all ranks measured; the slowest rank counts."""
    problem = next((f"rank {rank}: {one.problem}" for rank, one in sorted(results.items()) if one.problem), "")
    common = list(zip(*(results[rank].timings for rank in sorted(results)), strict=False))
    for timings in common:
        wrong = [rank for rank, timing in zip(sorted(results), timings, strict=True) if timing.is_wrong]
        trouble = f"wrong result on rank {wrong[0]}" if wrong else ""
        yield Collective(operator, timings[0].size, len(results), max(one.seconds for one in timings), trouble)
    if problem and len(common) < len(sizes):
        yield Collective(operator, sizes[len(common)], len(results), None, problem)


def _better(link: Link, before: Link | None) -> Link:
    """What was measured now or before; a wrong result stays wrong."""
    if before is None:
        return link
    if link.is_wrong or before.is_wrong:
        return link if link.is_wrong else before
    return max(link, before, key=lambda one: one.bandwidth or 0.0)


def _faster(one: Collective, before: Collective | None) -> Collective:
    """What was measured now or before; a problem stays one."""
    if before is None or one.problem or before.problem:
        return before if before and before.problem else one
    return min(one, before, key=lambda each: each.seconds or math.inf)


def _better_compute(one: Compute, before: Compute | None) -> Compute:
    if before is None:
        return one
    return Compute(one.rank, max(one.gflops, before.gflops), max(one.memory, before.memory))
