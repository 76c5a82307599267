"""How far the clocks of servers are apart, estimated from moments that all ranks of a communicator share.

The root of a communicator sends the list of ranks when the last one has come, so that all ranks have it at nearly the
same moment, and the times at which their logs say so differ by the clocks. Nothing else is used: a rank table is read
without the others, and the start and the end of a wait differ by more than clocks do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from statistics import median
from typing import NamedTuple

from hccl_kit.diagnosis.logs.facts import Joined
from hccl_kit.diagnosis.verdict.job import Job


class Clocks(NamedTuple):
    """Seconds to add to the times of a worker; a worker that is not in it has a clock that nothing tells of.

    `links`: on how many shared moments the estimate rests.
    """

    offsets: Mapping[str, float]
    links: int

    def corrected(self, worker: str, time: float | None) -> float | None:
        """The time on the clock of the first worker, or None if that is not known."""
        return None if time is None or worker not in self.offsets else time + self.offsets[worker]


def estimate(job: Job) -> Clocks:
    """The offsets of the workers, to the one with the most ranks."""
    times: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    ranks: dict[str, int] = defaultdict(int)
    for rank in job.ranks:
        ranks[job.clock[rank.process]] += 1
        for event in rank.events:
            fact = event.fact
            if isinstance(fact, Joined) and fact.complete and fact.group and fact.root_host and event.time is not None:
                times[fact.group][job.clock[rank.process]].append(event.time)
    if not ranks:
        return Clocks({}, 0)
    reference = max(ranks, key=lambda worker: (ranks[worker], worker))
    differences: dict[str, list[float]] = defaultdict(list)
    for by_worker in times.values():
        if reference in by_worker:
            here = median(by_worker[reference])
            for worker, there in by_worker.items():
                differences[worker].append(here - median(there))
    offsets = {worker: median(found) for worker, found in differences.items()}
    return Clocks({**offsets, reference: 0.0}, sum(map(len, differences.values())) - (reference in differences))
