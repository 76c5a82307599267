"""The picture of a table as a drawing (SVG): self-contained, without scripts, readable on any background."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hccl_kit.base.wording import counted
from hccl_kit.show.fitting import wrapped
from hccl_kit.show.folding import folded, one_by_one, with_ends
from hccl_kit.show.layout import Card, Host, Picture, Pod, Run
from hccl_kit.show.shapes import (
    FRAME,
    INK,
    PALE,
    WHITE,
    Piece,
    in_rows,
    letters,
    put,
    rectangle,
    stacked,
    tooltip,
    words,
)
from hccl_kit.table.finding import Diagnostic

MAX_HOSTS = 64
"""Servers drawn one by one; a drawing of more is no drawing."""
_MAX_CARDS = 1200
"""Cards drawn, some 600 bytes each."""
_WIDTH, _MARGIN, _GAP = 1160, 28, 14
"""Of the drawing within its margin; pieces stand _GAP apart."""
_MIN_WIDTH = 840
_CARD, _SPACE, _IN_A_ROW = 36, 5, 8
_HEAD, _PAD, _MARK = 28, 10, 13
"""Within a server's box: the height of its name, what is free around its cards, the height of a rule's id."""
_GROUPS = ("#cfe3f7", "#d8efd3", "#fbe7c2", "#e5d9f2")
_PLANES = ("#2f6fad", "#3d8b37", "#c17d11", "#7b4fa3")
_RED, _AMBER = "#c62828", "#b45309"
_BAR, _LINK, _POD, _IDLE = "#eef1f5", "#7b8794", "#f5f7fa", "#d3dae2"


class _Sheet(NamedTuple):
    """What all boxes of a drawing have in common; sizes in pixels, `has_marks`: there is room for rules below cards."""

    width: float
    height: float
    has_marks: bool
    planes: int
    noun: str


def as_svg(picture: Picture) -> str:
    """The drawing: super pods as frames, servers as boxes, linked cards on one bar, faults in red with their rule.

    A table of more than MAX_HOSTS servers is folded: of those that look alike the first and the last are drawn.
    """
    shown = _bounded(picture)
    sheet = _sheet(shown)
    pods = [_pod(pod, sheet, is_framed=len(shown.pods) > 1) for pod in shown.pods]
    if shown.more_pods:
        pods.append(_line(f"and {counted(shown.more_pods, 'more super pod')}", PALE))
    width = max([_MIN_WIDTH, *(pod.width for pod in pods)])
    title = stacked([_line(line, INK, size=18) for line in wrapped(shown.title, letters(width, 18))], 2)
    told = [(line, INK) for line in shown.networks] + [(fault.text, _hue(fault.severity)) for fault in shown.faults]
    lines = [_line(line, color) for text, color in told for line in wrapped(text, letters(width, 13))]
    legend = in_rows([*_legend(shown, sheet)], width, 18)
    whole = stacked([title, *pods, legend, *([stacked(lines, 4)] if lines else [])], _GAP)
    across, down = width + 2 * _MARGIN, whole.height + 2 * _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across:g} {down:g}" width="{across:g}"'
        f' height="{down:g}" font-family="sans-serif">\n{tooltip(shown.title)}\n'
        f'<rect width="100%" height="100%" fill="{WHITE}"/>\n{put(whole.body, _MARGIN, _MARGIN)}\n</svg>\n'
    )


def _bounded(picture: Picture) -> Picture:
    """What of a picture is drawn: at most MAX_HOSTS servers, and fewer of more cards."""
    parts = one_by_one(picture) if picture.size <= MAX_HOSTS else with_ends(picture)
    most = max([len(run.hosts[0].cards) for run in parts.runs], default=0)
    return folded(parts, max(1, min(MAX_HOSTS, _MAX_CARDS // max(1, most))))


def _hue(severity: str) -> str:
    return _RED if severity == "error" else _AMBER


def _worst(faults: Sequence[Diagnostic]) -> str:
    return _hue(min([fault.severity for fault in faults], default="error"))  # "error" comes before "warning"


def _line(text: str, color: str, size: float = 13) -> Piece:
    body = words(text, size, color=color, is_bold=size > 13)
    return Piece(put(body, 0, size), 0, size + 4)


def _sheet(picture: Picture) -> _Sheet:
    hosts = [run.hosts[0] for run in picture.runs if _is_drawn(run)]
    cards = [card for host in hosts for group in host.groups for card in group]
    sheet = _Sheet(0, 0, any(card.faults for card in cards), picture.planes, picture.noun)
    sizes = [_groups(host, sheet) for host in hosts]
    width = max([size.width for size in sizes], default=0)
    height = max([size.height for size in sizes], default=0)
    return sheet._replace(width=max(width + 2 * _PAD, 200), height=max(_HEAD + height + _PAD, 84))


def _is_drawn(run: Run) -> bool:
    return len(run.hosts) == 1 and run.are_alike and len(run.hosts[0].cards) <= _MAX_CARDS


def _pod(pod: Pod, sheet: _Sheet, *, is_framed: bool) -> Piece:
    """The boxes of a super pod in its frame; those in none have a frame only where super pods stand next to them."""
    boxes = in_rows([_host(run.hosts[0], sheet) if _is_drawn(run) else _rest(run, sheet) for run in pod.runs],
                    _WIDTH - 2 * _PAD, _GAP)  # fmt: skip
    if pod.id is None and not is_framed:
        return boxes
    name = "in no super pod" if pod.id is None else f"super pod {pod.id}"
    width, height = max(boxes.width, 200) + 2 * _PAD, boxes.height + 32 + _PAD
    edge = _worst(pod.faults) if pod.faults else FRAME
    frame = rectangle(width, height, radius=12, fill=_POD, edge=edge, thick=2 if pod.faults else 1)
    return Piece(frame + _head(name, pod.faults, width, 14) + put(boxes.body, _PAD, 32), width, height)


def _head(name: str, faults: Sequence[Diagnostic], width: float, size: float) -> str:
    """A name at the left of a frame, and at its right the rules that it breaks."""
    rules = " ".join(fault.rule for fault in faults)
    room = width - 2 * _PAD - len(rules) * size * 0.7
    marks = put(words(rules, size - 1, color=_worst(faults), is_bold=True, anchor="end"), width - _PAD, size + 7)
    told = "".join(tooltip("; ".join(f"{fault.rule}: {fault.message}" for fault in faults)) if faults else "")
    return f"<g>{told}{put(words(name, size, width=room, is_bold=True), _PAD + 2, size + 7)}{marks}</g>"


def _host(host: Host, sheet: _Sheet) -> Piece:
    edge = _worst(host.faults) if host.faults else FRAME
    box = rectangle(sheet.width, sheet.height, radius=8, fill=WHITE, edge=edge, thick=2 if host.faults else 1)
    cards = put(_groups(host, sheet).body, _PAD, _HEAD)
    return Piece(box + _head(host.id or '""', host.faults, sheet.width, 12) + cards, sheet.width, sheet.height)


def _rest(run: Run, sheet: _Sheet) -> Piece:
    """Servers that are only summed up, in a pale box."""
    likeness = "alike" if run.are_alike and len(run.hosts) > 1 else "not drawn"
    names = [run.hosts[0].id, f".. {run.hosts[-1].id}"] if len(run.hosts) > 1 else [run.hosts[0].id]
    ranks = [f"ranks {run.ranks}"] if run.ranks and run.are_alike else []
    lines = [f"{counted(len(run.hosts), sheet.noun)}, {likeness}", *names, *ranks]
    box = rectangle(sheet.width, sheet.height, radius=8, fill=_BAR, edge=_IDLE)
    texts = [
        put(words(line, 12, width=sheet.width - 2 * _PAD, color=PALE, is_bold=not place), _PAD + 2, 19 + 17 * place)
        for place, line in enumerate(lines)
    ]
    return Piece(box + "".join(texts), sheet.width, sheet.height)


def _groups(host: Host, sheet: _Sheet) -> Piece:
    """The groups side by side, _IN_A_ROW cards in a row; each on a bar, with a line where it tells links."""
    has_links = len(host.groups) > 1
    bars = [
        _bar(group[start : start + _IN_A_ROW], sheet, number if has_links else None)
        for number, group in enumerate(host.groups)
        for start in range(0, len(group), _IN_A_ROW)
    ]
    width = _IN_A_ROW * (_CARD + _SPACE) + 2 * _SPACE + _PAD
    return in_rows(bars, width, _PAD)


def _bar(cards: Sequence[Card], sheet: _Sheet, group: int | None) -> Piece:
    """Cards that are linked; `group` is None where all cards of the server are."""
    width, height = len(cards) * (_CARD + _SPACE) + _SPACE, _CARD + 2 * _SPACE
    bar = rectangle(width, height, radius=8, fill=_BAR, edge=_IDLE)
    link = put(f'<rect width="{width - 2 * _SPACE}" height="4" fill="{_LINK}"/>', _SPACE, height / 2 - 2)
    drawn = [
        put(_card(card, group or 0, sheet.planes), _SPACE + place * (_CARD + _SPACE), _SPACE)
        for place, card in enumerate(cards)
    ]
    below = _MARK if sheet.has_marks else 0
    return Piece(bar + (link if group is not None else "") + "".join(drawn), width, height + below)


def _card(card: Card, group: int, planes: int) -> str:
    """A card: its id small, its rank large, at its foot the colour of its plane, below it the first rule it breaks."""
    facts = [f"card {card.id}", "no rank" if card.rank is None else f"rank {card.rank}", card.address]
    facts += [f"{fault.rule}: {fault.message}" for fault in card.faults]
    color = _worst(card.faults) if card.faults else None
    fill = WHITE if card.rank is None else _GROUPS[group % len(_GROUPS)]
    edge = color or (_IDLE if card.rank is None else FRAME)
    rank = "" if card.rank is None else str(card.rank)
    pieces = [
        tooltip(", ".join(filter(None, facts))),
        rectangle(_CARD, _CARD, radius=5, fill=fill, edge=edge, thick=3 if color else 1),
        put(words(str(card.id), 9, width=_CARD, color=PALE), 4, 11),
        put(words(rank, 13 if len(rank) < 4 else 10, color=color or INK, is_bold=True, anchor="middle"), _CARD / 2, 26),
    ]
    if planes > 1 and card.rank is not None:
        pieces.append(put(f'<rect width="{_CARD - 8}" height="3" fill="{_plane(card.id % planes)}"/>', 4, _CARD - 5))
    if card.faults:
        mark = card.faults[0].rule + ("+" if len(card.faults) > 1 else "")
        pieces.append(put(words(mark, 9, color=edge, is_bold=True, anchor="middle"), _CARD / 2, _CARD + _SPACE + 11))
    return f"<g>{''.join(pieces)}</g>"


def _plane(plane: int) -> str:
    return _PLANES[plane % len(_PLANES)]


def _legend(picture: Picture, sheet: _Sheet) -> Iterator[Piece]:
    """What the signs mean that this drawing has."""
    hosts = [run.hosts[0] for run in picture.runs if _is_drawn(run)]
    cards = [card for host in hosts for group in host.groups for card in group]
    if cards:
        sample = rectangle(22, 22, radius=4, fill=_GROUPS[0])
        numbers = put(words("4", 7, color=PALE), 3, 8) + put(words("12", 9, is_bold=True, anchor="middle"), 12, 18)
        yield _sign(sample + numbers, "card 4 is rank 12")
    if any(card.rank is None for card in cards):
        yield _sign(rectangle(22, 22, radius=4, fill=WHITE, edge=_IDLE), "takes no part")
    if any(len(host.groups) > 1 for host in hosts):
        yield _sign(put(f'<rect width="22" height="4" fill="{_LINK}"/>', 0, 9), "linked cards")
    if sheet.planes > 1 and cards:
        yield _planes(sheet.planes)
    found = {fault.severity for host in hosts for fault in host.faults}
    found |= {fault.severity for card in cards for fault in card.faults}
    for severity in sorted(found):
        sample = rectangle(20, 20, radius=4, fill=WHITE, edge=_hue(severity), thick=3)
        yield _sign(put(sample, 1, 1), f"breaks a rule: {severity}")


def _planes(number: int) -> Piece:
    stripes = [
        put(f'<rect width="22" height="4" fill="{_plane(plane)}"/>', plane * 26, 9)
        + put(words(str(plane), 9, color=PALE, anchor="middle"), plane * 26 + 11, 22)
        for plane in range(number)
    ]
    label = _sign("", "network planes")
    return Piece("".join(stripes) + put(label.body, number * 26 - 24, 0), label.width + number * 26 - 24, label.height)


def _sign(sample: str, meaning: str) -> Piece:
    return Piece(sample + put(words(meaning, 12, color=PALE), 30, 15), 30 + len(meaning) * 6.6, 22)
