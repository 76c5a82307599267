"""The loss scale: lowered at an overflow, raised after a window, bounded; and which cells compute in half precision."""

from dataclasses import replace
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mindspore import Tensor, nn

from hccl_kit.ocr.adapt import precision
from hccl_kit.ocr.adapt.precision import HIGHEST, LOWEST, PATIENCE, LossScale, Scale, Scaling
from tests.ocr.tiny import Normed, batch

DYNAMIC = Scaling(dynamic=True, initial=512.0, factor=2.0, window=3)


def follow(scaling: Scaling, overflows: list[bool]) -> list[Scale]:
    """The scale before every step and after the last."""
    scales = [Scale(scaling.initial)]
    for overflow in overflows:
        scales.append(scales[-1].after(scaling, overflow=overflow))
    return scales


def test_a_dynamic_scale_halves_at_an_overflow_and_doubles_after_the_window() -> None:
    found = [scale.value for scale in follow(DYNAMIC, [False, True, False, False, False, False, False, False])]
    assert found == [512, 512, 256, 256, 256, 512, 512, 512, 1024]


@given(st.lists(st.booleans(), max_size=200), st.booleans())
def test_skipped_steps_are_counted_and_the_scale_stays_in_bounds(overflows: list[bool], dynamic: bool) -> None:
    scales = follow(replace(DYNAMIC, dynamic=dynamic), overflows)
    assert scales[-1].skipped == sum(overflows)
    assert all(LOWEST <= scale.value <= HIGHEST for scale in scales)
    assert dynamic or {scale.value for scale in scales} == {512}


@pytest.mark.parametrize(("dynamic", "drop", "may"), [(False, False, 0), (False, True, PATIENCE), (True, False, 9)])
def test_the_number_of_consecutive_skips_is_limited(dynamic: bool, drop: bool, may: int) -> None:
    """512 can be halved nine times; a static scale is never lowered, so only the count limits it."""
    scaling = replace(DYNAMIC, dynamic=dynamic, drop=drop)
    scales = follow(scaling, [True] * 100)
    assert [scale.may_skip(scaling) for scale in scales] == [True] * may + [False] * (101 - may)


def test_the_configuration_section_is_read() -> None:
    section = {"type": "dynamic", "loss_scale": 512, "scale_factor": 2, "scale_window": 1000}
    assert Scaling.of(section, drop_overflow_update=True) == Scaling(True, 512.0, 2.0, 1000, True)
    assert not Scaling.of({**section, "type": "static"}, drop_overflow_update=False).dynamic


def test_a_scale_round_trips_through_its_parameters() -> None:
    loss_scale = LossScale(DYNAMIC)
    assert loss_scale.read() == Scale(512.0)
    loss_scale.write(Scale(4096.0, 7, 2, 31))
    assert loss_scale.read() == Scale(4096.0, 7, 2, 31)
    assert {p.name for p in loss_scale.get_parameters()} == {"loss_scale", "loss_scale_counts"}
    assert loss_scale.trainable_params() == []


class Mixed(nn.Cell):
    """A network with a cell of every kind that a level handles; it is never run."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.SequentialCell(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU())
        self.layer_norm = nn.LayerNorm((2,))
        self.neck = nn.LSTM(2, 2)
        self.head = nn.Dense(2, 2)
        self.exact = nn.Dense(2, 2).to_float(ms.float32)


HALF = {
    "O1": {"features.0", "head", "exact"},
    "O2": {"features.0", "features.2", "head"},
    "O3": {"features.0", "features.2", "head", "layer_norm"},
}


@pytest.mark.parametrize("level", HALF)
def test_a_level_casts_its_cells(level: str) -> None:
    network = Mixed()
    precision.cast(network, level)
    leaves = ("features.0", "features.1", "features.2", "layer_norm", "neck", "head", "exact")
    cells = dict(network.cells_and_names())
    assert {name for name in leaves if getattr(cells[name], "fp16", False)} == HALF[level] - (
        {"exact"} if level != "O1" else set()
    )


def outputs(level: str | None) -> Any:
    ms.set_seed(3)
    network = Normed()
    if level is not None:
        precision.cast(network, level)
    network.set_train(False)
    return network(Tensor(batch((2, 1, 4, 4)).images)).asnumpy()


@pytest.mark.parametrize("level", HALF)
def test_half_precision_is_close_to_full_precision_but_not_equal(level: str) -> None:
    whole, half = outputs(None), outputs(level)
    np.testing.assert_allclose(half.astype(np.float32), whole, rtol=2e-2, atol=2e-3)
    assert (half.astype(np.float32) != whole).any()


@pytest.mark.parametrize("level", ["O1", "O2", "O3"])
def test_on_cpu_nothing_is_cast_and_a_note_is_printed(level: str) -> None:
    network = Mixed()
    word = precision.mix(network, level, "CPU")
    assert word is not None
    assert f"amp_level {level} is for Ascend" in word
    assert not [name for name, cell in network.cells_and_names() if getattr(cell, "fp16", False)]


def test_o0_prints_nothing() -> None:
    assert precision.mix(Mixed(), "O0", "Ascend") is None
