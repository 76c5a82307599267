"""The compiled parts of a training step for gradients. All inputs and outputs are tensors on the device."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import mindspore as ms
import numpy as np
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops
from mindspore.ops import functional
from numpy.typing import NDArray

from hccl_kit.ocr.adapt.precision import LossScale, Scaling
from hccl_kit.ocr.data.loader import Batch
from hccl_kit.ocr.models import dropout
from hccl_kit.ocr.train.join import Gradients, Join
from hccl_kit.ocr.train.optimizer_rules import Update
from hccl_kit.ocr.train.weights_in_use import Ema, StartShare


class Compute(nn.Cell):
    """Inputs: a factor for the loss, images (N, C, H, W) and the targets of the loss.

    Outputs: the loss times the factor and its gradients, a tuple in the order of the trainable parameters. The plain
    loss is not among them: it would make the step of a small network up to 1.4 times as long on CPU (measured).
    """

    def __init__(self, network: nn.Cell, loss: nn.Cell) -> None:
        super().__init__(auto_prefix=False)  # parameters keep the names of the network
        self.keys = ParameterTuple(dropout.keys(network))  # registered: a kept graph takes only such parameters
        self.forward = _Forward(network, loss)
        self.differentiate = ops.value_and_grad(self.forward, None, network.trainable_params())

    def construct(self, factor: Tensor, images: Tensor, *targets: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        return self.differentiate(factor, images, *targets)


class _Forward(nn.Cell):
    def __init__(self, network: nn.Cell, loss: nn.Cell) -> None:
        super().__init__(auto_prefix=False)
        self.network = network
        self.loss = loss
        self.guided = getattr(network, "guided", False)  # teacher forcing

    def construct(self, factor: Tensor, images: Tensor, *targets: Tensor) -> Tensor:
        outputs = self.network(images, *targets) if self.guided else self.network(images)
        # The output of a network in mixed precision may be float16; losses take float32.
        prediction = functional.mixed_precision_cast(ms.float32, outputs)
        return self.loss(prediction, *targets) * factor


class Add(nn.Cell):
    """Inputs: two gradients of each parameter, one list after the other. Outputs: their sums."""

    def construct(self, *gradients: Tensor) -> tuple[Tensor, ...]:
        half = len(gradients) // 2
        sums: tuple[Tensor, ...] = ()
        for index in range(half):
            sums = (*sums, gradients[index] + gradients[half + index])
        return sums


class _Squares(nn.Cell):
    def construct(self, *gradients: Tensor) -> Tensor:
        sums: tuple[Tensor, ...] = ()
        for index in range(len(gradients)):
            sums = (*sums, ops.reduce_sum(ops.square(gradients[index])))
        return ops.stack(sums)


class Squares:
    """The sum of the squares of each of some gradients.

    On CPU without a graph: numpy sees the values where they are, and takes a seventh of the time (measured).
    """

    def __init__(self) -> None:
        self.on_cpu = ms.get_context("device_target") == "CPU"
        self.compiled = _Squares()

    def __call__(self, gradients: Sequence[Tensor]) -> NDArray[np.float32]:
        if self.on_cpu:
            with np.errstate(over="ignore"):  # the caller looks for what is not finite
                # Not by BLAS, whose threads would wait for more while MindSpore computes.
                return np.array([np.square(gradient.asnumpy()).sum() for gradient in gradients], np.float32)
        sums: NDArray[np.float32] = self.compiled(*gradients).asnumpy()
        return sums


@dataclass(frozen=True, slots=True)
class StepResult:
    """`loss` and gradient `norm` of the joint batch, equal on all ranks; seconds spent computing and communicating.

    `scale` is the loss scale of this step, `next_scale` that of the next one. `skipped`: the gradient overflowed, which
    a dynamic loss scale causes now and then, and the weights were not updated.
    """

    loss: float
    norm: float
    compute_s: float
    communication_s: float
    scale: float = 1.0
    next_scale: float = 1.0
    skipped: bool = False

    @property
    def finite(self) -> bool:
        """Whether loss and gradient are finite; if not, no rank has updated its weights."""
        return math.isfinite(self.norm) and math.isfinite(self.loss)


class TrainStep:
    """Runs the parts on one batch.

    `clip_norm` None: gradients are not clipped. `accumulate`: the equal parts in which the batch is computed, one after
    the other; the gradient is that of the whole batch if the loss is a mean over samples, and batch normalisation
    normalises each part separately. `join` is that of several ranks.
    """

    def __init__(
        self,
        network: nn.Cell,
        loss: nn.Cell,
        update: Update,
        *,
        clip_norm: float | None = None,
        accumulate: int = 1,
        scaling: Scaling | None = None,
        ema: Ema | None = None,
        start_share: StartShare | None = None,
        join: Join | None = None,
    ) -> None:
        self.network = network
        self.update = update
        self.clip_norm = clip_norm
        self.accumulate = accumulate
        self.loss_scale = LossScale(scaling or Scaling())
        self.ema = ema
        self.start_share = start_share
        self.join = join
        self.size = join.size if join is not None else 1
        self.compute = Compute(network, loss)
        self.dropouts = dropout.cells(network)
        self.add = Add()
        self.squares = Squares()
        self._idle: NDArray[np.bool_] | None = None

    @property
    def state(self) -> list[Parameter]:
        """The parameters of a checkpoint: weights, statistics, optimizer, loss scale, moving average."""
        cells = (self.network, self.update, self.loss_scale, *((self.ema,) if self.ema is not None else ()))
        return list({parameter.name: parameter for cell in cells for parameter in cell.get_parameters()}.values())

    @property
    def parts(self) -> dict[str, nn.Cell]:
        """All compiled cells but `compute`, by their names here. The shapes of their inputs never change."""
        ema = {"ema": self.ema} if self.ema is not None else {}
        return {"add": self.add, **(self.join.parts if self.join is not None else {}), "update": self.update, **ema}

    @contextmanager
    def weights_in_use(self) -> Iterator[None]:
        """Inside the with statement the network has the weights to evaluate and to keep.

        They are the moving average if there is one, and with a `start_share` the mean of that and the start.
        """
        with ExitStack() as stack:
            if self.ema is not None:
                stack.enter_context(self.ema.applied())
            if self.start_share is not None:
                stack.enter_context(self.start_share.applied())
            yield

    @property
    def without_gradient(self) -> list[str]:
        """The trainable parameters whose gradient was 0 in every step of this process."""
        names = [parameter.name for parameter in self.network.trainable_params()]
        return [] if self._idle is None else [name for name, idle in zip(names, self._idle, strict=True) if idle]

    def __call__(self, batch: Batch, rate: float, *, seed: Sequence[int] = (0,)) -> StepResult:
        """One step with learning rate `rate`; the weights are not updated if the gradient is not finite.

        `seed` is that of the dropouts, different for every step and rank.
        """
        started = time.perf_counter()
        if not self.network.training:
            self.network.set_train(True)  # visits all cells
        scale = self.loss_scale.read()
        loss, gradients = self._compute(batch, scale.value, np.random.default_rng(seed))
        communication_s = 0.0
        if self.join is not None:
            loss, gradients, communication_s = self.join(loss, gradients)
        squares = self.squares(gradients)
        times = scale.value * self.size  # the factor of loss and gradients over those of the joint batch
        norm = math.sqrt(float(squares.sum(dtype=np.float64))) / times
        joint_loss = float(loss.asnumpy()) / times
        overflow = not (math.isfinite(norm) and math.isfinite(joint_loss))
        skipped = overflow and math.isfinite(joint_loss) and scale.may_skip(self.loss_scale.scaling)
        if not overflow:
            self._idle = squares == 0 if self._idle is None else self._idle & (squares == 0)
            clip = min(1.0, self.clip_norm / (norm + 1e-6)) if self.clip_norm else 1.0
            self.update(Tensor(np.float32(clip / times)), Tensor(np.float32(rate)), *gradients)
            if self.ema is not None:
                self.ema()
        following = scale
        if skipped or not overflow:
            following = scale.after(self.loss_scale.scaling, overflow=overflow)
            if following != scale:
                self.loss_scale.write(following)
        compute_s = time.perf_counter() - started - communication_s
        return StepResult(joint_loss, norm, compute_s, communication_s, scale.value, following.value, skipped)

    def _compute(self, batch: Batch, scale: float, generator: np.random.Generator) -> tuple[Tensor, Gradients]:
        """The mean loss of the batch and its gradients, all times `scale`."""
        parts = self.accumulate
        count = len(batch.images) // parts
        factor = Tensor(np.float32(scale / parts))
        loss, gradients = Tensor(np.float32(0)), ()
        for part in range(parts):
            rows = slice(part * count, (part + 1) * count)
            dropout.draw(self.dropouts, generator)
            part_loss, more = self.compute(
                factor, Tensor(batch.images[rows]), *(Tensor(t[rows]) for t in batch.targets)
            )
            loss = loss + part_loss if parts > 1 else part_loss
            gradients = self.add(*gradients, *more) if gradients else more
        return loss, gradients
