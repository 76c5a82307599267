"""The optimizer of a configuration: which parameters decay, and at which rate each of them learns.

In MindSpore, which parameters decay depends on grouping: without groups beta and gamma never decay, with groups that
set no decay of their own all parameters do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mindspore import Parameter, nn

from hccl_kit.ocr.adapt.freeze import begins, unknown_prefix
from hccl_kit.ocr.train.optimizer_rules import RULES, Update

Section = Mapping[str, Any]


def build(section: Section, network: nn.Cell) -> Update:
    """The update of a section `optimizer`, over the trainable parameters of `network`."""
    parameters = network.trainable_params()
    factors = rate_factors(section["lr_factors"], parameters)
    return RULES[section["opt"]](section, parameters, decays(section, parameters), factors)


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
