"""The picture of a table in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable, text_width
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import clauses, counted, plural, spans
from hccl_kit.show.collapse import collapsed, one_by_one
from hccl_kit.show.layout import Card, FindingLine, Host, Picture, Pod, Run, and_more, pod_name, ranks_of
from hccl_kit.show.text_width import cut, padded, wrapped
from hccl_kit.table.finding import Finding

MIN_WIDTH = 20
_MAX_LINES = 36
"""Lines of servers, without findings, that fit on a screen."""
_MAX_ROWS = 8
"""Rows of cards of one server."""
_FEW = 4
"""Up to this number, all servers are drawn with their cards, even if they are uniform."""
_RED, _YELLOW, _BOLD, _PLAIN = "\033[31m", "\033[33m", "\033[1m", "\033[0m"
_INDENT = "  "
_MARGIN = 4 + len("card ")
"""Cells before the first card of a line."""


class _Line(NamedTuple):
    text: str
    color: str = ""


class _Columns(NamedTuple):
    """The common columns of all lines: the width of a card, whether addresses fit, the width of a run's name."""

    card: int
    has_addresses: bool
    name: int

    def in_row(self, width: int) -> int:
        """The number of cards on a line of `width` cells."""
        return max(1, (width - _MARGIN) // (self.card + 1))

    def placed(self, text: str) -> str:
        """The text in the column of a card: right-aligned, but left-aligned above an address."""
        return padded(text, self.card) if self.has_addresses else " " * (self.card - text_width(text)) + text


def as_text(picture: Picture, width: int, *, color: bool = False) -> str:
    """The picture in about a screenful of lines of at most `width` cells, at least MIN_WIDTH."""
    width = max(MIN_WIDTH, width)
    shown = _bounded(one_by_one(picture) if picture.size <= _FEW else picture, width)
    columns = _columns(shown, width)
    drawn = [line for pod in shown.pods for line in _pod(pod, shown, columns, width)]
    if shown.more_pods:
        drawn.append(_Line(translated(and_more(counted(shown.more_pods, "more super pod")))))
    lines = [
        *(_Line(line, _BOLD) for line in wrapped(printable(translated(shown.title)), width)),
        *(_Line(cut(printable(line.text), width), line.color) for line in drawn),
        *(_Line(cut(printable(translated(line)), width)) for line in shown.networks),
        *(
            _Line(line, _color([finding]))
            for finding in shown.findings
            for line in wrapped(printable(translated(finding.text)), width)
        ),
    ]
    return "\n".join(f"{line.color}{line.text}{_PLAIN}" if color and line.color else line.text for line in lines)


def _bounded(picture: Picture, width: int) -> Picture:
    """The part of a picture that fits on a screen: the more lines a server takes, the fewer servers."""
    largest = collapsed(picture, _MAX_LINES)  # no more servers than lines
    columns = _columns(largest, width)
    alone = [run.hosts[0] for run in largest.runs if len(run.hosts) == 1]
    lines = max([1 + 2 * min(_MAX_ROWS, len(_rows(host, columns.in_row(width)))) for host in alone], default=1)
    lines += any(pod.id is not None for pod in picture.pods)
    return collapsed(picture, max(_FEW, _MAX_LINES // lines))


def _columns(picture: Picture, width: int) -> _Columns:
    hosts = [run.hosts[0] for run in picture.runs if len(run.hosts) == 1]
    cards = [card for host in hosts for card in host.all_cards]
    plain = max([len(str(number)) for card in cards for number in (card.id, card.rank or 0)], default=1)
    names = [text_width(_name(run)) for run in picture.runs if len(run.hosts) > 1]
    addresses = max([text_width(card.address) for card in cards], default=0)
    widest = max([sum(map(len, host.groups)) * (addresses + 1) + 2 * len(host.groups) for host in hosts], default=0)
    fit = addresses > 0 and len(hosts) <= _FEW and widest + _MARGIN <= width
    return _Columns(max(plain, addresses) if fit else plain, fit, min(max(names, default=0), width // 2))


def _pod(pod: Pod, picture: Picture, columns: _Columns, width: int) -> Iterator[_Line]:
    if pod.id is not None:
        yield _named(translated(pod_name(pod)), pod.findings, width)
    elif len(picture.pods) > 1:
        yield _Line(translated(pod_name(pod)))
    for run in pod.runs:
        if len(run.hosts) == 1 and run.is_uniform:
            yield from _host(run.hosts[0], columns, width)
        else:
            yield _Line(_INDENT + _run(run, picture.noun, columns.name))


def _name(run: Run) -> str:
    return f"{run.hosts[0].id} .. {run.hosts[-1].id}"


def _run(run: Run, noun: str, width: int) -> str:
    """Several servers on one line; `width` is the column of the names."""
    if not run.is_uniform:
        number = len(run.hosts)
        return translated(
            and_more(counted(number, "more network") if noun == "network" else counted(number, "more server"))
        )
    facts: list[str] = [counted(len(run.hosts), noun)]
    if run.ranks:
        facts.append(ranks_of(run))
    cards = ",".join(spans(card.id for card in run.hosts[0].cards))
    none = Message("show.no-cards", "no cards each")
    facts.append(Message("show.cards", "cards {cards} each", cards=cards) if cards else none)
    return f"{padded(cut(_name(run), width), width)}  {translated(clauses(facts))}"


def _host(host: Host, columns: _Columns, width: int) -> Iterator[_Line]:
    """A server: its name, then its cards in groups above their ranks, "." for a card without rank."""
    yield _named(_INDENT + (host.id or '""'), host.findings, width)
    rows = _rows(host, columns.in_row(width))
    for row in rows[:_MAX_ROWS]:
        cards = _cells(row, columns, lambda card: str(card.id))
        yield _Line(translated(Message("show.row-cards", "    card {cards}", cards=cards)))
        yield _Line("    rank " + _cells(row, columns, lambda card: "." if card.rank is None else str(card.rank)))
        if columns.has_addresses:
            yield _Line("    addr " + _cells(row, columns, lambda card: card.address))
        findings = {finding.rule: finding for card in row if card for finding in card.findings}
        if findings:
            marks = _cells(row, columns, lambda card: "^" if card.findings else "").replace("|", " ")
            yield _Line("         " + marks, _color([*findings.values()]))
        for rule, finding in findings.items():
            at = [card.id for card in row if card and rule in [finding.rule for finding in card.findings]]
            noun, ids = plural("card", len(at)), ",".join(spans(at))
            where = Message("show.card-finding", "{noun} {cards}: {rule}", noun=noun, cards=ids, rule=rule)
            yield _Line("         " + translated(where), _color([finding]))
    if len(rows) > _MAX_ROWS:
        yield _Line("    " + translated(and_more(counted(sum(map(bool, chain(*rows[_MAX_ROWS:]))), "more card"))))


def _cells(row: Sequence[Card | None], columns: _Columns, shown: Callable[[Card], str]) -> str:
    return " ".join("|" if card is None else columns.placed(shown(card)) for card in row).rstrip(" |")


def _rows(host: Host, most: int) -> Sequence[Sequence[Card | None]]:
    """The cards in rows of at most `most`; None separates two groups."""
    cards: list[Card | None] = []
    for group in host.groups:
        cards += [None, *group] if cards and group else group
    rows = [cards[start : start + most] for start in range(0, len(cards), most)]
    return [row for row in rows if any(row)]


def _named(name: str, findings: Sequence[Finding], width: int) -> _Line:
    """A name and its broken rules; only the name is cut if the line is too long."""
    rules = f"  <- {' '.join(finding.rule for finding in findings)}" if findings else ""
    return _Line(cut(name, max(MIN_WIDTH // 2, width - len(rules))) + rules, _color(findings))


def _color(findings: Sequence[Finding | FindingLine]) -> str:
    return "" if not findings else _RED if any(finding.severity == "error" for finding in findings) else _YELLOW
