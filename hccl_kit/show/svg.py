"""The picture of a table as SVG: self-contained, without scripts, readable on any background."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.terminal import text_width
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import clauses, counted, sentences
from hccl_kit.check.rule import SEVERITIES
from hccl_kit.show.collapse import collapsed, one_by_one, with_ends
from hccl_kit.show.layout import Card, Host, Picture, Pod, Run, and_more, pod_name, ranks_of
from hccl_kit.show.shapes import (
    FRAME,
    INK,
    PALE,
    WHITE,
    Piece,
    columns,
    in_rows,
    label,
    moved,
    rectangle,
    stacked,
    tooltip,
)
from hccl_kit.show.text_width import wrapped
from hccl_kit.table.finding import Finding

LINKED: tuple[str, ...] = ("#cfe3f7", "#d8efd3", "#fbe7c2", "#e5d9f2")
"""Cards of one group of linked cards."""
RANKS = (*LINKED, "#f9d5d5", "#cdeeea", "#eadbc8", "#dfe3a8")
"""Ranks of one group; there may be thousands of groups, so the colours repeat."""
PLANES = ("#2f6fad", "#3d8b37", "#c17d11", "#7b4fa3")
"""Network planes."""


class RankGroups(NamedTuple):
    """The groups of one kind, such as "tensor", by which cards are coloured; `of_rank` has the group of every rank."""

    kind: str
    of_rank: Sequence[int]


MAX_HOSTS = 64
"""The maximum number of servers that are drawn one by one."""
_MAX_CARDS = 1200
"""The maximum number of cards that are drawn, about 600 bytes each."""
_WIDTH, _MARGIN, _GAP = 1160, 28, 14
"""The width of the drawing without its margin; pieces are _GAP apart."""
_MIN_WIDTH = 840
_CARD, _SPACE, _IN_A_ROW = 36, 5, 8
_HEAD, _PAD, _MARK = 28, 10, 13
"""In the box of a server: the height of its name, the padding around its cards, the height of a rule's id."""
_RED, _AMBER = "#c62828", "#b45309"
_BAR, _LINK, _POD, _IDLE = "#eef1f5", "#7b8794", "#f5f7fa", "#d3dae2"


class _Sheet(NamedTuple):
    """The common size of all boxes in pixels; `has_marks`: cards have room for a rule id below them."""

    width: float
    height: float
    has_marks: bool
    planes: int
    noun: str
    ranks: RankGroups | None


def as_svg(picture: Picture, ranks: RankGroups | None = None) -> str:
    """The drawing: super pods as frames, servers as boxes, linked cards on one bar, findings in red with their rule.

    With `ranks`, cards have the colours of their groups instead of those of linked cards. A table with more than
    MAX_HOSTS servers is collapsed: of uniform servers the first and the last are drawn.
    """
    shown = _bounded(picture)
    sheet = _sheet(shown, ranks)
    pods = [_pod(pod, sheet, is_framed=len(shown.pods) > 1) for pod in shown.pods]
    if shown.more_pods:
        pods.append(_line(and_more(counted(shown.more_pods, "more super pod")), PALE))
    width = max([_MIN_WIDTH, *(pod.width for pod in pods)])
    title = stacked([_line(line, INK, size=18) for line in wrapped(translated(shown.title), columns(width, 18))], 2)
    notes = [(line, INK) for line in shown.networks] + [
        (finding.text, _hue(finding.severity)) for finding in shown.findings
    ]
    lines = [_line(line, color) for text, color in notes for line in wrapped(translated(text), columns(width, 13))]
    legend = in_rows([*_legend(shown, sheet)], width, 18)
    whole = stacked([title, *pods, legend, *([stacked(lines, 4)] if lines else [])], _GAP)
    across, down = width + 2 * _MARGIN, whole.height + 2 * _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across:g} {down:g}" width="{across:g}"'
        f' height="{down:g}" font-family="sans-serif">\n{tooltip(shown.title)}\n'
        f'<rect width="100%" height="100%" fill="{WHITE}"/>\n{moved(whole.body, _MARGIN, _MARGIN)}\n</svg>\n'
    )


