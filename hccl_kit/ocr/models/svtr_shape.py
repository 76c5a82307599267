"""The shape of an SVTR backbone in MindOCR's keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from hccl_kit.base.errors import KitError

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
