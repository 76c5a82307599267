"""How a job is divided among its ranks: the sizes of its groups, and which ranks form one."""

from __future__ import annotations

from dataclasses import dataclass

from hccl_kit.base.errors import KitError

KINDS = ("tensor", "expert", "data", "pipeline")
"""The kinds of groups that have a size of their own."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The sizes of the groups: `tp` tensor, `pp` pipeline, `dp` data, `ep` expert parallel.

    Ranks are numbered as Megatron-LM does it by default, in the order tp-cp-ep-dp-pp without context parallelism: rank
    = tensor + tp * (data + dp * stage). Experts are whole (its expert_tensor_parallel_size is 1), so the tp * dp ranks
    of a stage are divided once more, into expert groups of ep consecutive ranks.

    Source: RankGenerator and initialize_model_parallel in megatron/core/parallel_state.py (00caa53a).
    """

    tp: int
    pp: int
    dp: int
    ep: int

    @property
    def stage(self) -> int:
        """The number of ranks of a pipeline stage."""
        return self.tp * self.dp

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self.stage * self.pp

    @property
    def copies(self) -> int:
        """The number of ranks that have the same experts."""
        return self.stage // self.ep

    def group_of(self, kind: str, rank: int) -> int:
        """The number of the group of a kind (KINDS) to which a rank belongs."""
        if kind == "pipeline":
            return rank % self.stage
        if kind == "data":
            return rank % self.tp + self.tp * (rank // self.stage)
        return rank // (self.tp if kind == "tensor" else self.ep)


def grid_of(size: int, *, tp: int = 1, pp: int = 1, dp: int | None = None, ep: int = 1) -> Grid:
    """The grid of a job of `size` ranks; `dp` None takes all that tp and pp leave.

    Raises KitError if the sizes do not fit.
    """
    for name, value in (("--tp", tp), ("--pp", pp), ("--dp", dp), ("--ep", ep)):
        if value is not None and value < 1:
            raise KitError("place.too-small", "{name} must be 1 or more, got {value}", name=name, value=value)
    if dp is None:
        if size % (tp * pp):
            raise KitError(
                "place.not-divided",
                "the table has {size} ranks, which --tp {tp} times --pp {pp} does not divide",
                size=size,
                tp=tp,
                pp=pp,
            )
        dp = size // (tp * pp)
    if tp * pp * dp != size:
        raise KitError(
            "place.other-size",
            "--tp {tp} x --pp {pp} x --dp {dp} are {ranks} ranks, the table has {size}",
            fix="leave out --dp, which then takes all ranks that --tp and --pp leave",
            tp=tp,
            pp=pp,
            dp=dp,
            ranks=tp * pp * dp,
            size=size,
        )
    if (tp * dp) % ep:
        raise KitError(
            "place.experts-not-divided",
            "--ep {ep} does not divide the {ranks} ranks of a pipeline stage (--tp {tp} x --dp {dp})",
            ep=ep,
            ranks=tp * dp,
            tp=tp,
            dp=dp,
        )
    return Grid(tp, pp, dp, ep)
