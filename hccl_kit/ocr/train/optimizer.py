"""Optimizers with explicit weight decay.

They use MindSpore's kernels but not its optimizers: nn.AdamWeightDecay lacks Adam's bias correction (the CRNN does not
learn with it), nn.Adam's correction leaves epsilon out, and which parameters decay depends on grouping: without groups
beta and gamma never decay, with groups that set no decay of their own all parameters do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mindspore import Parameter, ParameterTuple, Tensor, nn

from hccl_kit.ocr.adapt.freeze import begins, unknown_prefix
from hccl_kit.ocr.train.optimizer_rules import Adagrad, Adam, Lamb, Lion, Momentum, NAdam, RMSProp

Section = Mapping[str, Any]


def build(section: Section, network: nn.Cell) -> Update:
    """The update of a section `optimizer`, over the trainable parameters of `network`.

    sgd, momentum and nesterov are the same optimizer: MindOCR passes the key `momentum` (default 0.9) to nn.SGD too,
    and the key `nesterov`, not the name, turns Nesterov momentum on.
    """
    parameters = network.trainable_params()
    decay = decays(section, parameters)
    opt = section["opt"]
    if opt == "lion":
        rule: nn.Cell = Lion(parameters, decay, betas=_betas(section, 0.99))
    elif opt in ("adam", "adamw"):
        eps = section["eps"] or 1e-8
        decoupled = decay if opt == "adamw" else [0.0] * len(decay)
        nesterov = opt == "adam" and section["nesterov"]
        rule = Adam(parameters, decoupled, betas=_betas(section, 0.999), eps=eps, nesterov=nesterov)
    elif opt in ("nadam", "rmsprop", "adagrad", "lamb"):
        rule = _adaptive(opt, section, parameters, decay)
    else:
        rule = Momentum(parameters, momentum=section["momentum"], nesterov=section["nesterov"])
    coupled = [0.0] * len(decay) if opt in ("adamw", "lion", "lamb") else decay
    return Update(parameters, rule, coupled, rate_factors(section["lr_factors"], parameters))


def _adaptive(opt: str, section: Section, parameters: Sequence[Parameter], decay: list[float]) -> nn.Cell:
    if opt == "rmsprop":
        eps, mean = section["eps"] or 1e-10, section["decay"]
        return RMSProp(parameters, decay=mean, momentum=section["momentum"], eps=eps, centered=section["centered"])
    if opt == "adagrad":
        return Adagrad(parameters, accum=section["accum"])
    betas = _betas(section, 0.999)
    if opt == "lamb":
        return Lamb(parameters, decay, betas=betas, eps=section["eps"] or 1e-6)
    return NAdam(parameters, betas=betas, eps=section["eps"] or 1e-8, schedule_decay=section["schedule_decay"])


def _betas(section: Section, second: float) -> tuple[float, float]:
    return section["beta1"] or 0.9, section["beta2"] or second


def decays(section: Section, parameters: Sequence[Parameter]) -> list[float]:
    """The weight decay of every parameter: `weight_decay`, or 0 for excluded ones.

    MindOCR puts the parameters that its keys name into a group without a decay of its own, and MindSpore gives such a
    group the decay of the whole optimizer. So with groups everything decays, and without groups all but beta and
    gamma. With `decay_as_named` exactly the named parameters are excluded.
    """
    strategy: str | None = section["grouping_strategy"]
    parts = _named_parts(section)
    flat = strategy == "svtr"
    if not section["decay_as_named"]:
        parts, flat = () if parts else ("beta", "gamma"), False
    weight_decay: float = section["weight_decay"]
    excluded = [
        any(part in parameter.name for part in parts) or (flat and parameter.ndim == 1) for parameter in parameters
    ]
    return [0.0 if is_excluded else weight_decay for is_excluded in excluded]


def rate_factors(factors: Mapping[str, float], parameters: Sequence[Parameter]) -> list[float]:
    """The factor of each parameter's learning rate: that of the longest prefix of its name, or 1.

    Raises KitError if a prefix matches no trained parameter.
    """
    for prefix in factors:
        if not any(begins(parameter.name, prefix) for parameter in parameters):
            raise unknown_prefix("optimizer.lr_factors", prefix, [parameter.name for parameter in parameters])
    prefixes = [
        max((prefix for prefix in factors if begins(parameter.name, prefix)), key=len, default=None)
        for parameter in parameters
    ]
    return [1.0 if prefix is None else factors[prefix] for prefix in prefixes]


def _named_parts(section: Section) -> tuple[str, ...]:
    """Parts of the names that MindOCR's keys exclude from weight decay; empty if they make no groups.

    grouping_strategy svtr: normalisation, position embeddings and all one-dimensional parameters; filter_norm_and_bias,
    and filter_bias_and_bn without a strategy: biases and normalisation; no_weight_decay_params: the parts it lists.
    """
    strategy: str | None = section["grouping_strategy"]
    named = tuple(section["no_weight_decay_params"])
    if strategy == "svtr":
        return ("norm", "pos_embed")
    if strategy == "filter_norm_and_bias" or (not named and section["filter_bias_and_bn"]):
        return ("beta", "gamma", "bias")
    return named


class Update(nn.Cell):
    """Inputs: a factor for all gradients, the learning rate, and the gradients of all parameters.

    The learning rate of each parameter is multiplied by its value in `factors`. `decay` is added to the gradients (L2);
    decoupled weight decay is part of `rule`.
    """

    def __init__(
        self, parameters: Sequence[Parameter], rule: nn.Cell, decay: list[float], factors: list[float]
    ) -> None:
        super().__init__(auto_prefix=False)  # parameters keep the names of the network
        self.parameters = ParameterTuple(parameters)
        self.rule = rule
        self.decay = decay
        self.factors = factors

    def construct(self, factor: Tensor, rate: Tensor, *gradients: Tensor) -> Tensor:
        ready: tuple[Tensor, ...] = ()
        rates: tuple[Tensor, ...] = ()
        for index in range(len(self.decay)):
            gradient = gradients[index] * factor
            if self.decay[index] > 0:
                gradient = gradient + self.parameters[index] * self.decay[index]
            ready = (*ready, gradient)
            rates = (*rates, rate if self.factors[index] == 1 else rate * self.factors[index])
        return self.rule(rates, ready)
