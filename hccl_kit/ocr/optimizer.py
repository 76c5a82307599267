"""The update of the weights: MindSpore's optimizers, with the weight decay made explicit."""

from __future__ import annotations

from typing import Any

from mindspore import Parameter, Tensor, nn, ops


def build(section: dict[str, Any], network: nn.Cell) -> Update:
    """The update that the section `optimizer` describes, over the trainable parameters of `network`."""
    parameters = network.trainable_params()
    inner: nn.Optimizer = {
        "sgd": lambda: nn.SGD(parameters, 0.1),
        "momentum": lambda: nn.Momentum(parameters, 0.1, section["momentum"]),
        "adam": lambda: nn.Adam(parameters, 0.1),
        "adamw": lambda: nn.Adam(parameters, 0.1),
    }[section["opt"]]()
    spared = _biases_and_norms(network) if section["filter_bias_and_bn"] else set()
    decay = [0.0 if parameter.name in spared else section["weight_decay"] for parameter in parameters]
    return Update(inner, decay, decoupled=section["opt"] == "adamw")


def _biases_and_norms(network: nn.Cell) -> set[str]:
    return {p.name for p in network.trainable_params() if p.ndim <= 1}


class Update(nn.Cell):
    """Inputs: the gradients of all parameters as one float32 vector, a factor for them, the learning rate.

    Weight decay is added to the gradient or, for adamw, taken from the weights themselves (Loshchilov and Hutter 2019).
    MindSpore's own AdamWeightDecay is not used: it lacks Adam's bias correction, and the CRNN does not learn with it.
    """

    def __init__(self, optimizer: nn.Optimizer, decay: list[float], *, decoupled: bool) -> None:
        super().__init__(auto_prefix=False)  # parameters keep the names of the network
        self.optimizer = optimizer
        self.parameters: tuple[Parameter, ...] = tuple(optimizer.parameters)
        self.shapes = [parameter.shape for parameter in self.parameters]
        self.sizes = [parameter.size for parameter in self.parameters]
        self.decay = decay
        self.decoupled = decoupled

    def construct(self, flat: Tensor, factor: Tensor, rate: Tensor) -> Tensor:
        gradients: tuple[Tensor, ...] = ()
        start = 0
        for index in range(len(self.shapes)):
            piece = ops.reshape(flat[start : start + self.sizes[index]], self.shapes[index]) * factor
            start += self.sizes[index]
            if self.decay[index] > 0:
                if self.decoupled:
                    kept = self.parameters[index] * (1.0 - rate * self.decay[index])
                    ops.assign(self.parameters[index], kept)
                else:
                    piece = piece + self.parameters[index] * self.decay[index]
            gradients = (*gradients, piece)
        ops.assign(self.optimizer.learning_rate, rate)
        return self.optimizer(gradients)
