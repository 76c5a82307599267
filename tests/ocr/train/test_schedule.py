"""The learning rate: a linear warm-up, a decay curve, and a warning if it becomes 0."""

import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.train.schedule import learning_rate, warnings

CURVES = ["constant", "cosine_decay", "polynomial_decay", "exponential_decay", "step_decay", "multi_step_decay"]
CURVES += ["warmup_cosine_decay", "warmup_multistep_decay", "one_cycle"]


def section(**values: Any) -> dict[str, Any]:
    return {
        "scheduler": "warmup_cosine_decay",
        "lr": 0.004,
        "min_lr": 0.0,
        "num_epochs": 15,
        "warmup_epochs": 2,
        "warmup_factor": 0.0,
        "decay_epochs": None,
        "decay_rate": 0.9,
        "milestones": [],
        "num_cycles": 1,
        "cycle_decay": 1.0,
        "lr_epoch_stair": False,
        **values,
    }


def rates(scheduler: dict[str, Any], steps_per_epoch: int) -> list[float]:
    return [learning_rate(n, scheduler, steps_per_epoch) for n in range(scheduler["num_epochs"] * steps_per_epoch)]


@st.composite
def schedules(draw: st.DrawFn, *, whole: bool = False) -> tuple[dict[str, Any], int]:
    """A warm-up that ends before the last epoch, possibly inside an epoch or a step, and a cosine over the rest."""
    epochs = draw(st.integers(1, 12))
    warmup = draw(st.integers(0, epochs - 1) if whole else st.floats(0, epochs - 0.01, allow_subnormal=False))
    lr = draw(st.floats(1e-6, 10))
    decay = draw(st.sampled_from([None, epochs - warmup]))
    return section(lr=lr, num_epochs=epochs, warmup_epochs=warmup, decay_epochs=decay), draw(st.integers(1, 9))


@st.composite
def curves(draw: st.DrawFn) -> tuple[dict[str, Any], int]:
    """Any scheduler with any of its options."""
    scheduler, steps = draw(schedules(whole=True))
    options = {
        "scheduler": draw(st.sampled_from(CURVES)),
        "decay_epochs": draw(st.integers(1, 20)),
        "decay_rate": draw(st.floats(0.1, 0.99)),
        "milestones": draw(st.lists(st.integers(1, 12), max_size=3)),
        "num_cycles": draw(st.integers(1, 3)),
        "cycle_decay": draw(st.floats(0.1, 1)),
        "lr_epoch_stair": draw(st.booleans()),
        "warmup_factor": draw(st.floats(0, 1)),
        "min_lr": draw(st.sampled_from([0.0, scheduler["lr"] / 10])),
    }
    return {**scheduler, **options}, steps


@given(schedules())
def test_the_rate_is_positive_in_every_step(case: tuple[dict[str, Any], int]) -> None:
    assert all(rate > 0 for rate in rates(*case))
    assert warnings(*case) == []


@given(curves())
def test_a_rate_of_zero_gives_a_warning(case: tuple[dict[str, Any], int]) -> None:
    scheduler, steps = case
    zeros = [step for step, rate in enumerate(rates(*case)) if rate <= 0]
    words = warnings(*case)
    assert bool(words) == bool(zeros)
    if zeros:
        assert f"is 0 from epoch {zeros[0] // steps + 1} of {scheduler['num_epochs']} on" in words[0]


@given(curves())
def test_lr_is_the_highest_rate(case: tuple[dict[str, Any], int]) -> None:
    scheduler, _ = case
    assert max(rates(*case)) <= scheduler["lr"] * (1 + 1e-12)
    assert min(rates(*case)) >= 0


@given(curves())
def test_with_epoch_stairs_the_rate_is_that_of_the_curve_at_epoch_starts(case: tuple[dict[str, Any], int]) -> None:
    scheduler, steps = case
    stair = rates({**scheduler, "lr_epoch_stair": True}, steps)
    for first in range(0, len(stair), steps):
        assert len(set(stair[first : first + steps])) == 1
    smooth = rates({**scheduler, "lr_epoch_stair": False}, steps)
    after = scheduler["warmup_epochs"] * steps
    assert stair[after::steps] == pytest.approx(smooth[after::steps])


@given(schedules(whole=True), st.sampled_from(CURVES), st.floats(0, 1))
def test_the_warm_up_is_linear_and_ends_at_lr(case: tuple[dict[str, Any], int], curve: str, factor: float) -> None:
    scheduler, steps = case
    scheduler |= {"scheduler": curve, "decay_epochs": scheduler["decay_epochs"] or 3, "warmup_factor": factor}
    warmup = scheduler["warmup_epochs"] * steps
    all_rates = rates(scheduler, steps)
    for step in range(warmup):
        done = (step + 1) / warmup
        if curve == "one_cycle":
            lowest = factor or 0.04
            part = 1 + (lowest - 1) * _half(done)
        else:
            part = factor + (1 - factor) * done
        assert all_rates[step] == pytest.approx(scheduler["lr"] * part)
    assert all_rates[warmup] == scheduler["lr"]
    if warmup:
        assert all_rates[warmup - 1] == pytest.approx(scheduler["lr"])


