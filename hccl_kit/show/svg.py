"""The picture of a table as a drawing (SVG): self-contained, without scripts, readable on any background."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from hccl_kit.show.layout import Card, Host, Picture, Pod, spans

MAX_HOSTS = 64
"""Servers drawn one by one; a drawing of more is no drawing."""
MAX_PODS = 16
MAX_FAULTS = 12
_WIDTH = 1200
_CARD, _GAP, _PAD, _HEAD = 34, 5, 10, 24
_ROW = _CARD + 2 * _GAP + 14
"""A row of cards, and below it the room for the rules they break."""
_COLORS = ("#cfe3f7", "#d8efd3", "#fbe7c2", "#e5d9f2")
_PLANES = ("#2f6fad", "#3d8b37", "#c17d11", "#7b4fa3")
_INK, _PALE, _RED, _FRAME = "#1f2933", "#6b7785", "#c62828", "#9aa5b1"


class Box(NamedTuple):
    """A server, or several that are only summed up (`text`, two lines)."""

    host: Host | None
    text: tuple[str, ...] = ()


def as_svg(picture: Picture) -> str:
    """The drawing: super pods as frames, servers as boxes, linked cards on one bar, faults in red with their rule.

    Servers that look alike are summed up where there are more than MAX_HOSTS of them.
    """
    boxes = [(pod, list(_boxes(pod, picture))) for pod in picture.pods[:MAX_PODS]]
    hosts = [host for pod in picture.pods for run in pod.runs for host in run.hosts[:1]]
    size = max([_host_size(host) for host in hosts], default=(0, 0))
    width, height = max(size[0], 170), max([_host_size(host)[1] for host in hosts], default=0)
    body: list[str] = []
    y = 70.0
    for pod, listed in boxes:
        y = _draw_pod(body, pod, listed, (y, width, height, picture.planes))
    if len(picture.pods) > MAX_PODS:
        body.append(_text(32, y + 12, f"and {len(picture.pods) - MAX_PODS} more super pods", 14, color=_PALE))
        y += 30
    y = _draw_legend(body, picture, y)
    y = _draw_faults(body, picture, y)
    frame = max(_WIDTH, width + 60)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {frame} {y:.0f}" width="{frame}" height="{y:.0f}"'
        ' font-family="sans-serif">\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{_text(30, 40, picture.title, 18, cut=120, weight="bold")}'
    )
    return "\n".join([head, *body, "</svg>", ""])


def _boxes(pod: Pod, picture: Picture) -> Iterator[Box]:
    """The servers of a pod, all where the picture has few of them; else the ends of every run, its middle summed up."""
    is_large = sum(len(run.hosts) for one in picture.pods for run in one.runs) > MAX_HOSTS
    share = max(4, MAX_HOSTS // max(1, len(picture.pods)))
    left = share if is_large else MAX_HOSTS
    for place, run in enumerate(pod.runs):
        if left <= 0:
            rest = [host for one in pod.runs[place:] for host in one.hosts]
            yield Box(None, _summed(rest))
            return
        if is_large and len(run.hosts) > 4:
            yield from (Box(run.hosts[0]), Box(None, _summed(run.hosts[1:-1])), Box(run.hosts[-1]))
            left -= 3
        else:
            yield from map(Box, run.hosts)
            left -= len(run.hosts)


def _summed(hosts: Sequence[Host]) -> tuple[str, ...]:
    ranks = (
        spans((hosts[0].ranks[0], hosts[-1].ranks[-1])).replace(",", "-") if hosts[0].ranks and hosts[-1].ranks else ""
    )
    return f"{len(hosts)} more servers", f"{hosts[0].id} .. {hosts[-1].id}", f"ranks {ranks}" if ranks else ""


def _host_size(host: Host) -> tuple[int, int]:
    cards = sum(map(len, host.groups))
    rows = 1 if cards <= 8 else -(-cards // 8)
    widest = min(8, cards) * (_CARD + _GAP) + (len(host.groups) - 1) * 2 * _PAD
    return widest + 2 * _PAD + _GAP, _HEAD + rows * _ROW + _PAD


def _draw_pod(body: list[str], pod: Pod, boxes: Sequence[Box], place: tuple[float, int, int, int]) -> float:
    """Draw the servers of a pod in a grid, in a frame where it is a super pod; where the next one may start."""
    y, width, height, planes = place
    columns = max(1, (_WIDTH - 60 - 2 * _PAD) // (width + 14))
    rows = -(-len(boxes) // columns)
    top = y + (26 if pod.id is not None else 0)
    bottom = top + rows * (height + 14) + 6
    if pod.id is not None:
        across = min(len(boxes), columns) * (width + 14) + 2 * _PAD
        body.append(
            f'<rect x="22" y="{y:.0f}" width="{max(across, 220)}" height="{bottom - y:.0f}" rx="12" fill="#f5f7fa"'
            f' stroke="{_FRAME}"/>'
        )
        body.append(_text(36, y + 20, f"super pod {pod.id}", 14, cut=60, weight="bold"))
    for number, box in enumerate(boxes):
        at = (32 + number % columns * (width + 14), top + 8 + number // columns * (height + 14))
        _draw_box(body, box, at, (width, height, planes))
    return bottom + 16


def _draw_box(body: list[str], box: Box, at: tuple[float, float], size: tuple[int, int, int]) -> None:
    """A server's box; `size` is its width, its height and the number of planes."""
    x, y = at
    is_bad = bool(box.host and box.host.faults)
    dashed = "" if box.host else ' stroke-dasharray="5 4"'
    body.append(
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{size[0]}" height="{size[1]}" rx="8" fill="#ffffff"'
        f' stroke="{_RED if is_bad else _FRAME}" stroke-width="{2 if is_bad else 1}"{dashed}/>'
    )
    cut = (size[0] - 16) // 7
    if box.host is None:
        for line, text in enumerate(box.text):
            body.append(_text(x + 10, y + 24 + 20 * line, text, 12, cut=cut, color=_INK if line == 0 else _PALE))
        return
    marks = f"  {' '.join(box.host.faults)}" if is_bad else ""
    shown = _cut(box.host.id, cut - len(marks)) + marks
    body.append(_text(x + 10, y + 18, shown, 12, cut=cut, weight="bold", color=_RED if is_bad else _INK))
    _draw_groups(body, box.host, (x + _PAD, y + _HEAD + 4), size[2])


