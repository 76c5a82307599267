"""The course of a run as a picture: loss, learning rate, speed and scores of evaluations, from metrics.jsonl."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.bounded_file import read_text

MAX_BYTES = 1 << 28
PANELS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("loss", ("loss",)),
    ("learning rate", ("lr",)),
    ("samples per second", ("samples_per_s",)),
)
SCORES = ("word_accuracy", "norm_edit_distance", "f-score", "precision", "recall")

Row = Mapping[str, Any]


def draw(metrics: Path, picture: Path) -> None:
    """Write `picture`, a PNG of 1200x800 points or less, from the lines of `metrics`; empty panels are left out.

    KitError where the file cannot be read or written.
    """
    rows = read_rows(metrics)
    panels = [(title, names) for title, names in (*PANELS, ("evaluation", SCORES)) if any(_points(rows, names))]
    write_atomically(picture, _png(rows, panels or [PANELS[0]]))


def read_rows(metrics: Path) -> list[Row]:
    """The lines of metrics.jsonl that are whole."""
    rows: list[Row] = []
    for line in read_text(metrics, MAX_BYTES).splitlines():
        try:
            row = json.loads(line)
        except ValueError:  # a process was killed in the middle of it
            continue
        if isinstance(row, dict) and isinstance(row.get("step"), int):
            rows.append(row)
    return rows


def _points(rows: Iterable[Row], names: Iterable[str]) -> list[tuple[str, list[int], list[float]]]:
    """Name, steps and values of each of `names` that has any."""
    found = []
    for name in names:
        pairs = [(row["step"], row[name]) for row in rows if isinstance(row.get(name), (int, float))]
        if pairs:
            found.append((name, [step for step, _ in pairs], [value for _, value in pairs]))
    return found


def _png(rows: list[Row], panels: list[tuple[str, tuple[str, ...]]]) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415  # 0.3 s, at the end of a run only
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(12, 4 * ((len(panels) + 1) // 2)), layout="constrained")
    for number, (title, names) in enumerate(panels, 1):
        axes = figure.add_subplot((len(panels) + 1) // 2, min(2, len(panels)), number)
        for name, steps, values in _points(rows, names):
            axes.plot(steps, values, marker="." if len(steps) < 100 else "", label=name)
        if title == "loss" and all(value > 0 for _, _, values in _points(rows, names) for value in values):
            axes.set_yscale("log")
        if title == "evaluation":
            axes.set_ylim(0, 1.02)
            axes.legend()
        axes.set_title(title)
        axes.set_xlabel("step")
        axes.grid(visible=True, alpha=0.3)
    data = io.BytesIO()
    FigureCanvasAgg(figure)  # draws without a screen
    figure.savefig(data, format="png")
    return data.getvalue()
