"""What the groups of a job send in a step of training, by published formulas.

In the formulas: b micro-batch size, s tokens of a sequence, h hidden size, m micro-batches of a step, l layers of a
pipeline stage (rounded up), and t, d, e the sizes of tensor, data and expert groups.

Sources: D. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC21
(arXiv 2104.04473), sections 3.2 and 4.1; D. Lepikhin et al., "GShard" (arXiv 2006.16668), section 3.2; P. Patarasuk and
X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69 (2009).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from hccl_kit.base.errors import KitError
from hccl_kit.place.grid import Grid

Pattern = Literal["ring", "chain", "all-to-all"]
ACTIVATION, GRADIENT = 2, 4
"""Bytes of an element: activations in 16 bits; gradients are summed in 32, as Megatron-LM does for bf16."""


@dataclass(frozen=True, slots=True)
class Model:
    """The sizes on which the volumes depend; `experts` of each layer is 0 for a dense model."""

    hidden: int = 8192
    layers: int = 80
    sequence: int = 4096
    micro_batch: int = 1
    micro_batches: int = 32
    experts: int = 0
    top_k: int = 2

    @property
    def activation(self) -> int:
        """Bytes of the activations between two layers, for one micro-batch: b * s * h elements."""
        return self.micro_batch * self.sequence * self.hidden * ACTIVATION


@dataclass(frozen=True, slots=True)
class Traffic:
    """What one kind of group sends in a step.

    A group has `count` ranks, `stride` apart; the next groups start one rank later, within blocks of stride * count.
    `sent` are the bytes from a rank to the next of its ring, to each neighbour of its chain, or to each other rank
    (all-to-all).
    """

    kind: str
    pattern: Pattern
    stride: int
    count: int
    sent: int

    def total(self, size: int) -> int:
        """The bytes that all groups of `size` ranks send."""
        partners = {"ring": self.count, "chain": 2 * (self.count - 1), "all-to-all": self.count * (self.count - 1)}
        return size // self.count * partners[self.pattern] * self.sent


def model_for(grid: Grid, model: Model) -> Model:
    """The model, with one expert for each rank of an expert group if it has none.

    Raises KitError if its sizes do not fit the grid.
    """
    for name in ("hidden", "layers", "sequence", "micro_batch", "micro_batches", "top_k"):
        if getattr(model, name) < 1:
            raise KitError(
                "place.model-too-small",
                "--{option} must be 1 or more, got {value}",
                option=name.replace("_", "-"),
                value=getattr(model, name),
            )
    experts = model.experts or (grid.ep if grid.ep > 1 else 0)
    if experts % grid.ep:
        raise KitError(
            "place.experts-not-shared",
            "--experts {experts} cannot be divided among --ep {ep} ranks",
            experts=experts,
            ep=grid.ep,
        )
    if experts and model.top_k > experts:
        raise KitError(
            "place.top-k", "--top-k {top_k} is more than --experts {experts}", top_k=model.top_k, experts=experts
        )
    return replace(model, experts=experts)


def traffic(grid: Grid, model: Model) -> tuple[Traffic, ...]:
    """What each kind of group sends in a step; kinds whose groups have one rank are left out."""
    kinds = (
        Traffic("tensor", "ring", 1, grid.tp, tensor_bytes(grid, model)),
        Traffic("expert", "all-to-all", 1, grid.ep, expert_bytes(grid, model)),
        Traffic("data", "ring", grid.tp, grid.dp, data_bytes(grid, model)),
        Traffic("expert data", "ring", grid.ep, grid.copies if model.experts else 1, expert_data_bytes(grid, model)),
        Traffic("pipeline", "chain", grid.stage, grid.pp, pipeline_bytes(grid, model)),
    )
    return tuple(kind for kind in kinds if kind.count > 1)


def tensor_bytes(grid: Grid, model: Model) -> int:
    """All-reduces of b*s*h activations as a ring: m * l * n * 2 * (t-1)/t * b*s*h elements from each rank.

    n is 4 for each layer, two forward and two backward (section 3.2), which is 8*b*s*h*(t-1)/t. With experts it is 2,
    those of the attention, since the experts are whole. Sequence parallelism sends as much, in reduce-scatters and
    all-gathers.
    """
    reduced = 2 if model.experts else 4
    return model.micro_batches * _layers(grid, model) * reduced * _ring(grid.tp, model.activation)


def pipeline_bytes(grid: Grid, model: Model) -> int:
    """Activations forward and their gradients backward: m * b*s*h/t elements to each neighbour stage.

    The t ranks of a stage send 1/t each and gather it on the other side (section 4.1).
    """
    return model.micro_batches * model.activation // grid.tp


def data_bytes(grid: Grid, model: Model) -> int:
    """One all-reduce of the gradients as a ring: 2 * (d-1)/d * w elements from each rank, where w are its weights.

    A layer has 12*h*h weights, 4*h*h of them in the attention; with experts, only these belong to the data group. A
    distributed optimizer sends as much. Embeddings are left out.
    """
    weights = _layers(grid, model) * (4 if model.experts else 12) * model.hidden**2 // grid.tp
    return _ring(grid.dp, weights * GRADIENT)


def expert_data_bytes(grid: Grid, model: Model) -> int:
    """As `data_bytes`, for the experts, whose copies are on t*d/e ranks.

    The k experts of a token have together the 8*h*h weights of a dense layer, so that each has 8*h*h/k.
    """
    weights = _layers(grid, model) * (model.experts // grid.ep) * 8 * model.hidden**2 // model.top_k
    return _ring(grid.copies, weights * GRADIENT)


def expert_bytes(grid: Grid, model: Model) -> int:
    """Four all-to-alls for each layer, tokens out and back, forward and backward (GShard, section 3.2).

    A rank has b*s/t tokens, each goes to k experts, and they are spread evenly: m * l * 4 * k*b*s*h/(t*e) elements to
    each rank of the group.
    """
    copies = model.micro_batches * _layers(grid, model) * 4 * model.top_k
    return copies * model.activation // (grid.tp * grid.ep)


def _layers(grid: Grid, model: Model) -> int:
    return -(-model.layers // grid.pp)


def _ring(count: int, size: int) -> int:
    """What a rank sends in a ring all-reduce of `size` bytes: 2 * (n-1)/n of them (Patarasuk and Yuan)."""
    return 2 * (count - 1) * size // count
