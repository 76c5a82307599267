"""SVTR: patches of a line of text are mixed by attention, locally first and globally later.

After Du, Chen, Jia, Yin, Zheng, Li, Du, Jiang 2022, "SVTR: Scene Text Recognition with a Single Visual Model".
Parameters have MindOCR's names, so that its checkpoints fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from mindspore import Parameter, Tensor, nn, ops

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.config import options_of
from hccl_kit.ocr.models.ctc_head import CTCHead
from hccl_kit.ocr.models.dropout import Dropout
from hccl_kit.ocr.models.mobilenet_v3 import HardSwish
from hccl_kit.ocr.models.svtr_blocks import Block, window
from hccl_kit.ocr.models.svtr_shape import LOCAL, STRIDE, Pair, SvtrShape
from hccl_kit.ocr.models.tps import rectifier


class Patch(nn.Cell):
    """A 3x3 convolution that halves height and width, its normalisation and GELU."""

    in_row = ("conv", "norm")

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(before, after, 3, stride=2, pad_mode="pad", padding=1, has_bias=False)
        self.norm = nn.BatchNorm2d(after)
        self.act = nn.GELU()

    def construct(self, x: Tensor) -> Tensor:
        return self.act(self.norm(self.conv(x)))


class PatchEmbed(nn.Cell):
    """Images (N, 3, H, W) to patches (N, H W / 16, width)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.proj = nn.SequentialCell(Patch(3, width // 2), Patch(width // 2, width))

    def construct(self, images: Tensor) -> Tensor:
        return ops.transpose(ops.flatten(self.proj(images), start_dim=2), (0, 2, 1))


class SubSample(nn.Cell):
    """Patches (N, P, before) of a grid to half as many (N, P/2, after): a convolution halves the height."""

    def __init__(self, before: int, after: int, *, grid: Pair) -> None:
        super().__init__()
        self.map = (-1, before, *grid)
        self.conv = nn.Conv2d(before, after, 3, stride=(2, 1), pad_mode="pad", padding=1, has_bias=False)
        self.norm = nn.LayerNorm((after,), epsilon=1e-7)

    def construct(self, x: Tensor) -> Tensor:
        x = self.conv(ops.reshape(ops.transpose(x, (0, 2, 1)), self.map))
        return self.norm(ops.transpose(ops.flatten(x, start_dim=2), (0, 2, 1)))


class SVTRNet(nn.Cell):
    """Images (N, 3, *img_size) to features (N, out_channels, 1, width / 4)."""

    def __init__(self, shape: SvtrShape) -> None:
        super().__init__()
        one, two, three = shape.embed_dim
        rows, columns = shape.grid(0)
        self.out_channels = shape.out_channels
        self.pos_embed = Parameter(Tensor(np.zeros((1, rows * columns, one), np.float32)), name="pos_embed")
        self.patch_embed = PatchEmbed(one)
        self.blocks1 = _stage(shape, 0)
        self.sub_sample1 = SubSample(one, two, grid=shape.grid(0))
        self.blocks2 = _stage(shape, 1)
        self.sub_sample2 = SubSample(two, three, grid=shape.grid(1))
        self.blocks3 = _stage(shape, 2)
        self.last_conv = nn.Conv2d(three, shape.out_channels, 1, has_bias=False)
        self.norm = nn.LayerNorm((three,), epsilon=1e-6)
        self.map = (-1, *shape.grid(2), three)
        self.activation = HardSwish()
        self.dropout = Dropout(shape.last_drop)

    def construct(self, images: Tensor) -> Tensor:
        x = self.blocks1(self.patch_embed(images) + self.pos_embed)
        x = self.blocks2(self.sub_sample1(x))
        x = self.norm(self.blocks3(self.sub_sample2(x)))
        line = ops.transpose(ops.mean(ops.reshape(x, self.map), 1, True), (0, 3, 1, 2))
        return self.dropout(self.activation(self.last_conv(line)))


def _stage(shape: SvtrShape, stage: int) -> nn.SequentialCell:
    width, heads = shape.embed_dim[stage], shape.num_heads[stage]
    local = window(shape.grid(stage), shape.local_mixer[stage])
    return nn.SequentialCell(
        *[
            Block(width, heads, local if shape.mixer[block] == LOCAL else None, drop_path=shape.drop_path(block))
            for block in shape.blocks(stage)
        ]
    )


class Img2Seq(nn.Cell):
    """Features (N, C, 1, T) to a sequence (T, N, C)."""

    def construct(self, features: Tensor) -> Tensor:
        return ops.transpose(ops.squeeze(features, 2), (2, 0, 1))


class Svtr(nn.Cell):
    """Images (N, 3, H, W) to logits (T, N, classes) in training, else to probabilities (N, T, classes).

    With a rectifier the images may have any size, without one they must have the backbone's `img_size`.
    """

    def __init__(self, transform: nn.Cell, backbone: nn.Cell, neck: nn.Cell, head: nn.Cell) -> None:
        super().__init__()
        self.transform = transform
        self.backbone = backbone
        self.neck = neck
        self.head = head

    def construct(self, images: Tensor) -> Tensor:
        return self.head(self.neck(self.backbone(self.transform(images))))


def sequence_length(width: int) -> int:
    """The number of time steps for images that reach the backbone with its `img_size`, `width` wide."""
    return width // STRIDE


def build(model: Mapping[str, Any]) -> Svtr:
    """The network of a section `model`. Raises KitError if its values do not fit together."""
    shape = SvtrShape(**options_of(model["backbone"]))
    transform = rectifier(**options_of(model["transform"])) if model.get("transform") else nn.Identity()
    if model.get("transform") and tuple(transform.outputs) != tuple(shape.img_size):
        raise KitError(
            "ocr.svtr.model-transform-tps",
            "model.transform.tps_outputsize {outputs} must equal model.backbone.img_size {img_size}",
            fix="set both to the same height and width",
            outputs=list(transform.outputs),
            img_size=list(shape.img_size),
        )
    return Svtr(transform, SVTRNet(shape), Img2Seq(), CTCHead(shape.out_channels, **options_of(model["head"])))