def _draw_groups(body: list[str], host: Host, at: tuple[float, float], planes: int) -> None:
    """The groups side by side, each on a bar that stands for its links; eight cards in a row."""
    x, y = at
    column = 0
    for number, group in enumerate(host.groups):
        for start in range(0, len(group), 8):
            row = group[start : start + 8]
            if column + len(row) > 8:
                x, y, column = at[0], y + _ROW, 0
            across = len(row) * (_CARD + _GAP) + _GAP
            body.append(
                f'<rect x="{x:.0f}" y="{y:.0f}" width="{across}" height="{_CARD + 2 * _GAP}" rx="8" fill="#eef1f5"'
                f' stroke="#d3dae2"/>'
            )
            if len(host.groups) > 1:
                middle = y + _GAP + _CARD / 2
                body.append(
                    f'<line x1="{x + _GAP:.0f}" y1="{middle:.0f}" x2="{x + across - _GAP:.0f}" y2="{middle:.0f}"'
                    f' stroke="{_PALE}" stroke-width="3"/>'
                )
            for place, card in enumerate(row):
                corner = (x + _GAP + place * (_CARD + _GAP), y + _GAP)
                _draw_card(body, card, corner, number)
                if planes > 1 and card.rank is not None:
                    _draw_plane(body, card.id % planes, corner)
            x, column = x + across + _PAD, column + len(row)


