"""Straggler detection of the trainer: one warning, a verdict for the summary, one small collective per window."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.train.checks import MIN_STEPS, StragglerCheck
from hccl_kit.ocr.train.step import StepResult


@dataclass
class Ranks:
    """A group with this process as rank 0, whose other ranks take `factors` times as long."""

    factors: list[float]
    gathers: int = 0
    said: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        return len(self.factors)

    def gather(self, row: NDArray[np.float32]) -> NDArray[np.float32]:
        self.gathers += 1
        return np.stack([row * factor for factor in self.factors])

    def check(self, log_interval: int = 1) -> StragglerCheck:
        return StragglerCheck(self, self.said.append, log_interval=log_interval)  # type: ignore[arg-type]


def train(check: StragglerCheck, first: int, last: int, *, data_s: float = 0.1, compute_s: float = 0.9) -> None:
    for step in range(first, last + 1):
        check.add(step, data_s, StepResult(1.0, 1.0, compute_s, 5.0))


def test_a_straggler_gives_one_warning_and_is_in_the_summary() -> None:
    ranks = Ranks([1.0, 1.0, 1.5])
    check = ranks.check()
    train(check, 1, 1, compute_s=100.0)  # compiles
    train(check, 2, 31)
    assert check.verdict is not None
    train(check, 32, 71)
    assert ranks.said == [
        "rank 2 slows down the others since step 2, by its compute: "
        "1.50 s a step for data and computing, the others 1.00 s (50% more)"
    ]
    assert check.verdict == {
        **{"rank": 2, "part": "compute", "since_step": 2, "until_step": None, "last_step": 71},
        **{"own_s": 1.5, "others_s": 1.0},
    }
    assert ranks.gathers == 7


def test_the_end_of_a_slow_phase_is_reported() -> None:
    ranks = Ranks([1.0, 1.0, 1.5])
    check = ranks.check()
    train(check, 1, 41)
    ranks.factors[2] = 1.0
    train(check, 42, 71)
    assert check.verdict is not None
    assert (check.verdict["since_step"], check.verdict["until_step"]) == (2, 41)
    assert len(ranks.said) == 1


def test_a_resumed_run_counts_its_own_steps() -> None:
    ranks = Ranks([1.0, 2.0])
    check = ranks.check()
    train(check, 501, 531)
    assert check.verdict is not None
    assert (check.verdict["rank"], check.verdict["since_step"]) == (1, 502)


def test_equally_fast_ranks_are_not_named() -> None:
    ranks = Ranks([1.0, 1.05, 0.97, 1.08])
    check = ranks.check()
    train(check, 1, 100)
    assert (check.verdict, ranks.said) == (None, [])


def test_a_window_follows_the_log_interval_but_is_not_too_short() -> None:
    for interval, gathers in ((1, 10), (MIN_STEPS, 10), (50, 2), (200, 0)):
        ranks = Ranks([1.0, 1.0])
        train(ranks.check(interval), 1, 101)
        assert ranks.gathers == gathers


def test_a_single_rank_gathers_nothing() -> None:
    ranks = Ranks([1.0])
    check = ranks.check()
    train(check, 1, 100)
    assert (check.verdict, ranks.gathers) == (None, 0)
