"""The cost of an order of ranks as a text."""

from __future__ import annotations

from collections.abc import Sequence

from hccl_kit.base.terminal import in_columns
from hccl_kit.base.wording import counted
from hccl_kit.place.blocks import Cluster
from hccl_kit.place.grid import Grid
from hccl_kit.place.order import Placement, costs
from hccl_kit.place.volumes import Model, Traffic

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def head(name: str, grid: Grid, model: Model) -> list[str]:
    """What is divided how, and the sizes on which the volumes depend."""
    experts = f", {model.experts} experts, {model.top_k} for each token" if model.experts else ""
    return [
        f"{name}: {counted(grid.size, 'rank')} = tensor {grid.tp} x data {grid.dp} x pipeline {grid.pp}"
        + (f", expert {grid.ep}" if model.experts else ""),
        f"model: hidden {model.hidden}, {counted(model.layers, 'layer')}, sequence {model.sequence}, "
        f"{model.micro_batches} micro-batches of {model.micro_batch}{experts}",
    ]


def report(cluster: Cluster, kinds: Sequence[Traffic], placement: Placement) -> list[str]:
    """The cost of the order of the table, and that of the better one."""
    if not kinds:
        return ["groups of one rank send nothing, so every order costs the same"]
    size = len(placement.order)
    lines = _table("order of the table", cluster, kinds, range(size), placement.given)
    if placement.is_kept:
        others = "order with whole servers" if placement.is_best else "other order that was tried"
        return [*lines, "", f"the order of the table is kept: no {others} costs less"]
    lines += ["", *_table("better order", cluster, kinds, placement.order, placement.cost)]
    moved = sum(old != rank for rank, old in enumerate(placement.order))
    saved = [
        f"{volume(abs(given - cost))} {'less' if cost < given else 'more'} leave a {level}"
        for level, given, cost in zip(cluster.levels, placement.given, placement.cost, strict=True)
        if cost != given
    ]
    lines += ["", f"{counted(moved, 'rank')} of {size} on another device; {', '.join(saved)}"]
    if not placement.is_best:
        lines.append("the servers differ too much to compare all orders: there may be a better one")
    return lines


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
    rows = [[title, "groups", "sent in a step", *(f"leaves {level}" for level in reversed(cluster.levels))]]
    for kind, levels in zip(kinds, costs(cluster, kinds, order), strict=True):
        groups = f"{size // kind.count} of {kind.count}"
        rows.append([kind.kind, groups, volume(kind.total(size)), *map(volume, reversed(levels))])
    rows.append(["all", "", volume(sum(kind.total(size) for kind in kinds)), *map(volume, reversed(totals))])
    return in_columns(rows)
