"""Run the benchmarks and print one table of ratios, each to a named peer of the same run.

    python -m benchmarks [--full] [--only NAME ...] [--write]

Exit code: 0 done, also if a peer is not installed; 1 a benchmark failed, which its row says; 2 the command line is not
valid, or docs/benchmarks.md has no place for the table.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from benchmarks.registry import BENCHMARKS, SEPARATE
from benchmarks.running import ROOT, rows_of
from benchmarks.table import PageError, load, placed, section

PAGE = ROOT / "docs/benchmarks.md"
NAMES = [benchmark.name for benchmark in BENCHMARKS]


def main(page: Path = PAGE) -> int:
    """Measure, print, and write the page if that is asked for; returns the exit code."""
    args = parser().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # or the benchmark that runs would be left behind
    if args.list:
        print(listing())
        return 0
    chosen = [benchmark for benchmark in BENCHMARKS if not args.only or benchmark.name in args.only]
    if args.write:
        placed(page.read_text(encoding="utf-8"), "")  # before an hour of work
    rows, loads, has_failed = [], [load()], False
    for number, benchmark in enumerate(chosen, 1):
        print(f"{number} of {len(chosen)}: {benchmark.name}, {benchmark.about}", file=sys.stderr, flush=True)
        found, failed = rows_of(benchmark, full=args.full)
        rows += found
        loads.append(load())
        has_failed |= failed
    text = section(rows, full=args.full, loads=loads)
    print(text, end="")
    if args.write:
        page.write_text(placed(page.read_text(encoding="utf-8"), text), encoding="utf-8")
        print(f"wrote: {page.relative_to(page.parent.parent)}", file=sys.stderr)
    return int(has_failed)


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    length = made.add_mutually_exclusive_group()
    length.add_argument("--quick", action="store_true", help="few rounds, some minutes (default)")
    length.add_argument("--full", action="store_true", help="all rounds and the largest sizes, an hour or more")
    scope = made.add_mutually_exclusive_group()
    scope.add_argument("--only", nargs="+", choices=NAMES, metavar="NAME", help=f"of {', '.join(NAMES)}")
    scope.add_argument(
        "--write", action="store_true", help="write the table of this processor into docs/benchmarks.md, too"
    )
    scope.add_argument("--list", action="store_true", help="list the benchmarks, and what is not run here")
    return made


def listing() -> str:
    """The benchmarks with their peers, and the separate programs."""
    width = max(map(len, [*NAMES, *SEPARATE]))
    lines = [f"{one.name:{width}}  {one.about}, against {one.peer}" for one in BENCHMARKS]
    lines += ["", "Not run here, python -m benchmarks.NAME:"]
    return "\n".join([*lines, *(f"{name:{width}}  {about}" for name, about in SEPARATE.items())])


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
