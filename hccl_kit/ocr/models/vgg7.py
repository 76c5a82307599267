"""VGG7: a backbone of seven convolutions for a line of text.

After Shi, Bai, Yao 2015, "An End-to-End Trainable Neural Network for Image-based Sequence Recognition", table 1, in the
variant that MindOCR trains: normalisation after convolutions 3, 5 and 7, and the last two poolings are one column wide.
Parameters are named as there.
"""

from __future__ import annotations

from mindspore import Tensor, nn, ops
from mindspore.common.initializer import Normal

from hccl_kit.ocr.models.network import MaxPool

HEIGHT, STRIDE = 32, 4
"""Images are 32 pixels high; four columns make one time step."""


class Unit(nn.Cell):
    """A convolution with bias, an optional normalisation, an optional max pooling, and ReLU.

    ReLU commutes with the maximum and follows it, where maps are smaller.
    """

    def __init__(
        self, before: int, after: int, *, kernel: int = 3, norm: bool = False, pool: nn.Cell | None = None
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(
            before,
            after,
            kernel,
            pad_mode="pad",
            padding=1 if kernel == 3 else 0,
            has_bias=True,
            # MindOCR truncates its normal distribution, but at a hundred deviations.
            weight_init=Normal(0.02),
            bias_init=Normal(0.01),
        )
        self.bn = nn.BatchNorm2d(after, eps=1e-4, momentum=0.9) if norm else nn.Identity()
        self.pool = pool or nn.Identity()

    def construct(self, x: Tensor) -> Tensor:
        return ops.relu(self.pool(self.bn(self.conv(x))))


class Vgg7(nn.Cell):
    """Images (N, 3, 32, W) to features (N, 512, 1, W/4 - 1)."""

    out_channels = 512

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = Unit(3, 64, pool=MaxPool())
        self.conv2 = Unit(64, 128, pool=MaxPool())
        self.conv3 = Unit(128, 256, norm=True)
        self.conv4 = Unit(256, 256, pool=MaxPool(rows_only=True))
        self.conv5 = Unit(256, 512, norm=True)
        self.conv6 = Unit(512, 512, pool=MaxPool(rows_only=True))
        self.conv7 = Unit(512, 512, kernel=2, norm=True)

    def construct(self, images: Tensor) -> Tensor:
        x = self.conv4(self.conv3(self.conv2(self.conv1(images))))
        return self.conv7(self.conv6(self.conv5(x)))


def sequence_length(width: int) -> int:
    """The number of time steps for images that are `width` wide: the last convolution has a kernel of two columns."""
    return width // STRIDE - 1
