"""Time measurements of training steps."""

import pytest

from hccl_kit.ocr.train.step import StepResult
from hccl_kit.ocr.train.timing import StepTiming


def test_times_of_steps_are_summed() -> None:
    timing = StepTiming()
    for _ in range(4):
        timing.add(0.5, StepResult(loss=1.0, norm=1.0, compute_s=1.0, communication_s=0.5), samples=16)
    assert timing.total_s == pytest.approx(8)
    assert timing.row() == {"samples_per_s": 8.0, "data_s": 2.0, "compute_s": 4.0, "communication_s": 2.0}
    assert str(timing) == "8.00 samples/s, data 25% compute 50% communication 25%, bound by compute"


@pytest.mark.parametrize(
    ("steps", "left"),
    [(0, ""), (1, "2 s left"), (44, "88 s left"), (45, "2 min left"), (2699, "90 min left"), (9000, "5.0 h left")],
)
def test_estimates_the_remaining_time(steps: int, left: str) -> None:
    timing = StepTiming()
    assert timing.left(5) == ""
    timing.add(0.5, StepResult(loss=1.0, norm=1.0, compute_s=1.0, communication_s=0.5), samples=16)
    assert timing.left(steps) == left


def test_without_steps_there_are_no_times() -> None:
    assert StepTiming().row() == {"samples_per_s": None, "data_s": 0.0, "compute_s": 0.0, "communication_s": 0.0}
    assert str(StepTiming()) == "no step was timed"
