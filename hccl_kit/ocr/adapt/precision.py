"""Mixed precision: which cells of a network compute in float16, and the loss scale against underflow of gradients.

Weights, gradients, the optimizer and the loss are float32 at every level (Micikevicius et al., Mixed Precision
Training, 2018).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import mindspore as ms
from mindspore import Parameter, Tensor, nn

from hccl_kit.ocr.adapt import freeze

_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Conv1dTranspose, nn.Conv2dTranspose, nn.Conv3dTranspose)
_HALF_AT_O1 = (*_CONVOLUTIONS, nn.Dense)
_WHOLE_AT_O2 = (*freeze.KINDS, nn.LayerNorm, nn.GroupNorm, nn.LSTM)
_WHOLE_AT_O3 = (*freeze.KINDS, nn.LSTM)

LOWEST, HIGHEST = 1.0, 2.0**24
"""A scale below 1 would increase underflow; no gradient in float16 needs more than the highest."""
PATIENCE = 50
"""Maximum number of consecutive skipped updates: after more, the scale is not the cause of the overflows."""


def mix(network: nn.Cell, level: str, target: str) -> str | None:
    """Let `network` compute in float16 by `system.amp_level`; returns a note if the level has no effect.

    O0: nothing. O1: convolutions and dense layers. O2: all cells but normalisation, LSTM and those explicitly set to
    float32 (`to_float`). O3: layer and group normalisation too, but not batch normalisation. On CPU every level is O0:
    float16 works there, but a step takes twice as long (measured).
    """
    if level == "O0":
        return None
    if target != "Ascend":
        return f"system.amp_level {level} is for Ascend; on {target} the network computes in float32, as at O0"
    cast(network, level)
    return None


def cast(network: nn.Cell, level: str) -> None:
    """Set the cells of `network` to the precision of `level`, O1 to O3."""
    cells = [cell for _, cell in network.cells_and_names()]
    if level == "O1":
        for cell in cells:
            if isinstance(cell, _HALF_AT_O1):
                cell.to_float(ms.float16)
        return
    kinds = _WHOLE_AT_O2 if level == "O2" else _WHOLE_AT_O3
    whole = [cell for cell in cells if isinstance(cell, kinds) or getattr(cell, "fp32", False)]
    network.to_float(ms.float16)
    for cell in whole:
        cell.to_float(ms.float32)


@dataclass(frozen=True, slots=True)
class Scaling:
    """The section `loss_scaler`, and `system.drop_overflow_update`.

    A dynamic scale is divided by `factor` at an overflow, and multiplied by it after `window` updates without one.
    """

    dynamic: bool = False
    initial: float = 1.0
    factor: float = 2.0
    window: int = 1000
    drop: bool = False

    @classmethod
    def of(cls, section: Mapping[str, Any], *, drop_overflow_update: bool) -> Scaling:
        """The scaling of a section `loss_scaler`."""
        return cls(
            dynamic=section["type"] == "dynamic",
            initial=float(section["loss_scale"]),
            factor=float(section["scale_factor"]),
            window=section["scale_window"],
            drop=drop_overflow_update,
        )


@dataclass(frozen=True, slots=True)
class Scale:
    """The loss scale of a step: its `value`, consecutive `good` and `bad` updates, and all `skipped` ones.

    Good updates are counted for a dynamic scale only, so that a fixed one need not be written at every step.
    """

    value: float
    good: int = 0
    bad: int = 0
    skipped: int = 0

    def may_skip(self, scaling: Scaling) -> bool:
        """Whether an overflow now skips the update instead of ending the run."""
        lower = scaling.dynamic and self.value > LOWEST
        return self.bad < PATIENCE and (lower or (scaling.drop and not scaling.dynamic))

    def after(self, scaling: Scaling, *, overflow: bool) -> Scale:
        """The scale of the next step."""
        if overflow:
            value = max(self.value / scaling.factor, LOWEST) if scaling.dynamic else self.value
            return Scale(value, 0, self.bad + 1, self.skipped + 1)
        if not scaling.dynamic:
            return replace(self, bad=0)
        if self.good + 1 >= scaling.window:
            return replace(self, value=min(self.value * scaling.factor, HIGHEST), good=0, bad=0)
        return replace(self, good=self.good + 1, bad=0)


class LossScale(nn.Cell):
    """Keeps a Scale between two steps in parameters, so that checkpoints hold it."""

    def __init__(self, scaling: Scaling) -> None:
        super().__init__(auto_prefix=False)
        self.scaling = scaling
        self.scale_value = Parameter(Tensor(scaling.initial, ms.float32), name="loss_scale", requires_grad=False)
        self.counts = Parameter(Tensor([0, 0, 0], ms.int32), name="loss_scale_counts", requires_grad=False)

    def read(self) -> Scale:
        """The scale of this step."""
        return Scale(float(self.scale_value.asnumpy()), *map(int, self.counts.asnumpy()))

    def write(self, scale: Scale) -> None:
        """Set the scale of the next step. It takes as long as a kernel of a small network (measured)."""
        self.scale_value.set_data(Tensor(scale.value, ms.float32))
        self.counts.set_data(Tensor([scale.good, scale.bad, scale.skipped], ms.int32))
