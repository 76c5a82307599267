"""The steps of a selftest: passes of arithmetic and pairs, halves of the servers, collectives; then what looks slow,
again, until it is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from hccl_kit.base.message import Message
from hccl_kit.selftest.evidence import weigh
from hccl_kit.selftest.faults import Fault
from hccl_kit.selftest.measured import OPERATORS, Compute, Link, Measured, Operator, Split
from hccl_kit.selftest.protocol import Result
from hccl_kit.selftest.results import collectives_of, half_of, link_of, with_collectives, with_compute, with_links
from hccl_kit.selftest.rounds import Names, Pair, by_server, halves, pair_rounds
from hccl_kit.selftest.session import Session
from hccl_kit.selftest.verdict import judge

KIB, MIB = 1 << 10, 1 << 20
AGAIN = 15
"""Maximum number of times that what looks slow is measured again."""
MOST_NEAR = 7
"""Rounds of other pairs of a suspect that are measured with it."""
MIN_SPLIT = 4
"""The least number of servers that are split into halves: with fewer, a half is one server."""

Round: TypeAlias = tuple[Pair, ...]
"""Pairs that are measured at once."""


class Effort(NamedTuple):
    """How thoroughly: passes, seconds of calls for each measurement, sizes in bytes, operators, rounds of a kind."""

    passes: int
    seconds: float
    pair_sizes: tuple[int, ...]
    sizes: tuple[int, ...]
    operators: tuple[Operator, ...]
    rounds: int | None
    timeout: float
    start: float


QUICK = Effort(3, 0.1, (64 * KIB, MIB), (MIB,), ("all_reduce",), 7, 10.0, 180.0)
FULL = Effort(3, 0.25, (64 * KIB, 4 * MIB), (KIB, 64 * KIB, MIB, 16 * MIB), OPERATORS, None, 30.0, 180.0)


def on_cards(effort: Effort) -> Effort:
    """The same with sizes that fill the links of cards."""
    return effort._replace(pair_sizes=(MIB, 64 * MIB), sizes=(*effort.sizes, 256 * MIB))


class Setting(NamedTuple):
    """What does not change during a run: the ranks and how thoroughly they are measured, and what counts as slow.

    `rounds` are all pairs, `servers` the ranks of each server.
    """

    session: Session
    effort: Effort
    names: Names
    rounds: Sequence[Round]
    servers: Sequence[Sequence[int]]
    baseline: Measured | None
    slow: float


class Progress(NamedTuple):
    """What is known so far; `without` are the ranks whose arithmetic never had a result, each with the last reason."""

    measured: Measured
    without: Mapping[int, str]

    def with_(self, **changes: Any) -> Progress:
        """The same with other measurements."""
        return self._replace(measured=replace(self.measured, **changes))


def measure(
    session: Session,
    effort: Effort,
    nothing: Measured,
    *,
    baseline: Measured | None,
    slow: float,
    note: Callable[[str], None],
) -> Measured:
    """Measure everything; what looks slow, again. `nothing` has the cards, `note` gets a text on the next part."""
    cards = nothing.cards
    setting = Setting(
        session, effort, Names(cards), pair_rounds(cards, effort.rounds), by_server(cards), baseline, slow
    )
    progress = Progress(nothing, {card.rank: "" for card in cards})
    note(Message("selftest.starting", "starting the ranks"))
    session.ready(effort.start)
    for number in range(effort.passes):
        which = Message("selftest.pass", "pass {number} of {passes}", number=number + 1, passes=effort.passes)
        progress = _measured_once(setting, progress, which, note)
    for number in range(AGAIN):
        suspects = weigh(_faults(setting, progress), progress.measured, baseline, slow=slow).doubts
        if not suspects:
            break
        again = Message("selftest.again-number", "{number} of {most} at most", number=number + 1, most=AGAIN)
        note(Message("selftest.again", "measuring again what looks slow ({number})", number=again))
        progress = _again(setting, progress, suspects)
    note(Message("selftest.doing-collectives", "collectives over all ranks"))
    for number in range(AGAIN):
        has_doubt = any(fault.kind == "collective" for fault in _faults(setting, progress))
        if number >= effort.passes and not has_doubt:
            break
        progress = _collectives(setting, progress)
    session.ranks.lose_without_result(progress.without)
    return _with_losses(setting, progress).measured


def _measured_once(setting: Setting, progress: Progress, which: Message, note: Callable[[str], None]) -> Progress:
    """A pass: the arithmetic of each rank, all pairs, halves of the servers."""
    rounds = len(setting.rounds)
    note(Message("selftest.doing-arithmetic", "{which}: arithmetic of each rank", which=which))
    progress = _arithmetic(setting, progress)
    note(Message("selftest.doing-pairs", "{which}: {rounds} rounds of pairs", which=which, rounds=rounds))
    progress = _pairs(setting, progress, setting.rounds)
    note(Message("selftest.doing-halves", "{which}: halves of the servers", which=which))
    return _halves(setting, progress)


def _faults(setting: Setting, progress: Progress) -> tuple[Fault, ...]:
    return judge(progress.measured, setting.baseline, slow=setting.slow)


def _again(setting: Setting, progress: Progress, suspects: Sequence[Fault]) -> Progress:
    """The rounds of the suspects, with the same load as before; the other pairs in them show what is usual now."""
    if any(fault.kind == "slow-card" for fault in suspects):
        progress = _arithmetic(setting, progress)
    pairs = {pair for fault in suspects for pair in fault.pairs}
    for is_inside in (True, False):
        ranks = {rank for pair in pairs if setting.names.is_inside(pair) == is_inside for rank in pair}
        kind = [each for each in setting.rounds if setting.names.is_inside(each[0]) == is_inside]
        suspected = [each for each in kind if pairs.intersection(each)]
        near = [each for each in kind if each not in suspected and ranks.intersection(chain(*each))]
        if suspected:  # all partners of both ends: their links tell a link from a port
            progress = _pairs(setting, progress, [*suspected, *near[:MOST_NEAR]])
    if any(fault.kind == "slow-uplink" and not fault.pairs for fault in suspects):
        progress = _halves(setting, progress)
    return progress


def _arithmetic(setting: Setting, progress: Progress) -> Progress:
    session, effort = setting.session, setting.effort
    if session.ranks.is_over:
        return progress
    command = {"do": "compute", "seconds": effort.seconds}
    results = session.step(command, session.ranks.available(), effort.timeout)
    computed = [Compute(rank, *result.values) for rank, result in sorted(results.items()) if len(result.values) == 2]
    reasons = {rank: results[rank].problem if rank in results else why for rank, why in progress.without.items()}
    without = {rank: why for rank, why in reasons.items() if rank not in {compute.rank for compute in computed}}
    return _with_losses(setting, Progress(with_compute(progress.measured, computed, setting.baseline), without))


def _pairs(setting: Setting, progress: Progress, rounds: Sequence[Round]) -> Progress:
    """Rounds of pairs, one after the other: a pass."""
    links: list[Link] = []
    broken = {link.pair for link in progress.measured.links if link.bandwidth is None and len(link.ratios) > 1}
    for pairs in rounds:
        available = set(setting.session.ranks.available())
        groups = [pair for pair in pairs if available.issuperset(pair) and pair not in broken]
        if groups and not setting.session.ranks.is_over:
            results = _all_reduce(setting, groups)
            links += [link_of(pair, [results[rank] for rank in pair]) for pair in groups if results.keys() >= set(pair)]
    measured = with_links(progress.measured, links, setting.baseline)
    return _with_losses(setting, progress._replace(measured=measured))


def _halves(setting: Setting, progress: Progress) -> Progress:
    """An all-reduce in both halves at once, for each split of the servers; nothing if ranks or links are lost."""
    measured, known = progress.measured, setting.session.ranks
    is_broken = measured.lost or any(link.bandwidth is None for link in measured.links)
    if len(setting.servers) < MIN_SPLIT or known.is_over or is_broken:
        return progress
    splits = []
    for split in measured.splits or _splits(setting):
        groups = [sorted(card.rank for card in measured.cards if card.server in half) for half in split.halves]
        results = _all_reduce(setting, groups)
        first, second = (
            half_of([results[rank] for rank in group]) if results.keys() >= set(group) else 0.0 for group in groups
        )
        splits.append(replace(split, bandwidths=(*split.bandwidths, (first, second))))
        if known.lost or known.is_over:
            return _with_losses(setting, progress)
    return _with_losses(setting, progress.with_(splits=tuple(splits)))


def _splits(setting: Setting) -> list[Split]:
    """All splits of the servers, with nothing measured."""
    ids = [setting.names.server(ranks[0]) for ranks in setting.servers]
    return [
        Split((tuple(ids[place] for place in lower), tuple(ids[place] for place in upper)), ())
        for lower, upper in halves(len(ids))
    ]


def _collectives(setting: Setting, progress: Progress) -> Progress:
    """The operators over all ranks that are left."""
    effort, known = setting.effort, setting.session.ranks
    measured = progress.measured
    if any(collective.problem for collective in measured.collectives):
        return progress  # a problem stays one
    for operator in effort.operators:
        ranks = known.available()
        if known.is_over or len(ranks) < 2 or operator in known.skipped:
            continue
        command = _command(effort, operator, effort.sizes, [ranks])
        results = setting.session.step(command, ranks, effort.timeout)
        measured = with_collectives(measured, collectives_of(operator, effort.sizes, results))
    return _with_losses(setting, progress._replace(measured=measured))


def _all_reduce(setting: Setting, groups: Sequence[Sequence[int]]) -> Mapping[int, Result]:
    """An all-reduce in each group, all at once; the results of their ranks."""
    command = _command(setting.effort, "all_reduce", setting.effort.pair_sizes, groups)
    return setting.session.step(command, sorted(chain(*groups)), setting.effort.timeout)


def _command(
    effort: Effort, operator: Operator, sizes: Sequence[int], groups: Sequence[Sequence[int]]
) -> dict[str, Any]:
    return {
        "do": "collective",
        "operator": operator,
        "sizes": sizes,
        "groups": groups,
        "seconds": effort.seconds,
        "limit": effort.timeout / 8,
    }


def _with_losses(setting: Setting, progress: Progress) -> Progress:
    """With what the session knows by now: lost ranks, stopped processes, skipped operators."""
    known = setting.session.ranks
    compute = tuple(replace(compute, stalled=known.stalled(compute.rank)) for compute in progress.measured.compute)
    return progress.with_(compute=compute, lost=known.losses(), skipped=known.skipped)
