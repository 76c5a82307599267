"""Both forms of a network have the same outputs, and conversion back restores the values."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mindspore import Tensor, nn

from hccl_kit.ocr.models.db import double
from hccl_kit.ocr.models.ppocr import forms, lines, pages
from hccl_kit.ocr.models.ppocr.convolutions import Dilated, Normed, NormedDouble, RepDepthwise, convolution
from hccl_kit.ocr.models.ppocr.lcnet_v3 import Branched
from tests.ocr.models.ppocr import test_pages
from tests.ocr.models.ppocr.test_lines import MOBILE, SMALL, TINY

pytestmark = pytest.mark.train

CELLS: dict[str, tuple[Callable[[], nn.Cell], Callable[[], nn.Cell]]] = {
    "normed": (lambda: Normed(4, 6, 3, stride=(2, 1)), lambda: convolution(4, 6, 3, stride=(2, 1))),
    "even": (lambda: Normed(4, 6, 2), lambda: convolution(4, 6, 2)),
    "depthwise": (lambda: RepDepthwise(4), lambda: convolution(4, 4, 3, group=4)),
    "sum": (lambda: Branched(4, 4, 5, stride=1, group=4), lambda: convolution(4, 4, 5, group=4)),
    "sum with stride": (
        lambda: Branched(4, 4, 3, stride=(1, 2), group=4),
        lambda: convolution(4, 4, 3, stride=(1, 2), group=4),
    ),
    "pointwise": (lambda: Branched(4, 4, 1, stride=1, group=1), lambda: convolution(4, 4, 1)),
    "biased": (lambda: Normed(4, 6, 3, bias=True), lambda: convolution(4, 6, 3)),
    "doubled": (lambda: NormedDouble(4, 6), lambda: double(4, 6)),
    **{f"large {side}": (partial(Dilated, 4, side), partial(convolution, 4, 4, side, group=4)) for side in (3, 9, 13)},
    "wider": (lambda: Branched(4, 6, 1, stride=1, group=1), lambda: convolution(4, 6, 1)),
}


class Holder(nn.Cell):
    """A cell with a name, like in a network."""

    def __init__(self, cell: nn.Cell) -> None:
        super().__init__()
        self.cell = cell

    def construct(self, x: Tensor) -> Tensor:
        return self.cell(x)


@cache
def cells(name: str) -> tuple[Holder, ...]:
    """Both forms, shared by all examples so that they are compiled once."""
    return tuple(Holder(make()).set_train(False) for make in CELLS[name])


def randomise(network: nn.Cell, generator: np.random.Generator) -> forms.Arrays:
    """Set every parameter; variances are positive."""
    for parameter in network.get_parameters():
        array = generator.standard_normal(parameter.shape).astype(np.float32)
        parameter.set_data(Tensor(array**2 + 0.1 if parameter.name.endswith("variance") else array))
    return {parameter.name: parameter.asnumpy() for parameter in network.get_parameters()}


def set_all(network: nn.Cell, values: forms.Arrays) -> None:
    """Set every parameter of the network; all values must be used."""
    parameters = {parameter.name: parameter for parameter in network.get_parameters()}
    assert parameters.keys() == values.keys()
    for name, parameter in parameters.items():
        parameter.set_data(Tensor(values[name]))


@pytest.mark.parametrize("name", CELLS)
@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_folded_cell_matches_its_branches(name: str, seed: int) -> None:
    generator = np.random.default_rng(seed)
    branched, plain = cells(name)
    set_all(plain, forms.folded(randomise(branched, generator)))
    images = Tensor(generator.standard_normal((2, 4, 7, 9)).astype(np.float32))
    expected = branched(images).asnumpy()
    assert np.abs(plain(images).asnumpy() - expected).max() < 1e-5 * max(1, np.abs(expected).max())


@pytest.mark.parametrize("model", [TINY, SMALL, MOBILE], ids=["tiny", "small", "mobile"])
def test_folding_gives_the_parameters_of_the_folded_network(model: dict[str, dict[str, Any]]) -> None:
    head = {"name": "CTCHead", "out_channels": 5}
    branched = lines.build({**model, "head": head, "backbone": {**model["backbone"], "branches": True}})
    folded = forms.folded({parameter.name: parameter.asnumpy() for parameter in branched.get_parameters()})
    plain = {parameter.name: parameter for parameter in lines.build({**model, "head": head}).get_parameters()}
    assert {name: array.shape for name, array in folded.items()} == {name: p.shape for name, p in plain.items()}


def test_unfolding_and_folding_restores_the_values() -> None:
    head = {"name": "CTCHead", "out_channels": 5}
    backbone = {**TINY["backbone"], "branches": True}
    plain = randomise(lines.build({**TINY, "head": head}), np.random.default_rng(0))
    wanted = {p.name: p for p in lines.build({**TINY, "head": head, "backbone": backbone}).get_parameters()}
    branched = forms.matching(plain, wanted)
    assert {name: branched[name].shape for name in wanted} == {name: p.shape for name, p in wanted.items()}
    back = forms.folded({name: branched[name] for name in wanted})
    assert back.keys() == plain.keys()
    assert max(np.abs(back[name] - array).max() for name, array in plain.items()) < 1e-5


@pytest.mark.parametrize("model", test_pages.ALL.values(), ids=test_pages.ALL)
def test_a_complete_detector_can_be_folded_and_unfolded(model: dict[str, dict[str, Any]]) -> None:
    """Including the branch of the threshold map; the folded backbone of PP-OCRv5 cannot be unfolded."""
    branched = pages.build({**model, "backbone": {**model["backbone"], "branches": True}})
    folded = forms.folded({parameter.name: parameter.asnumpy() for parameter in branched.get_parameters()})
    plain = {parameter.name: parameter for parameter in pages.build(model).get_parameters()}
    assert {name: array.shape for name, array in folded.items()} == {name: p.shape for name, p in plain.items()}
    if model["backbone"]["name"] != "det_pplcnet_v3":
        wanted = [parameter.name for parameter in branched.get_parameters()]
        again = forms.matching(folded, wanted)
        back = forms.folded({name: again[name] for name in wanted})
        assert max(np.abs(back[name] - array).max() for name, array in folded.items()) < 1e-5


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_with_inconsistent_shapes_is_not_folded(name: str) -> None:
    """A file may contain any shape under these names."""
    values = randomise(Holder(CELLS[name][0]()), np.random.default_rng(0))
    for key, array in values.items():
        if ".identity." in key or ".point." in key:
            continue  # these are optional
        shorter = array[:, 1:] if key.endswith(".up.weight") else array[1:]  # its outputs are on the second axis
        for other in (shorter, array[None], np.float32(1).reshape(())):
            changed = {**values, key: other}
            assert forms.folded(changed) == changed or forms.folded(changed).keys() == changed.keys()