def _bounded(picture: Picture) -> Picture:
    """The drawn part of a picture: at most MAX_HOSTS servers and about _MAX_CARDS cards."""
    parts = one_by_one(picture) if picture.size <= MAX_HOSTS else with_ends(picture)
    largest = collapsed(parts, MAX_HOSTS)
    most = max([len(run.hosts[0].cards) for run in largest.runs], default=0)
    return collapsed(parts, max(1, min(MAX_HOSTS, _MAX_CARDS // max(1, most))))


def _hue(severity: str) -> str:
    return _RED if severity == "error" else _AMBER


def _worst(findings: Sequence[Finding]) -> str:
    return _hue(min([finding.severity for finding in findings], default="error"))  # "error" comes before "warning"


def _line(text: str, color: str, size: float = 13) -> Piece:
    body = label(text, size, color=color, is_bold=size > 13)
    return Piece(moved(body, 0, size), 0, size + 4)


def _sheet(picture: Picture, ranks: RankGroups | None) -> _Sheet:
    hosts = [run.hosts[0] for run in picture.runs if _is_drawn(run)]
    cards = [card for host in hosts for card in host.all_cards]
    sheet = _Sheet(0, 0, any(card.findings for card in cards), picture.planes, picture.noun, ranks)
    sizes = [_groups(host, sheet) for host in hosts]
    width = max([size.width for size in sizes], default=0)
    height = max([size.height for size in sizes], default=0)
    return sheet._replace(width=max(width + 2 * _PAD, 200), height=max(_HEAD + height + _PAD, 84))


def _is_drawn(run: Run) -> bool:
    return len(run.hosts) == 1 and run.is_uniform and len(run.hosts[0].cards) <= _MAX_CARDS


def _pod(pod: Pod, sheet: _Sheet, *, is_framed: bool) -> Piece:
    """The boxes of a super pod in its frame; servers without super pod have a frame only if there are super pods."""
    boxes = in_rows([_host(run.hosts[0], sheet) if _is_drawn(run) else _rest(run, sheet) for run in pod.runs],
                    _WIDTH - 2 * _PAD, _GAP)  # fmt: skip
    if pod.id is None and not is_framed:
        return boxes
    name = pod_name(pod)
    width, height = max(boxes.width, 200) + 2 * _PAD, boxes.height + 32 + _PAD
    edge = _worst(pod.findings) if pod.findings else FRAME
    frame = rectangle(width, height, radius=12, fill=_POD, edge=edge, thick=2 if pod.findings else 1)
    return Piece(frame + _head(name, pod.findings, width, 14) + moved(boxes.body, _PAD, 32), width, height)


def _head(name: str, findings: Sequence[Finding], width: float, size: float) -> str:
    """A name at the left of a frame, and the broken rules at its right."""
    rules = " ".join(finding.rule for finding in findings)
    room = width - 2 * _PAD - len(rules) * size * 0.7
    marks = moved(label(rules, size - 1, color=_worst(findings), is_bold=True, anchor="end"), width - _PAD, size + 7)
    notes = tooltip(sentences(map(_broken, findings))) if findings else ""
    return f"<g>{notes}{moved(label(name, size, width=room, is_bold=True), _PAD + 2, size + 7)}{marks}</g>"


def _host(host: Host, sheet: _Sheet) -> Piece:
    edge = _worst(host.findings) if host.findings else FRAME
    box = rectangle(sheet.width, sheet.height, radius=8, fill=WHITE, edge=edge, thick=2 if host.findings else 1)
    cards = moved(_groups(host, sheet).body, _PAD, _HEAD)
    return Piece(box + _head(host.id or '""', host.findings, sheet.width, 12) + cards, sheet.width, sheet.height)


def _rest(run: Run, sheet: _Sheet) -> Piece:
    """A pale box that summarizes several servers."""
    if run.is_uniform and len(run.hosts) > 1:
        likeness = Message("show.uniform", "uniform")
    else:
        likeness = Message("show.not-drawn", "not drawn")
    names = [run.hosts[0].id, f".. {run.hosts[-1].id}"] if len(run.hosts) > 1 else [run.hosts[0].id]
    ranks = [ranks_of(run)] if run.ranks and run.is_uniform else []
    lines = [clauses([counted(len(run.hosts), sheet.noun), likeness]), *names, *ranks]
    box = rectangle(sheet.width, sheet.height, radius=8, fill=_BAR, edge=_IDLE)
    texts = [
        moved(label(line, 12, width=sheet.width - 2 * _PAD, color=PALE, is_bold=not place), _PAD + 2, 19 + 17 * place)
        for place, line in enumerate(lines)
    ]
    return Piece(box + "".join(texts), sheet.width, sheet.height)


def _groups(host: Host, sheet: _Sheet) -> Piece:
    """The groups from left to right, _IN_A_ROW cards in a row, each on a bar, with a line if there are several."""
    has_links = len(host.groups) > 1
    bars = [
        _bar(group[start : start + _IN_A_ROW], sheet, number if has_links else None)
        for number, group in enumerate(host.groups)
        for start in range(0, len(group), _IN_A_ROW)
    ]
    width = _IN_A_ROW * (_CARD + _SPACE) + 2 * _SPACE + _PAD
    return in_rows(bars, width, _PAD)


def _bar(cards: Sequence[Card], sheet: _Sheet, group: int | None) -> Piece:
    """A bar of linked cards; `group` is None if all cards of the server are linked."""
    width, height = len(cards) * (_CARD + _SPACE) + _SPACE, _CARD + 2 * _SPACE
    bar = rectangle(width, height, radius=8, fill=_BAR, edge=_IDLE)
    link = moved(f'<rect width="{width - 2 * _SPACE}" height="4" fill="{_LINK}"/>', _SPACE, height / 2 - 2)
    drawn = [
        moved(_card(card, group or 0, sheet), _SPACE + place * (_CARD + _SPACE), _SPACE)
        for place, card in enumerate(cards)
    ]
    below = _MARK if sheet.has_marks else 0
    return Piece(bar + (link if group is not None else "") + "".join(drawn), width, height + below)


def _card(card: Card, group: int, sheet: _Sheet) -> str:
    """A card: its id small, its rank large, the colour of its plane at the bottom, the first broken rule below."""
    planes, colors = sheet.planes, LINKED
    rank_name = (
        Message("show.no-rank", "no rank") if card.rank is None else Message("show.rank", "rank {rank}", rank=card.rank)
    )
    facts = [Message("show.card", "card {card}", card=card.id), rank_name, card.address]
    facts += map(_broken, card.findings)
    if sheet.ranks and card.rank is not None:
        group, colors = sheet.ranks.of_rank[card.rank], RANKS
        facts.append(Message("show.group", "{kind} group {number}", kind=sheet.ranks.kind, number=group))
    color = _worst(card.findings) if card.findings else None
    fill = WHITE if card.rank is None else colors[group % len(colors)]
    edge = color or (_IDLE if card.rank is None else FRAME)
    rank = "" if card.rank is None else str(card.rank)
    pieces = [
        tooltip(clauses(filter(None, facts))),
        rectangle(_CARD, _CARD, radius=5, fill=fill, edge=edge, thick=3 if color else 1),
        moved(label(str(card.id), 9, width=_CARD, color=PALE), 4, 11),
        moved(
            label(rank, 13 if len(rank) < 4 else 10, color=color or INK, is_bold=True, anchor="middle"), _CARD / 2, 26
        ),
    ]
    if planes > 1 and card.rank is not None:
        pieces.append(moved(f'<rect width="{_CARD - 8}" height="3" fill="{_plane(card.id % planes)}"/>', 4, _CARD - 5))
    if card.findings:
        mark = card.findings[0].rule + ("+" if len(card.findings) > 1 else "")
        pieces.append(moved(label(mark, 9, color=edge, is_bold=True, anchor="middle"), _CARD / 2, _CARD + _SPACE + 11))
    return f"<g>{''.join(pieces)}</g>"


def _plane(plane: int) -> str:
    return PLANES[plane % len(PLANES)]


def _legend(picture: Picture, sheet: _Sheet) -> Iterator[Piece]:
    """The legend of the symbols in this drawing."""
    hosts = [run.hosts[0] for run in picture.runs if _is_drawn(run)]
    cards = [card for host in hosts for card in host.all_cards]
    if cards:
        sample = rectangle(22, 22, radius=4, fill=LINKED[0])
        numbers = moved(label("4", 7, color=PALE), 3, 8) + moved(label("12", 9, is_bold=True, anchor="middle"), 12, 18)
        yield _legend_entry(sample + numbers, Message("show.sample", "card 4 is rank 12"))
    if cards and sheet.ranks:
        tints = [moved(f'<rect width="8" height="22" fill="{color}"/>', 8 * n, 0) for n, color in enumerate(RANKS[:3])]
        yield _legend_entry("".join(tints), Message("show.colours", "colours: {kind} groups", kind=sheet.ranks.kind))
    if any(card.rank is None for card in cards):
        sample = rectangle(22, 22, radius=4, fill=WHITE, edge=_IDLE)
        yield _legend_entry(sample, Message("show.not-in-job", "not in the job"))
    if any(len(host.groups) > 1 for host in hosts):
        sample = moved(f'<rect width="22" height="4" fill="{_LINK}"/>', 0, 9)
        yield _legend_entry(sample, Message("show.linked", "linked cards"))
    if sheet.planes > 1 and cards:
        yield _planes(sheet.planes)
    severities = {finding.severity for host in hosts for finding in host.findings}
    severities |= {finding.severity for card in cards for finding in card.findings}
    for severity in sorted(severities):
        sample = rectangle(20, 20, radius=4, fill=WHITE, edge=_hue(severity), thick=3)
        broken = Message("show.breaks", "breaks a rule: {severity}", severity=SEVERITIES[severity])
        yield _legend_entry(moved(sample, 1, 1), broken)


def _planes(number: int) -> Piece:
    stripes = [
        moved(f'<rect width="22" height="4" fill="{_plane(plane)}"/>', plane * 26, 9)
        + moved(label(str(plane), 9, color=PALE, anchor="middle"), plane * 26 + 11, 22)
        for plane in range(number)
    ]
    caption = _legend_entry("", Message("show.planes", "network planes"))
    return Piece(
        "".join(stripes) + moved(caption.body, number * 26 - 24, 0), caption.width + number * 26 - 24, caption.height
    )


def _legend_entry(sample: str, meaning: Message) -> Piece:
    width = 30 + text_width(translated(meaning)) * 6.6
    return Piece(sample + moved(label(meaning, 12, color=PALE), 30, 15), width, 22)


def _broken(finding: Finding) -> str:
    return Message("show.broken", "{rule}: {message}", rule=finding.rule, message=finding.message)
