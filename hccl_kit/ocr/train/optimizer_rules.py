"""The rules of all optimizers, as in MindSpore unless a docstring says otherwise.

They use MindSpore's kernels but not its optimizers: nn.AdamWeightDecay lacks Adam's bias correction (the CRNN does not
learn with it), and nn.Adam's correction leaves epsilon out. NAdam, RMSProp, Adagrad, LAMB and Lion are plain
arithmetic: MindSpore lacks some of the kernels on CPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mindspore import Parameter, ParameterTuple, Tensor, nn, ops


class Update(nn.Cell):
    """Inputs: a factor for all gradients, the learning rate, and the gradients of all parameters.

    `decay` is the weight decay of each parameter: it is added to the gradient (L2), unless the rule is `decoupled` and
    applies it itself. `factors` multiply the learning rate of each. A rule is a subclass with `step`.
    """

    decoupled = False
    least, beta2 = 1e-8, 0.999
    """Epsilon and the second beta, unless the section gives others."""

    def __init__(
        self, section: Mapping[str, Any], parameters: Sequence[Parameter], decay: list[float], factors: list[float]
    ) -> None:
        super().__init__(auto_prefix=False)  # parameters keep the names of the network
        self.parameters = ParameterTuple(parameters)
        self.decay, self.factors = decay, factors
        self.betas = section["beta1"] or 0.9, section["beta2"] or self.beta2
        self.eps = section["eps"] or self.least
        self.momentum, self.nesterov = section["momentum"], section["nesterov"]
        self.section = section

    def states(self, prefix: str, init: str | float = "zeros") -> ParameterTuple:
        """A state for each parameter, which checkpoints hold under its name after `prefix`."""
        return self.parameters.clone(prefix=prefix, init=init)

    def construct(self, factor: Tensor, rate: Tensor, *gradients: Tensor) -> Tensor:
        shared = self.begin()
        for index in range(len(self.decay)):
            gradient = gradients[index] * factor
            if not self.decoupled and self.decay[index] > 0:
                gradient = gradient + self.parameters[index] * self.decay[index]
            own = rate if self.factors[index] == 1 else rate * self.factors[index]
            self.step(index, gradient, own, shared)
        return rate

    def begin(self) -> tuple[Tensor, ...]:
        """What all parameters share in this step."""
        return ()

    def step(self, index: int, gradient: Tensor, rate: Tensor, shared: tuple[Tensor, ...]) -> None:
        """Change one parameter and its states."""
        raise NotImplementedError


def counter(name: str, start: float) -> Parameter:
    """A state that all parameters share."""
    return Parameter(Tensor(start), name=name, requires_grad=False)


class Momentum(Update):
    """v = momentum v + g; w = w - rate v, or with `nesterov` w - rate (g + momentum v) (Sutskever et al. 2013).

    Nesterov momentum is written out: MindSpore's kernel accepts the option on CPU but ignores it (2.10, measured).
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.velocities = self.states("moments")
        self.apply_momentum = ops.ApplyMomentum()

    def step(self, index: int, gradient: Tensor, rate: Tensor, _: tuple[Tensor, ...]) -> None:
        weight, velocity = self.parameters[index], self.velocities[index]
        if self.nesterov:
            ops.assign(velocity, velocity * self.momentum + gradient)
            ops.assign_sub(weight, (gradient + velocity * self.momentum) * rate)
        else:
            self.apply_momentum(weight, velocity, rate, gradient, self.momentum)


