"""Curves as SVG: ranks may send any number."""

import re
from pathlib import Path

import pytest

from hccl_kit.watch.html import CHARTS, as_svg
from hccl_kit.watch.look import Folder
from tests.watch.made import run

LOSS = next(chart for chart in CHARTS if chart.title == "Loss")


@pytest.mark.parametrize("losses", [(1e308, -1e308), (1.0, 2.0), (3.0, 3.0), (5e-324, 0.0)])
def test_every_point_is_inside_the_picture(tmp_path: Path, losses: tuple[float, float]) -> None:
    seen = Folder(run(tmp_path, 1)).look()
    (rank,) = seen.ranks
    curve = tuple(
        point._replace(span=point.span._replace(loss=losses[index % 2], losses=1))
        for index, point in enumerate(rank.curve)
    )
    svg = as_svg(seen._replace(ranks=(rank._replace(curve=curve),)), LOSS)
    places = re.search(r'points="([^"]*)"', svg)
    assert places is not None
    pairs = [tuple(map(float, place.split(","))) for place in places[1].split()]
    assert len(pairs) == len(curve) > 2
    assert all(0 <= x <= 720 and 0 <= y <= 180 for x, y in pairs)
