"""The steps of a selftest: passes of arithmetic and pairs, halves of the servers, collectives; then what looks slow,
again, until it is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

from hccl_kit.selftest.bandwidth import OPERATORS, Operator
from hccl_kit.selftest.evidence import weigh
from hccl_kit.selftest.faults import Fault
from hccl_kit.selftest.measured import Compute, Link, Measured, Split
from hccl_kit.selftest.names import Names
from hccl_kit.selftest.results import collectives_of, half_of, link_of, with_collectives, with_compute, with_links
from hccl_kit.selftest.rounds import Pair, by_server, halves, pair_rounds
from hccl_kit.selftest.session import Session
from hccl_kit.selftest.verdict import judge

KIB, MIB = 1 << 10, 1 << 20
AGAIN = 15
"""Maximum number of times that what looks slow is measured again."""
MOST_NEAR = 7
"""Rounds of other pairs of a suspect that are measured with it."""
MIN_SPLIT = 4
"""The least number of servers that are split into halves: with fewer, a half is one server."""

_Round = tuple[Pair, ...]


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


class Selftest:
    """One run with the ranks of a session; `measured` is what is known so far, `note` gets a text on the next part."""

    def __init__(
        self,
        session: Session,
        effort: Effort,
        nothing: Measured,
        *,
        baseline: Measured | None,
        slow: float,
        note: Callable[[str], None],
    ) -> None:
        self._session, self._effort, self._note = session, effort, note
        self._baseline, self._slow = baseline, slow
        self.measured = nothing
        self._names = Names(nothing.cards)
        self._rounds = pair_rounds(nothing.cards, effort.rounds)
        self._servers = by_server(nothing.cards)
        self._without_result = {card.rank: "" for card in nothing.cards}

    async def run(self) -> Measured:
        """Measure everything; what looks slow, again."""
        self._note("starting the ranks")
        await self._session.ready(self._effort.start)
        for number in range(self._effort.passes):
            which = f"pass {number + 1} of {self._effort.passes}"
            self._note(f"{which}: arithmetic of each rank")
            await self._arithmetic()
            self._note(f"{which}: {len(self._rounds)} rounds of pairs")
            await self._pairs(self._rounds)
            self._note(f"{which}: halves of the servers")
            await self._halves()
        for number in range(AGAIN):
            if not (suspects := weigh(self._faults(), self.measured, self._baseline, slow=self._slow).doubts):
                break
            self._note(f"measuring again what looks slow ({number + 1} of {AGAIN} at most)")
            await self._again(suspects)
        self._note("collectives over all ranks")
        for number in range(AGAIN):
            if number >= self._effort.passes and not any(fault.kind == "collective" for fault in self._faults()):
                break
            await self._collectives()
        self._session.lose(self._without_result)
        self._take_losses()
        return self.measured

    def _faults(self) -> tuple[Fault, ...]:
        return judge(self.measured, self._baseline, slow=self._slow)

    async def _again(self, suspects: Sequence[Fault]) -> None:
        """The rounds of the suspects, with the same load as before; the other pairs in them show what is usual now."""
        if any(fault.kind == "slow-card" for fault in suspects):
            await self._arithmetic()
        pairs = {pair for fault in suspects for pair in fault.pairs}
        for is_inside in (True, False):
            ranks = {rank for pair in pairs if self._names.is_inside(pair) == is_inside for rank in pair}
            kind = [one for one in self._rounds if self._names.is_inside(one[0]) == is_inside]
            own = [one for one in kind if pairs.intersection(one)]
            near = [one for one in kind if one not in own and ranks.intersection(chain(*one))]
            if own:  # all partners of both ends: their links tell a link from a port
                await self._pairs([*own, *near[:MOST_NEAR]])
        if any(fault.kind == "slow-uplink" and not fault.pairs for fault in suspects):
            await self._halves()

    async def _arithmetic(self) -> None:
        if self._session.is_over:
            return
        ranks = self._session.available()
        results = await self._session.step(
            {"do": "compute", "seconds": self._effort.seconds}, ranks, self._effort.timeout
        )
        found = [Compute(rank, *one.values) for rank, one in sorted(results.items()) if len(one.values) == 2]
        for rank in self._without_result.keys() & results.keys():
            self._without_result[rank] = results[rank].problem
        for one in found:
            self._without_result.pop(one.rank, None)
        self.measured = with_compute(self.measured, found, self._baseline)
        self._take_losses()

    async def _pairs(self, rounds: Sequence[_Round]) -> None:
        """Rounds of pairs, one after the other: a pass."""
        links: list[Link] = []
        broken = {one.pair for one in self.measured.links if one.bandwidth is None and len(one.ratios) > 1}
        for pairs in rounds:
            available = set(self._session.available())
            groups = [pair for pair in pairs if available.issuperset(pair) and pair not in broken]
            if groups and not self._session.is_over:
                results = await self._all_reduce(groups)
                links += [
                    link_of(pair, [results[rank] for rank in pair]) for pair in groups if results.keys() >= set(pair)
                ]
        self.measured = with_links(self.measured, links, self._baseline)
        self._take_losses()

    async def _halves(self) -> None:
        """An all-reduce in both halves at once, for each split of the servers; nothing if ranks or links are lost."""
        is_broken = self.measured.lost or any(one.bandwidth is None for one in self.measured.links)
        if len(self._servers) < MIN_SPLIT or self._session.is_over or is_broken:
            return
        splits = self.measured.splits or tuple(Split(self._named(sides), ()) for sides in halves(len(self._servers)))
        found = []
        for split in splits:
            groups = [self._ranks_of(half) for half in split.halves]
            results = await self._all_reduce(groups)
            first, second = (
                half_of([results[rank] for rank in group]) if results.keys() >= set(group) else 0.0 for group in groups
            )
            found.append(replace(split, bandwidths=(*split.bandwidths, (first, second))))
            if self._session.losses() or self._session.is_over:
                break
        else:
            self.measured = replace(self.measured, splits=tuple(found))
        self._take_losses()

    def _named(self, sides: tuple[list[int], list[int]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The servers of both sides by their ids."""
        first, second = (tuple(self._names.server(self._servers[place][0]) for place in side) for side in sides)
        return first, second

    def _ranks_of(self, half: Sequence[str]) -> list[int]:
        return sorted(card.rank for card in self.measured.cards if card.server in half)

    async def _collectives(self) -> None:
        """The operators over all ranks that are left."""
        if any(one.problem for one in self.measured.collectives):
            return  # a problem stays one
        for operator in self._effort.operators:
            ranks = self._session.available()
            if self._session.is_over or len(ranks) < 2 or operator in self._session.skipped:
                continue
            command = self._command(operator, self._effort.sizes, [ranks])
            results = await self._session.step(command, ranks, self._effort.timeout)
            self.measured = with_collectives(self.measured, collectives_of(operator, self._effort.sizes, results))
        self._take_losses()

    async def _all_reduce(self, groups: Sequence[Sequence[int]]) -> Mapping[int, Any]:
        """An all-reduce in each group, all at once; the results of their ranks."""
        command = self._command("all_reduce", self._effort.pair_sizes, groups)
        return await self._session.step(command, sorted(chain(*groups)), self._effort.timeout)

    def _command(self, operator: Operator, sizes: Sequence[int], groups: Sequence[Sequence[int]]) -> dict[str, Any]:
        return {
            "do": "collective",
            "operator": operator,
            "sizes": sizes,
            "groups": groups,
            "seconds": self._effort.seconds,
            "limit": self._effort.timeout / 8,
        }

    def _take_losses(self) -> None:
        """Take over what the session knows by now: lost ranks, stopped processes, skipped operators."""
        compute = tuple(replace(one, stalled=self._session.stalled(one.rank)) for one in self.measured.compute)
        lost, skipped = self._session.losses(), self._session.skipped
        self.measured = replace(self.measured, compute=compute, lost=lost, skipped=skipped)
