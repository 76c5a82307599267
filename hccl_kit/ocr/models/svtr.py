"""The shape of an SVTR backbone in MindOCR's keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import sqrt
from typing import Any

import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.config import options_of
from hccl_kit.ocr.models.dropout import Dropout, DropPath
from hccl_kit.ocr.models.mobilenet_v3 import HardSwish
from hccl_kit.ocr.models.network import CTCHead
from hccl_kit.ocr.models.tps import rectifier

STRIDE = 4
"""Side of a patch."""
STAGES = 3
LOCAL, GLOBAL = "Local", "Global"
Pair = Sequence[int]


@dataclass(frozen=True, kw_only=True)
class SvtrShape:
    """SVTR-Tiny by default. Lists have a value for each of three stages, between which the height halves.

    The last three keys have one value each that is supported. Raises KitError if the values do not fit together.
    """

    img_size: Pair = (32, 100)
    """Height and width of the images that reach the backbone."""
    embed_dim: Sequence[int] = (64, 128, 256)
    depth: Sequence[int] = (3, 6, 3)
    """Blocks of each stage."""
    num_heads: Sequence[int] = (2, 4, 8)
    mixer: Sequence[str] = (LOCAL,) * 6 + (GLOBAL,) * 6
    """For each block: Local mixes the patches in a window, Global all patches."""
    local_mixer: Sequence[Pair] = ((7, 11),) * STAGES
    """Height and width of the windows, in patches, odd."""
    out_channels: int = 192
    drop_path_rate: float = 0.1
    """Share of the samples for which the last block is skipped; it grows linearly from 0 at the first block."""
    last_drop: float = 0.1
    patch_merging: str = "Conv"
    last_stage: bool = True
    prenorm: bool = False

    def __post_init__(self) -> None:
        if self.img_size[0] % 16 or self.img_size[1] % STRIDE:
            raise _wrong("img_size", self.img_size, "the height must be a multiple of 16, the width of 4")
        if any(dim % (2 * heads) for dim, heads in zip(self.embed_dim, self.num_heads, strict=True)):
            raise _wrong(
                "embed_dim", self.embed_dim, f"each is a multiple of twice its num_heads {list(self.num_heads)}"
            )
        if len(self.mixer) != sum(self.depth):
            raise _wrong("mixer", self.mixer, f"{sum(self.depth)} values are needed, each {LOCAL} or {GLOBAL}")
        if not all(size[0] % 2 and size[1] % 2 for size in self.local_mixer):
            raise _wrong("local_mixer", self.local_mixer, "height and width of each window are odd")

    def grid(self, stage: int) -> tuple[int, int]:
        """Rows and columns of patches in a stage."""
        return self.img_size[0] // STRIDE // 2**stage, self.img_size[1] // STRIDE

    def blocks(self, stage: int) -> range:
        """The numbers of the blocks of a stage, counted over the network."""
        ends = [0, *accumulate(self.depth)]
        return range(ends[stage], ends[stage + 1])

    def drop_path(self, block: int) -> float:
        """The share of the samples for which a block is skipped."""
        return self.drop_path_rate * block / max(1, sum(self.depth) - 1)


def _wrong(key: str, found: object, accepted: str) -> KitError:
    return KitError(
        "ocr.svtr-shape.model-backbone",
        "model.backbone.{key} is {value}: {accepted}",
        fix="leave it out for SVTR-Tiny",
        key=key,
        value=found,
        accepted=accepted,
    )


MLP_RATIO = 4


def window(grid: Pair, size: Pair) -> NDArray[np.float32]:
    """The attention mask between the patches of a grid: 0 inside a window around each patch, -inf outside.

    Shape (P, P) for P patches, row by row; `size` is odd.
    """
    rows, columns = np.divmod(np.arange(grid[0] * grid[1]), grid[1])
    high = np.abs(rows[:, None] - rows) <= size[0] // 2
    wide = np.abs(columns[:, None] - columns) <= size[1] // 2
    return np.where(high & wide, 0, -np.inf).astype(np.float32)


class Mixer(nn.Cell):
    """Patches (N, P, C) to patches (N, P, C) by attention with `heads` heads; `mask` (P, P) is added to its logits."""

    def __init__(self, width: int, heads: int, mask: NDArray[np.float32] | None) -> None:
        super().__init__()
        self.width, self.heads = width, heads
        self.scale = 1 / sqrt(width // heads)
        self.qkv = nn.Dense(width, 3 * width)
        self.proj = nn.Dense(width, width)
        self.mask = None if mask is None else Tensor(mask)

    def construct(self, x: Tensor) -> Tensor:
        patches = x.shape[1]
        each = (-1, patches, 3, self.heads, self.width // self.heads)
        qkv = ops.transpose(ops.reshape(self.qkv(x), each), (2, 0, 3, 1, 4))
        logits = ops.matmul(qkv[0] * self.scale, ops.transpose(qkv[1], (0, 1, 3, 2)))
        if self.mask is not None:
            logits = logits + ops.cast(self.mask, logits.dtype)
        mixed = ops.matmul(ops.softmax(logits, -1), qkv[2])
        return self.proj(ops.reshape(ops.transpose(mixed, (0, 2, 1, 3)), (-1, patches, self.width)))


class Mlp(nn.Cell):
    """Two dense layers for each patch."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc1 = nn.Dense(width, MLP_RATIO * width)
        self.fc2 = nn.Dense(MLP_RATIO * width, width)
        self.act = nn.GELU()

    def construct(self, x: Tensor) -> Tensor:
        return self.fc2(self.act(self.fc1(x)))


class Block(nn.Cell):
    """Mixing between the patches, then a perceptron for each, both with a residual connection."""

    def __init__(self, width: int, heads: int, mask: NDArray[np.float32] | None, *, drop_path: float) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm((width,), epsilon=1e-6)
        self.mixer = Mixer(width, heads, mask)
        self.norm2 = nn.LayerNorm((width,), epsilon=1e-6)
        self.mlp = Mlp(width)
        self.drop_mixer, self.drop_mlp = DropPath(drop_path), DropPath(drop_path)

    def construct(self, x: Tensor) -> Tensor:
        x = x + self.drop_mixer(self.mixer(self.norm1(x)))
        return x + self.drop_mlp(self.mlp(self.norm2(x)))


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
