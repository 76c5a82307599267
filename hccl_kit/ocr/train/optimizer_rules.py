"""The rules of all optimizers, as in MindSpore unless a docstring says otherwise.

NAdam, RMSProp, Adagrad, LAMB and Lion are plain arithmetic: MindSpore lacks some of the kernels on CPU. Inputs of all:
the learning rates and the gradients of the parameters.
"""

from __future__ import annotations

from collections.abc import Sequence

from mindspore import Parameter, ParameterTuple, Tensor, nn, ops


class Momentum(nn.Cell):
    """v = momentum v + g; w = w - rate v, or with `nesterov` w - rate (g + momentum v) (Sutskever et al. 2013).

    Nesterov momentum is written out: MindSpore's kernel accepts the option on CPU but ignores it (2.10, measured).
    """

    def __init__(self, parameters: Sequence[Parameter], *, momentum: float, nesterov: bool) -> None:
        super().__init__(auto_prefix=False)
        self.parameters = ParameterTuple(parameters)
        self.velocities = self.parameters.clone(prefix="moments", init="zeros")
        self.momentum = momentum
        self.nesterov = nesterov
        self.apply_momentum = ops.ApplyMomentum()

    def construct(self, rates: tuple[Tensor, ...], gradients: tuple[Tensor, ...]) -> Tensor:
        for index in range(len(gradients)):
            weight, velocity, gradient = self.parameters[index], self.velocities[index], gradients[index]
            if self.nesterov:
                ops.assign(velocity, velocity * self.momentum + gradient)
                ops.assign_sub(weight, (gradient + velocity * self.momentum) * rates[index])
            else:
                self.apply_momentum(weight, velocity, rates[index], gradient, self.momentum)
        return rates[0]


class Adam(nn.Cell):
    """Adam (Kingma and Ba 2015) with decoupled weight decay (AdamW, Loshchilov and Hutter 2019).

    MindSpore's kernel adds epsilon before bias correction, so it gets a corrected epsilon. With `nesterov` the first
    moment is one step ahead: beta1 m + (1 - beta1) g, as in MindSpore.
    """

    def __init__(
        self,
        parameters: Sequence[Parameter],
        decay: list[float],
        *,
        betas: tuple[float, float],
        eps: float,
        nesterov: bool = False,
    ) -> None:
        super().__init__(auto_prefix=False)
        self.parameters = ParameterTuple(parameters)
        self.first = self.parameters.clone(prefix="moment1", init="zeros")
        self.second = self.parameters.clone(prefix="moment2", init="zeros")
        self.beta1_power = Parameter(Tensor(1.0), name="beta1_power", requires_grad=False)
        self.beta2_power = Parameter(Tensor(1.0), name="beta2_power", requires_grad=False)
        self.betas = betas
        self.eps = eps
        self.decay = decay
        self.apply_adam = ops.Adam(use_nesterov=nesterov)

    def construct(self, rates: tuple[Tensor, ...], gradients: tuple[Tensor, ...]) -> Tensor:
        beta1, beta2 = self.betas
        ops.assign(self.beta1_power, self.beta1_power * beta1)
        ops.assign(self.beta2_power, self.beta2_power * beta2)
        powers = (self.beta1_power, self.beta2_power)
        eps = self.eps * ops.sqrt(1.0 - self.beta2_power)
        for index in range(len(gradients)):
            weight = self.parameters[index]
            if self.decay[index] > 0:
                ops.assign(weight, weight * (1.0 - rates[index] * self.decay[index]))
            moments = (self.first[index], self.second[index])
            self.apply_adam(weight, *moments, *powers, rates[index], beta1, beta2, eps, gradients[index])
        return rates[0]


class Lion(nn.Cell):
    """w = w - rate (sign(b1 m + (1 - b1) g) + decay w); m = b2 m + (1 - b2) g (Chen et al. 2023)."""

    def __init__(self, parameters: Sequence[Parameter], decay: list[float], *, betas: tuple[float, float]) -> None:
        super().__init__(auto_prefix=False)
        self.parameters = ParameterTuple(parameters)
        self.moments = self.parameters.clone(prefix="moment1", init="zeros")
        self.betas = betas
        self.decay = decay

    def construct(self, rates: tuple[Tensor, ...], gradients: tuple[Tensor, ...]) -> Tensor:
        beta1, beta2 = self.betas
        for index in range(len(gradients)):
            weight, moment, gradient = self.parameters[index], self.moments[index], gradients[index]
            step = ops.sign(moment * beta1 + gradient * (1.0 - beta1)) + weight * self.decay[index]
            ops.assign_sub(weight, step * rates[index])
            ops.assign(moment, moment * beta2 + gradient * (1.0 - beta2))
        return rates[0]