class Moments(Update):
    """A rule with the first and the second moment of each gradient."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.first, self.second = self.states("moment1"), self.states("moment2")
        self.beta2_power = counter("beta2_power", 1.0)

    def moved(self, index: int, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """The first moment after a gradient, and the root of the corrected second one plus epsilon."""
        (beta1, beta2), first, second = self.betas, self.first[index], self.second[index]
        ops.assign(first, first * beta1 + gradient * (1.0 - beta1))
        ops.assign(second, second * beta2 + gradient * gradient * (1.0 - beta2))
        return first, ops.sqrt(second / (1.0 - self.beta2_power)) + self.eps


class Adam(Moments):
    """Adam (Kingma and Ba 2015).

    MindSpore's kernel adds epsilon before bias correction, so it gets a corrected epsilon. With `nesterov` the first
    moment is one step ahead: beta1 m + (1 - beta1) g, as in MindSpore.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.beta1_power = counter("beta1_power", 1.0)
        self.apply_adam = ops.Adam(use_nesterov=self.nesterov and not self.decoupled)

    def begin(self) -> tuple[Tensor, ...]:
        ops.assign(self.beta1_power, self.beta1_power * self.betas[0])
        ops.assign(self.beta2_power, self.beta2_power * self.betas[1])
        return (self.eps * ops.sqrt(1.0 - self.beta2_power),)

    def step(self, index: int, gradient: Tensor, rate: Tensor, shared: tuple[Tensor, ...]) -> None:
        weight, moments = self.parameters[index], (self.first[index], self.second[index])
        if self.decoupled and self.decay[index] > 0:
            ops.assign(weight, weight * (1.0 - rate * self.decay[index]))
        powers = (self.beta1_power, self.beta2_power)
        self.apply_adam(weight, *moments, *powers, rate, *self.betas, *shared, gradient)


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019)."""

    decoupled = True


class Lamb(Adam):
    """Adam's update r with weight decay, scaled to the norm of the weights: w = w - rate |w| / |r| r (You et al. 2020).

    The scale is 1 if one of the two norms is 0.
    """

    decoupled = True
    least = 1e-6

    def step(self, index: int, gradient: Tensor, rate: Tensor, _: tuple[Tensor, ...]) -> None:
        weight = self.parameters[index]
        first, scale = self.moved(index, gradient)
        update = first / (1.0 - self.beta1_power) / scale + weight * self.decay[index]
        weight_norm = ops.sqrt(ops.reduce_sum(weight * weight))
        update_norm = ops.sqrt(ops.reduce_sum(update * update))
        is_any = ops.logical_and(weight_norm > 0.0, update_norm > 0.0)
        ratio = ops.select(is_any, weight_norm / ops.maximum(update_norm, 1e-30), ops.ones_like(weight_norm))
        ops.assign_sub(weight, update * ratio * rate)


class NAdam(Moments):
    """Adam with a rising Nesterov momentum (Dozat 2016): b1 (1 - 0.96^(step * schedule_decay) / 2)."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.steps, self.product = counter("nadam_step", 0.0), counter("mu_schedule", 1.0)

    def begin(self) -> tuple[Tensor, ...]:
        ops.assign(self.steps, self.steps + 1.0)
        ops.assign(self.beta2_power, self.beta2_power * self.betas[1])
        now = self.betas[0] * (1.0 - 0.5 * ops.pow(0.96, self.steps * self.section["schedule_decay"]))
        then = self.betas[0] * (1.0 - 0.5 * ops.pow(0.96, (self.steps + 1.0) * self.section["schedule_decay"]))
        ops.assign(self.product, self.product * now)
        return then / (1.0 - self.product * then), (1.0 - now) / (1.0 - self.product)

    def step(self, index: int, gradient: Tensor, rate: Tensor, shared: tuple[Tensor, ...]) -> None:
        by_first, by_gradient = shared
        first, scale = self.moved(index, gradient)
        ops.assign_sub(self.parameters[index], (first * by_first + gradient * by_gradient) / scale * rate)


class Lion(Update):
    """w = w - rate (sign(b1 m + (1 - b1) g) + decay w); m = b2 m + (1 - b2) g (Chen et al. 2023)."""

    decoupled = True
    beta2 = 0.99

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.moments = self.states("moment1")

    def step(self, index: int, gradient: Tensor, rate: Tensor, _: tuple[Tensor, ...]) -> None:
        (beta1, beta2), weight, moment = self.betas, self.parameters[index], self.moments[index]
        way = ops.sign(moment * beta1 + gradient * (1.0 - beta1)) + weight * self.decay[index]
        ops.assign_sub(weight, way * rate)
        ops.assign(moment, moment * beta2 + gradient * (1.0 - beta2))


class RMSProp(Update):
    """m = momentum m + rate g / sqrt(s + eps); w = w - m (Hinton 2012). s, the mean square of g, starts at 1.

    `centered` subtracts the square of the mean of g from s.
    """

    least = 1e-10

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.squares, self.moments = self.states("mean_square", "ones"), self.states("moment")
        self.means = self.states("mean_grad") if self.section["centered"] else ()

    def step(self, index: int, gradient: Tensor, rate: Tensor, _: tuple[Tensor, ...]) -> None:
        square, moment, share = self.squares[index], self.moments[index], self.section["decay"]
        ops.assign(square, square * share + gradient * gradient * (1.0 - share))
        spread = square + self.eps
        if self.section["centered"]:
            mean = self.means[index]
            ops.assign(mean, mean * share + gradient * (1.0 - share))
            spread = spread - mean * mean
        ops.assign(moment, moment * self.momentum + gradient / ops.sqrt(spread) * rate)
        ops.assign_sub(self.parameters[index], moment)


class Adagrad(Update):
    """s = s + g g; w = w - rate g / sqrt(s) (Duchi, Hazan, Singer 2011). s starts at `accum`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.squares = self.states("accum", self.section["accum"])

    def step(self, index: int, gradient: Tensor, rate: Tensor, _: tuple[Tensor, ...]) -> None:
        square = self.squares[index]
        ops.assign(square, square + gradient * gradient)
        # With accum 0 a gradient of 0 would give 0 / 0.
        ops.assign_sub(self.parameters[index], gradient / ops.maximum(ops.sqrt(square), 1e-30) * rate)


RULES: Mapping[str, type[Update]] = {
    **dict.fromkeys(("sgd", "momentum", "nesterov"), Momentum),
    "adam": Adam,
    "adamw": AdamW,
    "lamb": Lamb,
    "nadam": NAdam,
    "lion": Lion,
    "rmsprop": RMSProp,
    "adagrad": Adagrad,
}
"""By `optimizer.opt`. sgd, momentum and nesterov are one: MindOCR gives the key `momentum` (default 0.9) to nn.SGD too,
and the key `nesterov`, not the name, turns Nesterov momentum on."""
