"""Complete runs on a simulated network with the noise of a busy machine, with or without a planted fault."""

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, combinations
from typing import Any, cast

import pytest

from hccl_kit.selftest.evidence import Weighed, weigh
from hccl_kit.selftest.measured import Measured
from hccl_kit.selftest.protocol import Result, Timing
from hccl_kit.selftest.rank_states import RankStates
from hccl_kit.selftest.run import QUICK, measure
from hccl_kit.selftest.session import Session
from hccl_kit.selftest.verdict import judge
from tests.selftest.results import job

Noise = Callable[[random.Random], float]

NOISE: dict[str, Noise] = {
    "quiet": lambda dice: dice.lognormvariate(0, 0.1),
    "busy": lambda dice: dice.lognormvariate(0, 0.7),
    "drops": lambda dice: 0.1 if dice.random() < 0.4 else 1.0,
}
"""The effect of other programs on a measurement: half or twice the speed is common, or two of five have a tenth."""


class Fabric:
    """A session whose links have the speed given by `speed`, multiplied by noise."""

    def __init__(self, ranks: int, dice: random.Random, noise: Noise, speed: Callable[[int, int], float]) -> None:
        self.ranks = RankStates(range(ranks), shares_fate=False)
        self.dice, self.noise, self.speed = dice, noise, speed
        self.steps: list[Mapping[str, Any]] = []

    def ready(self, _seconds: float) -> None:
        """Immediately ready."""

    def step(self, command: Mapping[str, Any], ranks: Sequence[int], _timeout: float) -> dict[int, Result]:
        self.steps.append(command)
        if command["do"] == "compute":
            return {rank: Result((), (100 * self.noise(self.dice), 8 * self.noise(self.dice))) for rank in ranks}
        results: dict[int, Result] = {}
        for group in command["groups"]:
            bandwidth = min(self.speed(*pair) for pair in combinations(group, 2)) * self.noise(self.dice)
            size = command["sizes"][-1]
            seconds = size / bandwidth / 1e9
            results |= {rank: Result((Timing(size, seconds, seconds, is_wrong=False),)) for rank in group}
        return results


def run(fabric: Fabric, servers: int) -> Weighed:
    nothing = Measured("gloo", job(servers, len(fabric.ranks.phases()) // servers))
    session = cast(Session, fabric)
    measured = measure(session, QUICK, nothing, baseline=None, slow=0.5, note=lambda _: None)
    return weigh(judge(measured), measured)


def blamed(weighed: Weighed) -> list[tuple[str, tuple[int, ...]]]:
    return [(fault.kind, fault.ranks) for fault in weighed.faults]


@pytest.mark.parametrize("noise", sorted(NOISE))
@pytest.mark.parametrize(("servers", "ranks"), [(1, 4), (3, 3), (4, 4), (4, 8)])
def test_a_healthy_network_has_no_fault(servers: int, ranks: int, noise: str) -> None:
    for seed in range(30):
        fabric = Fabric(ranks, random.Random(seed), NOISE[noise], lambda *_: 1.0)
        assert blamed(run(fabric, servers)) == []


@pytest.mark.parametrize(("noise", "wanted"), [("quiet", 20), ("busy", 10)])
@pytest.mark.parametrize("servers", [3, 4])
def test_a_slow_server_is_named(servers: int, noise: str, wanted: int) -> None:
    """Always on a quiet machine; mostly on a busy one, and never another server."""
    found = 0
    for seed in range(20):
        victim = seed % servers

        def speed(one: int, other: int, victim: int = victim) -> float:
            return 0.1 if victim in (one, other) else 1.0

        named = blamed(run(Fabric(servers, random.Random(seed), NOISE[noise], speed), servers))
        assert set(chain(*(ranks for _, ranks in named))) <= {victim}
        found += named == [("slow-port", (victim,))]
    assert found >= wanted


def test_a_slow_path_between_halves_is_named() -> None:
    def speed(one: int, other: int) -> float:
        return 1.0 if (one < 2) == (other < 2) else 0.1

    for seed in range(20):
        named = blamed(run(Fabric(4, random.Random(seed), NOISE["quiet"], speed), 4))
        assert named == [("slow-uplink", (0, 1, 2, 3))]


def test_a_path_that_is_only_slow_under_load_is_named_by_the_halves() -> None:
    """Five servers: a half of three is not a pair. Traffic from 0, 1, 2 to 3, 4 is slow, except for single pairs."""

    def speed(one: int, other: int) -> float:
        return 1.0 if (one < 3) == (other < 3) else 0.1

    class Contended(Fabric):
        def step(self, command: Mapping[str, Any], ranks: Sequence[int], timeout: float) -> dict[int, Result]:
            are_pairs = all(len(group) == 2 for group in command.get("groups", ()))
            self.speed = (lambda *_: 1.0) if are_pairs else speed
            return super().step(command, ranks, timeout)

    fabric = Contended(5, random.Random(1), NOISE["quiet"], speed)
    assert blamed(run(fabric, 5)) == [("slow-uplink", (0, 1, 2, 3, 4))]


def test_halves_need_four_servers() -> None:
    for servers, wanted in ((3, 0), (4, 2 * QUICK.passes), (5, 3 * QUICK.passes)):
        fabric = Fabric(servers, random.Random(1), NOISE["quiet"], lambda *_: 1.0)
        assert blamed(run(fabric, servers)) == []
        sizes = [sorted(map(len, step["groups"])) for step in fabric.steps if step["do"] == "collective"]
        assert sum(len(size) == 2 and sum(size) == servers and servers > 3 for size in sizes) >= wanted
