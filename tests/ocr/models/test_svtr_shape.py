"""The shape of an SVTR: its derivation, and invalid values."""

from typing import Any

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.models.svtr_shape import SvtrShape


def test_the_height_halves_from_stage_to_stage() -> None:
    shape = SvtrShape(img_size=[48, 64])
    assert [shape.grid(stage) for stage in range(3)] == [(12, 16), (6, 16), (3, 16)]


def test_every_block_belongs_to_one_stage() -> None:
    shape = SvtrShape()
    assert [list(shape.blocks(stage)) for stage in range(3)] == [[0, 1, 2], [3, 4, 5, 6, 7, 8], [9, 10, 11]]


def test_the_rate_of_stochastic_depth_grows_to_the_configured_one() -> None:
    shape = SvtrShape(drop_path_rate=0.22)
    assert [shape.drop_path(block) for block in range(12)] == pytest.approx([0.02 * block for block in range(12)])
    assert SvtrShape(depth=(1, 0, 0), mixer=("Local",)).drop_path(0) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"img_size": [40, 100]}, r"img_size is \[40, 100\]"),
        ({"img_size": [32, 102]}, "img_size"),
        ({"embed_dim": [64, 128, 250]}, "embed_dim"),
        ({"mixer": ["Local"]}, "12 values"),
        ({"local_mixer": [[7, 11], [6, 11], [7, 11]]}, "odd"),
    ],
)
def test_inconsistent_values_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(KitError, match=message) as refused:
        SvtrShape(**options)
    assert refused.value.hint
