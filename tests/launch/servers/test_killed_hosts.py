import random
from pathlib import Path

import pytest

from benchmarks.killed_hosts import draw, run
from tests.lab.hosts import hosts, needs_hosts


@needs_hosts
def test_whatever_is_killed_on_a_host_leaves_nothing_and_the_right_one_is_named(tmp_path: Path) -> None:
    """A sample of the benchmark, which draws more."""
    chance = random.Random(3)
    with hosts(3) as lab:
        for number in range(4):
            case = draw(chance)
            folder = tmp_path / str(number)
            folder.mkdir()
            assert run(case, folder, lab).wrong == "", case


@needs_hosts
@pytest.mark.long
def test_a_cable_that_is_pulled_leaves_nothing(tmp_path: Path) -> None:
    chance = random.Random(3)
    case = next(case for case in iter(lambda: draw(chance), None) if case.victim == "cable")
    with hosts(3) as lab:
        assert run(case, tmp_path, lab).wrong == ""
