"""The learning rate: a straight line up, half a cosine down, and never nothing."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hccl_kit.ocr.schedule import learning_rate


def section(**values: Any) -> dict[str, Any]:
    return {
        "scheduler": "warmup_cosine_decay",
        "lr": 0.004,
        "min_lr": 0.0,
        "num_epochs": 15,
        "warmup_epochs": 2,
        "decay_epochs": None,
        **values,
    }


def rates(scheduler: dict[str, Any], steps_per_epoch: int) -> list[float]:
    return [learning_rate(n, scheduler, steps_per_epoch) for n in range(scheduler["num_epochs"] * steps_per_epoch)]


@st.composite
def schedules(draw: st.DrawFn, *, whole: bool = False) -> tuple[dict[str, Any], int]:
    """A warm-up that ends before the last epoch, perhaps inside an epoch or a step, and a cosine over the rest."""
    epochs = draw(st.integers(1, 12))
    warmup = draw(st.integers(0, epochs - 1) if whole else st.floats(0, epochs - 0.01, allow_subnormal=False))
    lr = draw(st.floats(1e-6, 10))
    decay = draw(st.sampled_from([None, epochs - warmup]))
    return section(lr=lr, num_epochs=epochs, warmup_epochs=warmup, decay_epochs=decay), draw(st.integers(1, 9))


@given(schedules())
def test_every_step_moves_the_weights(case: tuple[dict[str, Any], int]) -> None:
    assert all(rate > 0 for rate in rates(*case))


@given(schedules())
def test_lr_is_the_highest_rate(case: tuple[dict[str, Any], int]) -> None:
    scheduler, steps = case
    assert max(rates(scheduler, steps)) <= scheduler["lr"]


@given(schedules(whole=True))
def test_the_warm_up_is_a_line_and_meets_the_cosine_at_lr(case: tuple[dict[str, Any], int]) -> None:
    scheduler, steps = case
    warmup = scheduler["warmup_epochs"] * steps
    all_rates = rates(scheduler, steps)
    for step in range(warmup):
        assert all_rates[step] == pytest.approx(scheduler["lr"] * (step + 1) / warmup)
    assert all_rates[warmup] == scheduler["lr"]
    if warmup:
        assert all_rates[warmup - 1] == scheduler["lr"]


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


def test_the_cosine_is_half_way_in_the_middle() -> None:
    assert learning_rate(6, section(lr=1.0, min_lr=0.2, num_epochs=4, warmup_epochs=2), 2) == pytest.approx(0.6)


def test_decay_epochs_may_end_before_the_last_epoch() -> None:
    short = section(lr=1.0, min_lr=0.1, num_epochs=10, warmup_epochs=0, decay_epochs=2)
    assert learning_rate(4, short, 2) == pytest.approx(0.1)
    assert learning_rate(19, short, 2) == pytest.approx(0.1)


@given(st.integers(0, 10**6), st.integers(1, 1000))
def test_constant_is_constant(step: int, steps_per_epoch: int) -> None:
    assert learning_rate(step, section(scheduler="constant", warmup_epochs=2), steps_per_epoch) == 0.004


@given(schedules(), st.integers(2, 4))
def test_finer_epochs_draw_the_same_curve(case: tuple[dict[str, Any], int], finer: int) -> None:
    """The curve belongs to the epochs: where a cosine step starts, more steps an epoch give the same rate."""
    scheduler, steps = case
    warmup = scheduler["warmup_epochs"] * steps
    step = scheduler["num_epochs"] * steps - 1
    assume(step >= warmup)
    assume((scheduler["num_epochs"] - scheduler["warmup_epochs"]) * steps >= 1)
    finest = learning_rate(step * finer, scheduler, steps * finer)
    assert finest == pytest.approx(learning_rate(step, scheduler, steps), rel=1e-6, abs=1e-12)
