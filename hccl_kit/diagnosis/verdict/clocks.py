"""How far the clocks of servers are apart, estimated from moments that all ranks of a communicator share.

The root of a communicator sends the list of ranks when the last one has come, so that all ranks have it at nearly the
same moment, and the times at which their logs say so differ by the clocks. So do those at which they leave a collective
that our recorder has. No other moment is used for the verdict: a rank reads its rank table without waiting for the
others, and the starts and ends of waits differ by more than clocks do.

Where there is no such moment, the two ends of links that were given up tell something: ranks that begin together give
up together. A server that began late looks the same, so this is reported, and no verdict rests on it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from statistics import median
from typing import NamedTuple

from hccl_kit.diagnosis.facts import Joined, LinkFailed, LinkRow, LinkTimedOut
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from hccl_kit.diagnosis.verdict.job import Job, Rank
from hccl_kit.diagnosis.verdict.waits import Waits

MAX_COLLECTIVES = 256
"""The last collectives of a rank by which clocks are compared."""
LEAST_LINKS = 2
"""Links between two servers that must agree."""
AGREEMENT = 10.0
"""Seconds by which they may differ: the ranks of a server do not begin at one moment."""


class Clocks(NamedTuple):
    """Seconds to add to the times of a worker; the clock of a worker that is not in it is unknown.

    `links`: on how many shared moments the estimate rests.
    """

    offsets: Mapping[str, float]
    links: int

    def corrected(self, worker: str, time: float | None) -> float | None:
        """The time on the clock of the first worker, or None if that is not known."""
        return None if time is None or worker not in self.offsets else time + self.offsets[worker]


def estimate(job: Job) -> Clocks:
    """The offsets of the workers, to the one with the most ranks, of several the one with the first rank."""
    times: dict[Hashable, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    ranks: dict[str, int] = defaultdict(int)
    for rank in job.ranks:
        ranks[job.clock[rank.process]] += 1
        for moment, time in _shared_moments(rank):
            times[moment][job.clock[rank.process]].append(time)
    if not ranks:
        return Clocks({}, 0)
    reference = max(ranks, key=lambda worker: ranks[worker])
    differences: dict[str, list[float]] = defaultdict(list)
    for by_worker in times.values():
        if reference in by_worker:
            here = median(by_worker[reference])
            for worker, there in by_worker.items():
                differences[worker].append(here - median(there))
    offsets = {worker: median(offsets_of) for worker, offsets_of in differences.items()}
    moments = sum(len(offsets_of) for worker, offsets_of in differences.items() if worker != reference)
    return Clocks({**offsets, reference: 0.0}, moments)


def _shared_moments(rank: Rank) -> Iterator[tuple[Hashable, float]]:
    """When the rank had what all others have at the same moment, each with a name."""
    for event in rank.events:
        fact = event.fact
        if isinstance(fact, Joined) and fact.complete and fact.group and fact.root_host and event.time is not None:
            yield fact.group, event.time
    entries = rank.record.entries if rank.record else {}
    for number in sorted(entries)[-MAX_COLLECTIVES:]:
        if (left := entries[number].left) is not None:
            yield number, left


def apart(job: Job, waits: Waits, clocks: Clocks) -> Clocks:
    """The offsets of workers that `clocks` does not know, by both ends of links that waited for each other."""
    known = {rank.suspect: job.clock[rank.process] for rank in job.ranks}
    times: dict[tuple[Suspect, Suspect], float] = {}
    for edge in waits.edges:
        if edge.target is not None and edge.event.time is not None and isinstance(edge.event.fact, _LINKS):
            times.setdefault((edge.source, edge.target), edge.event.time)
    differences: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (one, other), time in times.items():
        if (other, one) in times and one in known and other in known and known[one] != known[other]:
            differences[known[one], known[other]].append(time - times[other, one])
    agreed = {
        pair: median(offsets)
        for pair, offsets in sorted(differences.items())
        if len(offsets) >= LEAST_LINKS and max(offsets) - min(offsets) <= AGREEMENT
    }
    offsets, links = dict(clocks.offsets), 0
    reached = list(offsets)
    while reached:
        here = reached.pop()
        for (near, far), seconds in agreed.items():
            if near == here and far not in offsets:
                offsets[far] = offsets[here] + seconds
                links += len(differences[near, far])
                reached.append(far)
    new = {worker: seconds for worker, seconds in offsets.items() if worker not in clocks.offsets}
    return Clocks(new, links)


_LINKS = (LinkFailed, LinkRow, LinkTimedOut)