class NAdam(nn.Cell):
    """Adam with a rising Nesterov momentum (Dozat 2016): b1 (1 - 0.96^(step * schedule_decay) / 2)."""

    def __init__(
        self, parameters: Sequence[Parameter], *, betas: tuple[float, float], eps: float, schedule_decay: float
    ) -> None:
        super().__init__(auto_prefix=False)
        self.parameters = ParameterTuple(parameters)
        self.first = self.parameters.clone(prefix="moment1", init="zeros")
        self.second = self.parameters.clone(prefix="moment2", init="zeros")
        self.step = Parameter(Tensor(0.0), name="nadam_step", requires_grad=False)
        self.product = Parameter(Tensor(1.0), name="mu_schedule", requires_grad=False)
        self.beta2_power = Parameter(Tensor(1.0), name="beta2_power", requires_grad=False)
        self.betas = betas
        self.eps = eps
        self.schedule_decay = schedule_decay

    def construct(self, rates: tuple[Tensor, ...], gradients: tuple[Tensor, ...]) -> Tensor:
        beta1, beta2 = self.betas
        ops.assign(self.step, self.step + 1.0)
        ops.assign(self.beta2_power, self.beta2_power * beta2)
        now = beta1 * (1.0 - 0.5 * ops.pow(0.96, self.step * self.schedule_decay))
        then = beta1 * (1.0 - 0.5 * ops.pow(0.96, (self.step + 1.0) * self.schedule_decay))
        ops.assign(self.product, self.product * now)
        by_first, by_gradient = then / (1.0 - self.product * then), (1.0 - now) / (1.0 - self.product)
        for index in range(len(gradients)):
            gradient, first, second = gradients[index], self.first[index], self.second[index]
            ops.assign(first, first * beta1 + gradient * (1.0 - beta1))
            ops.assign(second, second * beta2 + gradient * gradient * (1.0 - beta2))
            scale = ops.sqrt(second / (1.0 - self.beta2_power)) + self.eps
            ops.assign_sub(self.parameters[index], (first * by_first + gradient * by_gradient) / scale * rates[index])
        return rates[0]


class RMSProp(nn.Cell):
    """m = momentum m + rate g / sqrt(s + eps); w = w - m (Hinton 2012). s, the mean square of g, starts at 1.

    `centered` subtracts the square of the mean of g from s.
    """

    def __init__(
        self, parameters: Sequence[Parameter], *, decay: float, momentum: float, eps: float, centered: bool
    ) -> None:
        super().__init__(auto_prefix=False)
        self.parameters = ParameterTuple(parameters)
        self.squares = self.parameters.clone(prefix="mean_square", init="ones")
        self.means = self.parameters.clone(prefix="mean_grad", init="zeros") if centered else ()
        self.moments = self.parameters.clone(prefix="moment", init="zeros")
        self.decay = decay
        self.momentum = momentum
        self.eps = eps
        self.centered = centered

    def construct(self, rates: tuple[Tensor, ...], gradients: tuple[Tensor, ...]) -> Tensor:
        for index in range(len(gradients)):
            gradient, square, moment = gradients[index], self.squares[index], self.moments[index]
            ops.assign(square, square * self.decay + gradient * gradient * (1.0 - self.decay))
            spread = square + self.eps
            if self.centered:
                mean = self.means[index]
                ops.assign(mean, mean * self.decay + gradient * (1.0 - self.decay))
                spread = spread - mean * mean
            ops.assign(moment, moment * self.momentum + gradient / ops.sqrt(spread) * rates[index])
            ops.assign_sub(self.parameters[index], moment)
        return rates[0]


class Adagrad(nn.Cell):
    """s = s + g g; w = w - rate g / sqrt(s) (Duchi, Hazan, Singer 2011). s starts at `accum`."""

    def __init__(self, parameters: Sequence[Parameter], *, accum: float) -> None:
        super().__init__(auto_prefix=False)
        self.parameters = ParameterTuple(parameters)
        self.squares = self.parameters.clone(prefix="accum", init=accum)

    def construct(self, rates: tuple[Tensor, ...], gradients: tuple[Tensor, ...]) -> Tensor:
        for index in range(len(gradients)):
            gradient, square = gradients[index], self.squares[index]
            ops.assign(square, square + gradient * gradient)
            # With accum 0 a gradient of 0 would give 0 / 0.
            ops.assign_sub(self.parameters[index], gradient / ops.maximum(ops.sqrt(square), 1e-30) * rates[index])
        return rates[0]


class Lamb(Adam):
    """Adam's update r with weight decay, scaled to the norm of the weights: w = w - rate |w| / |r| r (You et al. 2020).

    The scale is 1 if one of the two norms is 0.
    """

    def construct(self, rates: tuple[Tensor, ...], gradients: tuple[Tensor, ...]) -> Tensor:
        beta1, beta2 = self.betas
        ops.assign(self.beta1_power, self.beta1_power * beta1)
        ops.assign(self.beta2_power, self.beta2_power * beta2)
        for index in range(len(gradients)):
            weight, gradient = self.parameters[index], gradients[index]
            first, second = self.first[index], self.second[index]
            ops.assign(first, first * beta1 + gradient * (1.0 - beta1))
            ops.assign(second, second * beta2 + gradient * gradient * (1.0 - beta2))
            scale = ops.sqrt(second / (1.0 - self.beta2_power)) + self.eps
            update = first / (1.0 - self.beta1_power) / scale + weight * self.decay[index]
            weight_norm = ops.sqrt(ops.reduce_sum(weight * weight))
            update_norm = ops.sqrt(ops.reduce_sum(update * update))
            is_any = ops.logical_and(weight_norm > 0.0, update_norm > 0.0)
            ratio = ops.select(is_any, weight_norm / ops.maximum(update_norm, 1e-30), ops.ones_like(weight_norm))
            ops.assign_sub(weight, update * ratio * rates[index])
        return rates[0]
