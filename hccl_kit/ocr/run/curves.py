"""The curves of a run as a picture: loss, learning rate, speed and evaluation scores, from metrics.jsonl."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.bounded_file import read_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_BYTES = 1 << 30
"""Limit for metrics.jsonl: enough for millions of steps."""
SCORES = {
    "accuracy": "accuracy",
    "word_accuracy": "word accuracy",
    "norm_edit_distance": "similarity (1 - normalised edit distance)",
    "f-score": "f-score",
    "precision": "precision",
    "recall": "recall",
}
"""Names in metrics.jsonl, and what the legend calls them."""
PANELS: Mapping[str, Mapping[str, str]] = {
    "loss": {"loss": "training loss"},
    "learning rate": {"lr": "learning rate"},
    "samples per second": {"samples_per_s": "samples per second, all ranks"},
    "evaluation": SCORES,
}
"""The names that each panel shows, with their labels."""
SCALED = ("loss", "evaluation")
"""The panels that are scaled to what changes in them."""

Row = Mapping[str, Any]
Curve = tuple[str, list[int], list[float]]
"""Label, steps and values."""
START = 0.1
"""The share of the steps whose values do not set the scale of a panel: those of the first ones are often far away."""


def draw(metrics: Path, picture: Path, *, indicator: str | None = None) -> None:
    """Write `picture`, a PNG of at most 1200x800 pixels, from the lines of `metrics`; empty panels are left out.

    `indicator` is `metric.main_indicator`, by which the best weights were chosen: its first best value is marked.
    Raises KitError if a file cannot be read or written.
    """
    rows = read_rows(metrics)
    panels = {title: curves for title, names in PANELS.items() if (curves := _curves(rows, names))}
    names = names_of(indicator) if indicator else ()
    best = next(iter(_curves(rows, dict.fromkeys(names, "best"))), None)
    write_atomically(picture, _png(panels or {"loss": []}, best, picture.absolute().parent.name))


def names_of(indicator: str) -> tuple[str, ...]:
    """The names of `metric.main_indicator` in metrics.jsonl: `acc` is that of lines or that of a classification."""
    return ("word_accuracy", "accuracy") if indicator == "acc" else (indicator,)


def read_rows(metrics: Path) -> list[Row]:
    """The complete lines of metrics.jsonl."""
    return [row for line in read_text(metrics, MAX_BYTES).splitlines() if (row := row_of(line)) is not None]


def row_of(line: str) -> Row | None:
    """A line of metrics.jsonl; None for one that a killed process left incomplete."""
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and isinstance(row.get("step"), int) else None


def _curves(rows: Iterable[Row], names: Mapping[str, str]) -> list[Curve]:
    """The curve of each of `names` that has a value."""
    lines = []
    for name, label in names.items():
        pairs = [(row["step"], row[name]) for row in rows if isinstance(row.get(name), (int, float))]
        if pairs:
            lines.append((label, [step for step, _ in pairs], [value for _, value in pairs]))
    return lines


def visible_range(curves: Iterable[Curve]) -> tuple[float, float]:
    """The lowest and the highest value that a panel shows: those of the first tenth of the steps do not widen it."""
    kept = [value for _, steps, values in curves for value in values[_first_settled(steps) :]]
    return min(kept), max(kept)


def _first_settled(steps: list[int]) -> int:
    """The position of the first value after the start; few values are all shown."""
    end = START * steps[-1]
    return next(number for number, step in enumerate(steps) if step > end) if len(steps) > 1 / START else 0


def _png(panels: Mapping[str, list[Curve]], best: Curve | None, run: str) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415  # 0.3 s, at the end of a run only
    from matplotlib.figure import Figure  # noqa: PLC0415

    lines = (len(panels) + 1) // 2
    figure = Figure(figsize=(12, 4 * lines), layout="constrained")
    figure.suptitle(run, parse_math=False)
    for number, (title, curves) in enumerate(panels.items(), 1):
        _panel(figure.add_subplot(lines, min(2, len(panels)), number), title, curves, best)
    data = io.BytesIO()
    FigureCanvasAgg(figure)  # draws without a display
    figure.savefig(data, format="png")
    return data.getvalue()


def _panel(axes: Axes, title: str, curves: list[Curve], best: Curve | None) -> None:
    for label, steps, values in curves:
        axes.plot(steps, values, marker="." if len(steps) < 100 else "", label=label)
    if title == "loss" and all(value > 0 for _, _, values in curves for value in values):
        axes.set_yscale("log")
    if title in SCALED and curves:
        _scale(axes, *visible_range(curves))
    if title == "samples per second":
        axes.set_ylim(bottom=0)
    if title == "evaluation" and best:
        _, steps, values = best
        value = max(values)
        step = steps[values.index(value)]
        axes.plot([step], [value], "*", color="black", markersize=12, label=f"best: {value:.4f} after step {step}")
    axes.set_title(title)
    axes.set_xlabel("step")
    axes.grid(visible=True, alpha=0.3)
    if curves:
        axes.legend()


def _scale(axes: Axes, low: float, high: float) -> None:
    """Show the values from `low` to `high`, with a margin of a twentieth."""
    if low == high:
        return
    if axes.get_yscale() == "log":
        margin = (high / low) ** 0.05
        axes.set_ylim(low / margin, high * margin)
    else:
        axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
