"""The loss of EAST: against the reference, against its definition in float64, and its properties."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from mindspore import Tensor, ops
from numpy.typing import NDArray

from hccl_kit.ocr.losses.pages import EASTLoss
from tests.ocr.reference import reference_arrays

pytestmark = pytest.mark.train

Arrays = tuple[NDArray[np.float32], ...]


def arrays(seed: int = 0) -> Arrays:
    """Maps, scores, geometry and the ignore mask."""
    draw = np.random.default_rng(seed)
    score = draw.uniform(0.01, 0.99, (2, 1, 8, 10))
    found, truth = (
        np.concatenate([draw.uniform(0, 60, (2, 4, 8, 10)), draw.uniform(-0.7, 0.7, (2, 1, 8, 10))], axis=1)
        for _ in range(2)
    )
    scores, ignored = draw.random((2, 1, 8, 10)) < 0.3, draw.random((2, 1, 8, 10)) < 0.1
    scores &= ~ignored
    return tuple(a.astype(np.float32) for a in (np.concatenate([score, found], axis=1), scores, truth, ignored))


@cache
def loss(**options: Any) -> EASTLoss:
    """A shared cell with these options, which is compiled only once."""
    return EASTLoss(**options)


def loss_of(values: Arrays, **options: Any) -> float:
    return float(loss(**options)(*map(Tensor, values)).asnumpy())


def expected(values: Arrays, *, geometric_iou: bool) -> float:
    maps, scores, truth, ignored = (a.astype(np.float64) for a in values)
    score = maps[:, :1] * (1 - ignored)
    dice = 1 - 2 * (scores * score).sum() / (scores.sum() + score.sum() + 1e-5)
    found, far = maps[:, 1:5], truth[:, :4]

    def area(d: NDArray[np.float64]) -> Any:
        upper, lower, left, right = d.transpose(1, 0, 2, 3)
        return (upper + lower) * (left + right) if geometric_iou else (upper + left) * (lower + right)

    both = area(np.minimum(found, far))
    iou = (both + 1) / (area(found) + area(far) - both + 1)
    off = 10 * (1 - np.cos(maps[:, 5] - truth[:, 4])) - np.log(iou)
    return float(dice + (off * scores[:, 0]).sum() / scores.sum())


def test_the_loss_matches_the_reference() -> None:
    values = reference_arrays("loss_east.npz")
    maps = np.concatenate([values["pred_score"], values["pred_geo"]], axis=1)
    found = loss_of((maps, values["gt_score"], values["gt_geo"], values["mask"]))
    assert found == pytest.approx(float(values["loss"]), rel=1e-5)


@pytest.mark.parametrize("geometric_iou", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_loss_matches_its_definition(seed: int, geometric_iou: bool) -> None:
    values = arrays(seed)
    found = loss_of(values, geometric_iou=geometric_iou)
    assert found == pytest.approx(expected(values, geometric_iou=geometric_iou), rel=1e-5)


def test_ignored_texts_and_negatives_of_the_shape_have_no_gradient() -> None:
    values = arrays()
    gradient = ops.grad(EASTLoss(), 0)(*map(Tensor, values)).asnumpy()
    _, scores, _, ignored = values
    assert not gradient[:, :1][ignored > 0].any()
    assert not (gradient[:, 1:] * (1 - scores)).any()
    assert (gradient[:, :1][ignored == 0] != 0).all()


def test_a_batch_without_text_has_a_finite_loss() -> None:
    maps, scores, truth, ignored = arrays()
    assert np.isfinite(loss_of((maps, np.zeros_like(scores), truth, ignored)))
