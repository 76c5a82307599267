"""The table of all measurements as markdown, and its place in docs/benchmarks.md: one for each processor."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.row import Row

VARIABLE = "ONEDNN_MAX_CPU_ISA"
"""The limit of oneDNN's instruction sets."""
BEGIN, END = "<!-- written by python -m benchmarks --write -->", "<!-- end of what it writes -->"
HEAD = ("what", "ours", "peer", "the peer's", "ratio")
PACKAGES = ("mindspore", "numpy", "torch", "onnxruntime", "rapidocr")
CPUINFO = Path("/proc/cpuinfo")
SECTION = "### "
"""The beginning of a section; each processor has one."""
NONE = "-"
BUSY = 2
"""With more load than this per core, other programs ran beside the benchmarks."""
BESIDE = "**Other programs ran beside it**: rates and seconds of several threads say little; processor time does."


class PageError(Exception):
    """The page has no place for the table."""


def markdown(rows: Iterable[Row]) -> str:
    """The rows as a table."""
    lines = [HEAD, ("---",) * len(HEAD), *map(_cells, rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cells(row: Row) -> tuple[str, ...]:
    if row.ours is None or row.peers is None or row.ratio is None:
        return row.what, NONE, row.peer, NONE, (row.missing or "no figure").replace("|", "/")
    ratio = f"{row.ratio:.2f}" if row.ratio >= 0.1 else f"{row.ratio:.2g}"
    return row.what, f"{figure(row.ours)} {row.unit}", row.peer, f"{figure(row.peers)} {row.unit}", ratio


def figure(value: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def load() -> float:
    """The load of the last minute."""
    return os.getloadavg()[0]


def section(rows: Iterable[Row], *, full: bool, loads: Sequence[float]) -> str:
    """The part of the page on one processor: its name with the limit, a sentence on the run, and the table."""
    name = processor(CPUINFO)
    limit = os.environ.get(VARIABLE)
    title = f"{name}, {VARIABLE}={limit}" if limit else name
    return f"{SECTION}{title}\n\n{machine(full=full, loads=loads)}\n\n{markdown(rows)}"


def machine(*, full: bool, loads: Sequence[float]) -> str:
    """A sentence on the run: how long, on how many cores, beside which load, with which versions."""
    versions = [f"Python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{name} not installed")
    between = " to ".join(f"{value:.1f}" for value in (min(loads), max(loads)))
    cores = len(os.sched_getaffinity(0))
    is_busy = max(loads) > BUSY * cores
    return (
        f"{'Full' if full else 'Quick'} run on {cores} cores, load of the machine {between}. "
        f"{', '.join(versions)}.{f' {BESIDE}' if is_busy else ''}"
    )


def processor(cpuinfo: Path) -> str:
    """The name of the processor, and its widest vectors and matrices."""
    try:
        text = cpuinfo.read_text(encoding="utf-8")
    except OSError:
        return platform.machine()
    facts = dict(reversed([_pair(line) for line in text.splitlines() if ":" in line]))  # those of the first core
    flags = facts.get("flags", "").split()
    name = facts.get("model name", platform.machine())
    kinds = [label for flag, label in (("avx2", "AVX2"), ("avx512f", "AVX-512"), ("amx_tile", "AMX")) if flag in flags]
    return f"{name} ({', '.join(kinds)})" if kinds else name


def _pair(line: str) -> tuple[str, str]:
    key, _, value = line.partition(":")
    return key.strip(), value.strip()


def placed(page: str, text: str) -> str:
    """The page with the section `text` between its two marks, in the place of that on the same processor.

    Sections on other processors stay. Raises PageError if the marks are not there once, in this order.
    """
    before, begin, rest = page.partition(BEGIN)
    between, end, after = rest.partition(END)
    if not (begin and end) or BEGIN in rest or END in after:
        raise PageError(f"docs/benchmarks.md needs one line {BEGIN!r} and after it one {END!r}")
    _, *found = f"\n{between}".split(f"\n{SECTION}")
    sections = {one.partition("\n")[0]: f"{SECTION}{one.strip()}" for one in found}
    sections[text.removeprefix(SECTION).partition("\n")[0]] = text.strip()
    return "\n\n".join([f"{before}{BEGIN}", *sections.values(), f"{END}{after}"])
