"""The cost of an order of ranks as a text."""

from __future__ import annotations

from collections.abc import Sequence

from hccl_kit.base.message import Message
from hccl_kit.base.terminal import in_columns
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import clauses, counted
from hccl_kit.place.blocks import PAIR, SERVER, SUPER_POD, Cluster
from hccl_kit.place.grid import Grid
from hccl_kit.place.order import Placement, costs
from hccl_kit.place.volumes import Model, Traffic

_LEVELS = {
    PAIR: Message("place.card-pair", "card pair"),
    SERVER: Message("place.server", "server"),
    SUPER_POD: Message("place.super-pod", "super pod"),
}
_KINDS = {
    "tensor": Message("place.tensor", "tensor"),
    "expert": Message("place.expert-kind", "expert"),
    "data": Message("place.data", "data"),
    "expert data": Message("place.expert-data", "expert data"),
    "pipeline": Message("place.pipeline", "pipeline"),
}
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def head(name: str, grid: Grid, model: Model) -> list[str]:
    """What is divided how, and the sizes on which the volumes depend."""
    division: str = Message(
        "place.division",
        "{name}: {ranks} = tensor {tp} x data {dp} x pipeline {pp}",
        name=name,
        ranks=counted(grid.size, "rank"),
        tp=grid.tp,
        dp=grid.dp,
        pp=grid.pp,
    )
    sizes: str = Message(
        "place.sizes",
        "model: hidden {hidden}, {layers}, sequence {sequence}, {number} micro-batches of {size}",
        hidden=model.hidden,
        layers=counted(model.layers, "layer"),
        sequence=model.sequence,
        number=model.micro_batches,
        size=model.micro_batch,
    )
    if model.experts:
        division = clauses([division, Message("place.expert", "expert {ep}", ep=grid.ep)])
        experts = Message("place.experts", "{number} experts", number=model.experts)
        sizes = clauses([sizes, experts, Message("place.each-token", "{number} for each token", number=model.top_k)])
    return [division, sizes]


def report(cluster: Cluster, kinds: Sequence[Traffic], placement: Placement) -> list[str]:
    """The cost of the order of the table, and that of the better one."""
    if not kinds:
        return [Message("place.nothing", "groups of one rank send nothing, so every order costs the same")]
    size = len(placement.order)
    lines = _table(Message("place.head-given", "order of the table"), cluster, kinds, range(size), placement.given)
    if placement.is_kept:
        kept: str = Message(
            "place.kept-tried", "the order of the table is kept: no other order that was tried costs less"
        )
        if placement.is_best:
            kept = Message("place.kept", "the order of the table is kept: no order with whole servers costs less")
        return [*lines, "", kept]
    lines += [
        "",
        *_table(Message("place.head-better", "better order"), cluster, kinds, placement.order, placement.cost),
    ]
    moved = sum(old != rank for rank, old in enumerate(placement.order))
    saved = [
        _saved(level, given - cost)
        for level, given, cost in zip(cluster.levels, placement.given, placement.cost, strict=True)
        if cost != given
    ]
    lines += [
        "",
        Message(
            "place.moved",
            "{ranks} of {size} on another device; {saved}",
            ranks=counted(moved, "rank"),
            size=size,
            saved=clauses(saved) if saved else "",
        ),
    ]
    if not placement.is_best:
        lines.append(
            Message("place.maybe", "the servers differ too much to compare all orders: there may be a better one")
        )
    return lines


def _saved(level: str, saved: int) -> Message:
    if saved > 0:
        return Message("place.less", "{volume} less leave a {level}", volume=volume(saved), level=_LEVELS[level])
    return Message("place.more", "{volume} more leave a {level}", volume=volume(-saved), level=_LEVELS[level])


def volume(size: int) -> str:
    """`volume(1536)` is "1.5 KiB"."""
    value, unit = float(size), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{size} B" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def _table(
    title: str, cluster: Cluster, kinds: Sequence[Traffic], order: Sequence[int], totals: Sequence[int]
) -> list[str]:
    """A row for each kind of group; the columns of domains from the innermost to the outermost."""
    size = len(order)
    leaves = [Message("place.leaves", "leaves {level}", level=_LEVELS[level]) for level in reversed(cluster.levels)]
    rows: list[list[str]] = [
        [title, Message("place.head-groups", "groups"), Message("place.head-sent", "sent in a step"), *leaves]
    ]
    for kind, levels in zip(kinds, costs(cluster, kinds, order), strict=True):
        groups = Message("place.groups", "{number} of {size}", number=size // kind.count, size=kind.count)
        rows.append([_KINDS[kind.kind], groups, volume(kind.total(size)), *map(volume, reversed(levels))])
    rows.append(
        [
            Message("place.all", "all"),
            "",
            volume(sum(kind.total(size) for kind in kinds)),
            *map(volume, reversed(totals)),
        ]
    )
    return in_columns([[*map(translated, row)] for row in rows], left=(0,))
