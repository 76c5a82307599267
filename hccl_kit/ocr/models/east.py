"""EAST: text detection by a score and a rectangle at every pixel of the map.

After Zhou et al. 2017, "EAST: An Efficient and Accurate Scene Text Detector", with MindOCR's head, which is
deeper than the paper's. Parameters have MindOCR's names, so that its checkpoints fit.
"""

from __future__ import annotations

from math import pi

from mindspore import Tensor, nn, ops

from hccl_kit.ocr.models.bilinear import CORNERS, bilinear
from hccl_kit.ocr.models.fpn import convolution

FARTHEST = 512
"""Largest distance to an edge of the text, in pixels."""
MIDDLE, NARROW = 128, 64
"""Channels of the head."""


class EASTFPN(nn.Cell):
    """Four maps (N, channels[i], H/s, W/s), s = 4, 8, 16, 32, to one (N, out_channels, H/4, W/4).

    The coarsest is resized to the next finer one and concatenated, a convolution reduces the channels, and so on.
    """

    def __init__(self, channels: tuple[int, ...], *, out_channels: int) -> None:
        super().__init__()
        self.out_channels = out_channels
        one, two, three, four = channels
        self._block(1, three + four, four // 4, 1)
        self._block(2, four // 4, four // 4, 3)
        self._block(3, two + four // 4, three // 4, 1)
        self._block(4, three // 4, three // 4, 3)
        self._block(5, one + three // 4, two // 4, 1, bias=False)
        self._block(6, two // 4, two // 4, 3)
        self._block(7, two // 4, out_channels, 3)

    def _block(self, number: int, before: int, after: int, kernel: int, *, bias: bool = True) -> None:
        setattr(self, f"conv{number}", convolution(before, after, kernel, bias=bias))
        setattr(self, f"bn{number}", nn.BatchNorm2d(after))

    def construct(self, features: tuple[Tensor, ...]) -> Tensor:
        one, two, three, four = features
        joined = ops.relu(self.bn1(self.conv1(_joined(four, three))))
        joined = ops.relu(self.bn2(self.conv2(joined)))
        joined = ops.relu(self.bn3(self.conv3(_joined(joined, two))))
        joined = ops.relu(self.bn4(self.conv4(joined)))
        joined = ops.relu(self.bn5(self.conv5(_joined(joined, one))))
        joined = ops.relu(self.bn6(self.conv6(joined)))
        return ops.relu(self.bn7(self.conv7(joined)))


def _joined(coarse: Tensor, fine: Tensor) -> Tensor:
    return ops.concat((bilinear(coarse, fine.shape[2], fine.shape[3], keeps=CORNERS), fine), 1)


class EASTHead(nn.Cell):
    """Features (N, C, H/4, W/4) to maps (N, 6, H/4, W/4): score, distances to the edges, angle.

    The score is from 0 to 1; the distances to the upper, lower, left and right edge are pixels of the image, from 0 to
    512; the angle is radians from -pi/2 to pi/2.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        for branch in (1, 2, 3):
            self._block(f"branch{branch}_det_", 1, channels, MIDDLE)
            self._block(f"branch{branch}_det_", 2, MIDDLE, NARROW)
        self.conv1 = convolution(NARROW, 1, 1)
        self.conv2 = convolution(NARROW, 4, 1)
        self.conv3 = convolution(NARROW, 1, 1)

    def _block(self, prefix: str, number: int, before: int, after: int) -> None:
        setattr(self, f"{prefix}conv{number}", convolution(before, after, 3, bias=True))
        setattr(self, f"{prefix}bn{number}", nn.BatchNorm2d(after))

    def construct(self, features: Tensor) -> Tensor:
        score = ops.relu(self.branch1_det_bn1(self.branch1_det_conv1(features)))
        score = self.conv1(ops.relu(self.branch1_det_bn2(self.branch1_det_conv2(score))))
        far = ops.relu(self.branch2_det_bn1(self.branch2_det_conv1(features)))
        far = self.conv2(ops.relu(self.branch2_det_bn2(self.branch2_det_conv2(far))))
        angle = ops.relu(self.branch3_det_bn1(self.branch3_det_conv1(features)))
        angle = self.conv3(ops.relu(self.branch3_det_bn2(self.branch3_det_conv2(angle))))
        return ops.concat((ops.sigmoid(score), ops.sigmoid(far) * FARTHEST, (ops.sigmoid(angle) - 0.5) * pi), 1)
