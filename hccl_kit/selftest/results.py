"""Links, halves and collectives from the results of ranks, and how passes are joined: the best one counts.

Other programs only ever make a measurement slower, so the best of several tells most about the hardware.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from hccl_kit.base.message import Message
from hccl_kit.selftest.evidence import compute_ratios, link_ratios
from hccl_kit.selftest.measured import Collective, Compute, Link, Measured, Operator, bus_bandwidth
from hccl_kit.selftest.protocol import Result, Timing
from hccl_kit.selftest.rounds import Pair


def link_of(pair: Pair, results: Sequence[Result]) -> Link:
    """The link between two ranks by what both measured: the bandwidth of the largest size that both have."""
    problem = next((result.problem for result in results if result.problem), "")
    is_wrong = any(timing.is_wrong for result in results for timing in result.timings)
    common = list(zip(*(result.timings for result in results), strict=False))
    if is_wrong:
        return Link(pair, _bandwidth(common[-1]) if common else None, is_wrong=True)
    if problem or not common:
        return Link(pair, None, problem=problem or Message("selftest.no-result", "no result"))
    return Link(pair, _bandwidth(common[-1]))


def half_of(results: Sequence[Result]) -> float:
    """The bus bandwidth of an all-reduce in a half of the servers; 0 if it failed."""
    common = list(zip(*(result.timings for result in results), strict=False))
    if not common or any(result.problem for result in results) or any(timing.is_wrong for timing in chain(*common)):
        return 0.0
    return _bandwidth(common[-1])


def _bandwidth(timings: Sequence[Timing]) -> float:
    return bus_bandwidth("all_reduce", len(timings), timings[0].size, max(timing.fast for timing in timings))


def collectives_of(operator: Operator, sizes: Sequence[int], results: Mapping[int, Result]) -> Iterator[Collective]:
    """The collectives by what all ranks measured; the slowest rank counts."""
    problem = next((_problem(rank, result) for rank, result in sorted(results.items()) if result.problem), "")
    common = list(zip(*(results[rank].timings for rank in sorted(results)), strict=False))
    for timings in common:
        wrong = [rank for rank, timing in zip(sorted(results), timings, strict=True) if timing.is_wrong]
        trouble = Message("selftest.wrong-result", "wrong result on rank {rank}", rank=wrong[0]) if wrong else ""
        yield Collective(operator, timings[0].size, len(results), max(timing.seconds for timing in timings), trouble)
    if problem and len(common) < len(sizes):
        yield Collective(operator, sizes[len(common)], len(results), None, problem)


def _problem(rank: int, result: Result) -> Message:
    return Message("selftest.problem-of-rank", "rank {rank}: {problem}", rank=rank, problem=result.problem)


def with_links(measured: Measured, now: Sequence[Link], baseline: Measured | None) -> Measured:
    """The links of a pass, joined with those of earlier ones.

    A link that is alone in a pass, since the other ranks are late or lost, is compared with nothing.
    """
    links = {link.pair: link for link in measured.links}
    ratios = link_ratios(now, measured.cards, baseline)
    is_alone = len(now) == 1 and len(links) > 1 and not baseline
    for link in now:
        before = links.get(link.pair)
        earlier = before.ratios if before else ()
        if not (earlier and is_alone and link.bandwidth and not link.is_wrong):
            earlier = (*earlier, ratios[link.pair])
        links[link.pair] = replace(_better(link, before), ratios=earlier)
    return replace(measured, links=tuple(links[pair] for pair in sorted(links)))


def with_compute(measured: Measured, now: Sequence[Compute], baseline: Measured | None) -> Measured:
    """The arithmetic of a pass, joined with that of earlier ones."""
    compute = {each.rank: each for each in measured.compute}
    ratios = compute_ratios(now, baseline)
    for each in now:
        before = compute.get(each.rank, each)
        gflops, memory = max(each.gflops, before.gflops), max(each.memory, before.memory)
        compute[each.rank] = Compute(each.rank, gflops, memory, each.stalled, (*before.ratios, ratios[each.rank]))
    return replace(measured, compute=tuple(compute[rank] for rank in sorted(compute)))


def with_collectives(measured: Measured, now: Iterable[Collective]) -> Measured:
    """Collectives, joined with those that were measured before: the faster one counts, a problem stays one."""
    known = {
        (collective.operator, collective.size, collective.ranks): collective for collective in measured.collectives
    }
    for collective in now:
        key = (collective.operator, collective.size, collective.ranks)
        known[key] = _faster(collective, known.get(key))
    return replace(measured, collectives=tuple(known.values()))


def _better(link: Link, before: Link | None) -> Link:
    """The better of two measurements of a link; a wrong result stays wrong."""
    if before is None:
        return link
    if link.is_wrong or before.is_wrong:
        return link if link.is_wrong else before
    return max(link, before, key=lambda each: each.bandwidth or 0.0)


def _faster(collective: Collective, before: Collective | None) -> Collective:
    if before is None or collective.problem or before.problem:
        return before if before and before.problem else collective
    return min(collective, before, key=lambda each: each.seconds or math.inf)