@given(schedules(whole=True), st.floats(0, 1))
def test_the_cosine_falls_and_stays_above_min_lr(case: tuple[dict[str, Any], int], share: float) -> None:
    scheduler, steps = case
    scheduler["min_lr"] = scheduler["lr"] * share
    falling = rates(scheduler, steps)[scheduler["warmup_epochs"] * steps :]
    assert falling == sorted(falling, reverse=True)
    assert falling[-1] >= scheduler["min_lr"]


@given(schedules(whole=True), st.integers(0, 50))
def test_after_the_cosine_the_rate_is_min_lr(case: tuple[dict[str, Any], int], late: int) -> None:
    scheduler, steps = case
    scheduler["min_lr"] = scheduler["lr"] / 8
    end = scheduler["num_epochs"] * steps
    assert learning_rate(end + late, scheduler, steps) == pytest.approx(scheduler["min_lr"])


def test_decay_epochs_may_end_before_the_last_epoch() -> None:
    short = section(lr=1.0, min_lr=0.1, num_epochs=10, warmup_epochs=0, decay_epochs=2)
    assert learning_rate(4, short, 2) == pytest.approx(0.1)
    assert learning_rate(19, short, 2) == pytest.approx(0.1)
    assert warnings(short, 2) == []
    (word,) = warnings({**short, "min_lr": 0.0}, 2)
    assert "from epoch 3 of 10 on" in word
    assert "scheduler.min_lr" in word


def test_cycles_restart_at_a_lower_rate() -> None:
    twice = section(lr=1.0, num_epochs=6, warmup_epochs=0, decay_epochs=2, num_cycles=2, cycle_decay=0.5, min_lr=0.1)
    assert rates(twice, 2) == pytest.approx(
        [0.1 + 0.9 * c for c in (1, _half(0.25), 0.5, _half(0.75))]
        + [0.1 + 0.4 * c for c in (1, _half(0.25), 0.5, _half(0.75))]
        + [0.1] * 4
    )


def _half(done: float) -> float:
    return 0.5 * (1 + math.cos(math.pi * done))


@given(st.integers(0, 10**6), st.integers(1, 1000))
def test_the_constant_scheduler_keeps_the_rate(step: int, steps_per_epoch: int) -> None:
    plain = section(scheduler="constant", warmup_epochs=0)
    assert learning_rate(step, plain, steps_per_epoch) == 0.004


def test_the_polynomial_scheduler_matches_dbnet() -> None:
    """The rates of MindOCR's db_r50_icdar15.yaml, computed by hand from its formula."""
    dbnet = section(scheduler="polynomial_decay", lr=0.007, num_epochs=1200, decay_rate=0.9, warmup_epochs=3)
    assert learning_rate(3 * 100, dbnet, 100) == 0.007
    assert learning_rate(603 * 100 + 50, dbnet, 100) == pytest.approx(0.007 * (1 - 600.5 / 1197) ** 0.9)
    assert learning_rate(1200 * 100 - 1, dbnet, 100) == pytest.approx(0.007 * (0.01 / 1197) ** 0.9)


def test_step_multi_step_and_exponential_decay() -> None:
    short: dict[str, Any] = {"lr": 1.0, "num_epochs": 5, "warmup_epochs": 0, "decay_rate": 0.5}
    steps = section(scheduler="step_decay", decay_epochs=2, **short)
    assert rates(steps, 2) == [1.0] * 4 + [0.5] * 4 + [0.25] * 2
    milestones = section(scheduler="multi_step_decay", milestones=[4, 1], **short)
    assert rates(milestones, 1) == [1.0, 0.5, 0.5, 0.5, 0.25]
    powers = section(scheduler="exponential_decay", **short)
    assert rates(powers, 2) == pytest.approx([0.5 ** (n / 2) for n in range(10)])


def test_one_cycle_is_half_a_cosine_up_and_half_a_cosine_down() -> None:
    cycle = section(scheduler="one_cycle", lr=1.0, num_epochs=5, warmup_epochs=1, decay_epochs=10, min_lr=0.1)
    up = [1 + (0.04 - 1) * _half(n / 4) for n in (1, 2, 3, 4)]
    down = [0.1 + 0.9 * _half(n / 16) for n in range(16)]
    assert rates(cycle, 4) == pytest.approx(up + down)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"scheduler": "step_decay", "decay_epochs": 0}, "scheduler.decay_epochs is 0"),
        ({"scheduler": "exponential_decay", "decay_rate": 2.0}, "scheduler.decay_rate is 2.0"),
        ({"scheduler": "multi_step_decay", "decay_rate": 10.0}, "at most 1"),
    ],
)
def test_invalid_numbers_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(KitError, match=message):
        warnings(section(**wrong), 3)


@given(schedules(), st.integers(2, 4))
def test_the_curve_does_not_depend_on_the_number_of_steps_per_epoch(
    case: tuple[dict[str, Any], int], finer: int
) -> None:
    """The curve is a function of epochs: at the start of a step, more steps per epoch give the same rate."""
    scheduler, steps = case
    warmup = scheduler["warmup_epochs"] * steps
    step = scheduler["num_epochs"] * steps - 1
    assume(step >= warmup)
    assume((scheduler["num_epochs"] - scheduler["warmup_epochs"]) * steps >= 1)
    finest = learning_rate(step * finer, scheduler, steps * finer)
    assert finest == pytest.approx(learning_rate(step, scheduler, steps), rel=1e-6, abs=1e-12)
