"""Cells of one kind, each replaced where it stands in a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindspore import nn


def replace_children(network: nn.Cell, kind: type[nn.Cell], make: Callable[[Any], nn.Cell]) -> None:
    """Replace each cell of exactly this kind in `network` by what `make` gives for it. They hold no parameters."""
    for _, parent in list(network.cells_and_names()):
        for place, (name, child) in enumerate(list(parent.name_cells().items())):
            if type(child) is not kind:
                continue
            if isinstance(parent, nn.SequentialCell | nn.CellList):
                parent[place] = make(child)
            else:
                setattr(parent, name, make(child))
