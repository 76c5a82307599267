"""The report of a selftest for a terminal: tables with bars, then what is bad."""

from __future__ import annotations

from collections.abc import Sequence

from hccl_kit.base.colors import with_labels
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import in_columns, printable
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import clauses, counted, joined, listed
from hccl_kit.selftest.evidence import Weighed
from hccl_kit.selftest.faults import Fault
from hccl_kit.selftest.measured import Link, Measured
from hccl_kit.selftest.rounds import Names

MAX_ROWS = 28
"""Pairs or ranks that are listed; of more, the slowest."""
_BAR = 24
_INSIDE, _BETWEEN = Message("selftest.inside", "inside"), Message("selftest.between", "between")
_OF_TORCH = {"gloo": "gloo", "nccl": "NCCL", "hccl": "HCCL"}
_OTHERS = {"mindspore": Message("selftest.mindspore-cpu", "MindSpore on the CPU"), "mpi": "MPI"}


def as_text(measured: Measured, weighed: Weighed, *, table: str, color: bool) -> str:
    """The whole report."""
    servers = len({card.server for card in measured.cards})
    title = Message(
        "selftest.title",
        "{table}: {ranks} on {servers}, measured with {backend}",
        table=table,
        ranks=counted(len(measured.cards), "rank"),
        servers=counted(servers, "server"),
        backend=_backend(measured.backend),
    )
    tables = [_compute(measured), _links(measured), _splits(measured), _collectives(measured)]
    parts: list[list[str]] = [[title], *tables, _verdict(measured, weighed)]
    text = "\n".join(printable(translated(line)) for part in parts if part for line in [*part, ""]).rstrip("\n")
    return with_labels(text) if color else text


def _backend(name: str) -> str:
    if name in _OF_TORCH:
        return Message("selftest.torch-with", "torch with {library}", library=_OF_TORCH[name])
    return _OTHERS.get(name, name)


def _compute(measured: Measured) -> list[str]:
    if not measured.compute:
        return []
    names = Names(measured.cards)
    kept = sorted(measured.compute, key=lambda each: each.gflops)[:MAX_ROWS]
    most = max(each.gflops for each in measured.compute)
    rows = [
        (names.rank(each.rank), f"{each.gflops:.1f}", f"{each.memory:.2f}", _bar(each.gflops, most))
        for each in sorted(kept, key=lambda each: each.rank)
    ]
    heads = (
        Message("selftest.head-arithmetic", "arithmetic"),
        "GFLOP/s",
        Message("selftest.head-memory", "memory GB/s"),
    )
    return _table((*heads, ""), rows, len(measured.compute))


def _links(measured: Measured) -> list[str]:
    if not measured.links:
        return []
    names = Names(measured.cards)
    kept = set(sorted(measured.links, key=lambda link: link.bandwidth or 0.0)[:MAX_ROWS])
    most = max(link.bandwidth or 0.0 for link in measured.links)
    rows = [
        (
            joined(link.pair),
            _INSIDE if names.is_inside(link.pair) else _BETWEEN,
            *_figures(link, most),
        )
        for link in sorted(measured.links, key=lambda link: link.pair)
        if link in kept
    ]
    heads = (Message("selftest.head-pair", "pair of ranks"), Message("selftest.head-servers", "servers"), "GB/s", "")
    return _table(heads, rows, len(measured.links))


def _figures(link: Link, most: float) -> tuple[str, str]:
    if link.is_wrong:
        return "-", Message("selftest.wrong", "wrong result")
    if link.bandwidth is None:
        return "-", link.problem
    return f"{link.bandwidth:.3f}", _bar(link.bandwidth, most)


def _collectives(measured: Measured) -> list[str]:
    if not measured.collectives:
        return []
    most = max(each.bus or 0.0 for each in measured.collectives)
    rows = []
    for collective in measured.collectives:
        if collective.seconds is None or collective.algorithm is None or collective.bus is None:
            rows.append((collective.operator, _bytes(collective.size), "-", "-", "-", collective.problem))
        else:
            figures = (f"{collective.seconds * 1e6:.1f}", f"{collective.algorithm:.3f}", f"{collective.bus:.3f}")
            rows.append(
                (
                    collective.operator,
                    _bytes(collective.size),
                    *figures,
                    collective.problem or _bar(collective.bus, most),
                )
            )
    heads = (
        Message("selftest.head-collective", "collective"),
        Message("selftest.head-size", "size"),
        Message("selftest.head-time", "time us"),
    )
    lines = _table((*heads, "algbw GB/s", "busbw GB/s", ""), rows, len(rows))
    if measured.skipped:
        skipped = listed(measured.skipped)
        lines.append(
            Message("selftest.skipped", "not offered by this framework on this device: {operators}", operators=skipped)
        )
    return lines


def _splits(measured: Measured) -> list[str]:
    """Both halves of each split in their best pass."""
    sides = [
        (listed(half, 3), max(bandwidths))
        for split in measured.splits
        for half, bandwidths in zip(split.halves, zip(*split.bandwidths, strict=True), strict=True)
    ][:MAX_ROWS]
    most = max((best for _, best in sides), default=0.0)
    rows = [(name, f"{best:.3f}", _bar(best, most)) for name, best in sides]
    heads = (Message("selftest.head-half", "half of the servers"), "GB/s", "")
    return _table(heads, rows, 2 * len(measured.splits)) if rows else []


def _verdict(measured: Measured, weighed: Weighed) -> list[str]:
    faults, doubts = weighed
    lines: list[str] = []
    for fault in doubts[:MAX_ROWS]:
        lines += [Message("selftest.warning", "warning: {message}", message=fault.message), _fix(fault)]
    if len(doubts) > MAX_ROWS:
        lines.append(_more(counted(len(doubts) - MAX_ROWS, "more warning")))
    for fault in faults[:MAX_ROWS]:
        lines += [Message("selftest.error", "error: {message}", message=fault.message), _fix(fault)]
    if len(faults) > MAX_ROWS:
        lines.append(_more(counted(len(faults) - MAX_ROWS, "more error")))
    if not faults:
        sizes = clauses([counted(len(measured.links), "pair"), counted(len(measured.collectives), "collective")])
        lines.append(Message("selftest.ok", "ok: {sizes}", sizes=sizes))
    return lines


def _fix(fault: Fault) -> Message:
    return Message("selftest.fix", "  fix: {hint}", hint=fault.hint)


def _more(number: Message) -> Message:
    return Message("selftest.more", "and {number}; --format json has them all", number=number)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], number: int) -> list[str]:
    """Columns under their heads: the first to the left, figures to the right, the last is a bar or a reason."""
    lines = in_columns([[*map(translated, row)] for row in (heads, *rows)], left=(0, len(heads) - 1))
    if number > len(rows):
        lines.append(Message("selftest.slowest", "the slowest {shown} of {number}", shown=len(rows), number=number))
    return lines


def _bar(value: float, most: float) -> str:
    return "#" * max(1, round(_BAR * value / most)) if most > 0 else ""


def _bytes(size: int) -> str:
    """Such as 64 KiB; bytes if it is not nearly a whole number of them."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        whole = round(size / (1 << power))
        if whole and abs(size - (whole << power)) < size / 100:
            return f"{whole} {unit}"
    return f"{size} B"
