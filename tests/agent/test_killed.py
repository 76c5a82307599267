import random
from pathlib import Path

from benchmarks.killed_processes import draw, run


def test_a_process_that_is_killed_or_stopped_leaves_nothing_and_is_named(tmp_path: Path) -> None:
    """A sample of the benchmark, which draws more."""
    chance = random.Random(7)
    for number in range(8):
        case = draw(chance)
        folder = tmp_path / str(number)
        folder.mkdir()
        assert run(case, folder).wrong == "", case
