"""The loss of EAST, as in MindOCR: dice in place of the paper's balanced cross-entropy.

After Zhou et al. 2017, "EAST: An Efficient and Accurate Scene Text Detector", 3.4.
"""

from __future__ import annotations

import mindspore as ms
from mindspore import Tensor, nn, ops

ANGLE_SCALE = 10
EPS = 1e-5
UPPER, LOWER, LEFT, RIGHT = range(4)
PAIRS = {False: (UPPER, LEFT, LOWER, RIGHT), True: (UPPER, LOWER, LEFT, RIGHT)}


class EASTLoss(nn.Cell):
    """dice(score) + the mean over all text pixels of 10 (1 - cos(angle error)) - log(IoU of the rectangles).

    Inputs: maps (N, 6, H, W) of the head; scores (N, 1, H, W), 1 inside the texts; distances and angles (N, 5, H, W);
    ignored (N, 1, H, W), 1 for pixels that the loss ignores. Sums are over the whole batch. `geometric_iou` computes
    the area of a rectangle as height times width; the default is (upper + left) * (lower + right), as in MindOCR, which
    assumes another order of the distances.
    """

    def __init__(self, *, geometric_iou: bool = False) -> None:
        super().__init__()
        self.pairs = PAIRS[geometric_iou]

    def construct(self, maps: Tensor, scores: Tensor, geometry: Tensor, ignored: Tensor) -> Tensor:
        maps = maps.astype(ms.float32)
        score = maps[:, :1] * (1 - ignored)
        both = ops.reduce_sum(scores * score)
        dice = 1 - 2 * both / (ops.reduce_sum(scores) + ops.reduce_sum(score) + EPS)
        angle = 1 - ops.cos(maps[:, 5:] - geometry[:, 4:])
        off = ANGLE_SCALE * angle - ops.log(self._iou(maps[:, 1:5], geometry[:, :4]))
        return dice + ops.reduce_sum(off * scores) / ops.maximum(ops.reduce_sum(scores), 1.0)

    def _iou(self, boxes: Tensor, truth: Tensor) -> Tensor:
        """IoU of rectangles around the same pixel, (N, 1, H, W), with 1 added to both areas."""
        both = self._area(ops.minimum(boxes, truth))
        return (both + 1) / (self._area(boxes) + self._area(truth) - both + 1)

    def _area(self, far: Tensor) -> Tensor:
        one, two, three, four = self.pairs
        first, second = (
            far[:, one : one + 1] + far[:, two : two + 1],
            far[:, three : three + 1] + far[:, four : four + 1],
        )
        return first * second