def _draw_plane(body: list[str], plane: int, at: tuple[float, float]) -> None:
    """A stripe at the foot of a card: cards of one colour are on one network."""
    color = _PLANES[plane % len(_PLANES)]
    body.append(
        f'<rect x="{at[0] + 3:.0f}" y="{at[1] + _CARD - 5:.0f}" width="{_CARD - 6}" height="3" fill="{color}"/>'
    )


def _draw_card(body: list[str], card: Card, at: tuple[float, float], group: int) -> None:
    x, y = at
    is_idle = card.rank is None
    fill = "#ffffff" if is_idle else _COLORS[group % len(_COLORS)]
    edge = _RED if card.faults else "#d3dae2" if is_idle else _FRAME
    told = f"card {card.id}, " + ("no rank" if is_idle else f"rank {card.rank}")
    told += f", {card.address}" if card.address else ""
    told += f", {' '.join(card.faults)}" if card.faults else ""
    body.append(
        f'<g><title>{_clean(told)}</title><rect x="{x:.0f}" y="{y:.0f}" width="{_CARD}" height="{_CARD}" rx="5"'
        f' fill="{fill}" stroke="{edge}" stroke-width="{3 if card.faults else 1}"/>'
        + _text(x + 4, y + 11, str(card.id), 9, color=_PALE)
        + _text(x + _CARD / 2, y + 28, "" if is_idle else str(card.rank), 12 if (card.rank or 0) < 1000 else 9,
                weight="bold", anchor="middle", color=_RED if card.faults else _INK)
        + _text(x + _CARD / 2, y + _CARD + _GAP + 11, "".join(card.faults[:1]), 9, anchor="middle", color=_RED)
        + "</g>"
    )  # fmt: skip


def _draw_legend(body: list[str], picture: Picture, y: float) -> float:
    body.append(
        f'<g><rect x="32" y="{y:.0f}" width="{_CARD}" height="{_CARD}" rx="5" fill="{_COLORS[0]}" stroke="{_FRAME}"/>'
        + _text(36, y + 11, "4", 9, color=_PALE)
        + _text(50, y + 28, "12", 12, weight="bold", anchor="middle")
        + "</g>"
    )
    has_groups = any(len(host.groups) > 1 for pod in picture.pods for run in pod.runs for host in run.hosts[:1])
    groups = "; a bar joins cards that are linked" if has_groups else ""
    planes = (
        f"; stripes of one colour: one network plane (card i is on plane i mod {picture.planes})"
        if picture.planes > 1
        else ""
    )
    body.append(_text(78, y + 23, f"small: card, large: rank{groups}{planes}; red: a fault", 12, color=_PALE))
    return y + _CARD + 20


def _draw_faults(body: list[str], picture: Picture, y: float) -> float:
    for line in picture.networks:
        body.append(_text(32, y + 12, line, 13, cut=165))
        y += 20
    for found in picture.faults[:MAX_FAULTS]:
        color = _RED if found.severity == "error" else _INK
        body.append(_text(32, y + 12, f"{found.rule} {found.severity}: {found.message}", 13, cut=165, color=color))
        y += 20
    if len(picture.faults) > MAX_FAULTS:
        body.append(_text(32, y + 12, f"and {len(picture.faults) - MAX_FAULTS} more findings", 13, color=_PALE))
        y += 20
    return y + 16


def _text(x: float, y: float, text: str, size: int, **how: str | int) -> str:
    shown = _clean(_cut(text, int(how.get("cut", 200))))
    anchor = f' text-anchor="{how["anchor"]}"' if "anchor" in how else ""
    weight = f' font-weight="{how["weight"]}"' if "weight" in how else ""
    if not shown:
        return ""
    color = how.get("color", _INK)
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{color}"{anchor}{weight}>{shown}</text>'


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: max(1, most - 1)] + "\N{HORIZONTAL ELLIPSIS}"


def _clean(text: str) -> str:
    """The text without what XML or a screen does not take."""
    return escape("".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text))
