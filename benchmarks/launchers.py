"""Compare launchers: from start to first all-reduce, and how a job ends.

    python -m benchmarks.launchers [--quick] [--only NAME ...] [--ranks N ...] [--torch-python PYTHON]

Every launcher of MindSpore runs the same program on CPU (launched_mindspore.py), which joins by hccl_kit.runtime; those
of torch run a torch program with gloo (launched_torch.py). All start in turn, once a round. The baselines are the
launchers that come with the frameworks: msrun and torchrun. Each job is ended in one of five ways: in
order, by a rank that raises, by a rank that is killed, by SIGTERM and by SIGKILL to the launcher. Processes
that are left are counted, then killed. srun is measured if a Slurm cluster answers (SLURM_CONF names it). Three rounds
take half an hour.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import signal
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import TypeVar

from benchmarks.launched import END, RAISE
from benchmarks.launcher_commands import LAUNCHERS, MINDSPORE, TORCH, Launcher
from benchmarks.launcher_job import (
    ENDS,
    KILL,
    KILL_LAUNCHER,
    LIMIT,
    ORPHAN_LIMIT,
    TERM_LAUNCHER,
    JobError,
    Outcome,
    Start,
    run,
)
from benchmarks.row import Row

Results = dict[tuple[str, int, str], list[Outcome]]
"""Launcher, ranks, how it ended -> one for every job that started."""
T = TypeVar("T")
NEVER = float("inf")
NONE = "-"


def main() -> None:
    """Measure, and print two tables."""
    args = parser().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # otherwise the running job would be left behind
    found = [look(name, args.torch_python) for name, look in LAUNCHERS.items() if name in args.only]
    here = [launcher for launcher in found if not launcher.absent]
    for launcher in found:
        if launcher.absent:
            print(f"left out: {launcher.name}: {launcher.absent}")
    rounds = 1 if args.quick else args.runs
    print(machine(here, rounds), flush=True)
    results = measure(here, args.ranks, rounds)
    print(f"load of the machine at the end: {load()}\n")
    print(*start_table(here, args.ranks, results), sep="\n")
    print(*floor_of(here, args.ranks, results), sep="\n")
    print(*end_table(here, args.ranks[0], results), sep="\n")


def rows(*, full: bool) -> Iterator[Row]:
    """For `python -m benchmarks`: two ranks, against the launchers that come with the frameworks."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    kit, page = "`hccl-kit run`", "`bash ascend2p.sh`"
    for title, framework, names in (
        (kit, MINDSPORE, ("run", "msrun")),
        (page, MINDSPORE, ("script", "msrun")),
        (kit, TORCH, ("run-torch", "torchrun")),
        (page, TORCH, ("script-torch", "torchrun")),
    ):
        yield from _rows(f"{title}, {framework}", names, 3 if full else 1)


def _rows(title: str, names: tuple[str, str], rounds: int) -> Iterator[Row]:
    """The rows of one of our launchers and its peer, which start in turn."""
    pair = [LAUNCHERS[name](name, sys.executable) for name in names]
    peer = names[1]
    absent = [launcher.absent for launcher in pair if launcher.absent]
    if absent:
        yield Row(title, peer, missing=absent[0])
        return
    outcomes = [[{end: run(one, 2, end) for end in (RAISE, KILL)} for one in pair] for _ in range(rounds)]
    sides = [[row[side] for row in outcomes] for side in (0, 1)]
    started, others = (middle(side, lambda row: row[KILL].start.total) for side in sides)
    yield Row(f"{title}: start to first all-reduce", peer, "s", started, others)
    for end, what in ((RAISE, "a rank raises"), (KILL, "a rank gets SIGKILL")):
        ours_gone, others_gone = (statistics.median([took(row[end]) for row in side]) for side in sides)
        words = f"{title}: {what}, until no process is left"
        if max(ours_gone, others_gone) < NEVER:
            yield Row(words, peer, "s", ours_gone, others_gone)
        else:
            yield Row(words, peer, missing=f"processes were left after {LIMIT:.0f} s")


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--runs", type=int, default=3, metavar="N", help="rounds (default: %(default)s)")
    made.add_argument("--quick", action="store_true", help="one round")
    made.add_argument(
        "--only",
        nargs="+",
        choices=LAUNCHERS,
        default=list(LAUNCHERS),
        metavar="NAME",
        help=f"of {', '.join(LAUNCHERS)}",
    )
    made.add_argument(
        "--ranks",
        nargs="+",
        type=int,
        choices=(2, 4, 8),
        default=[2, 4],
        metavar="N",
        help="2, 4 or 8; the first is that of the table of ends (default: 2 4)",
    )
    made.add_argument("--torch-python", default=sys.executable, metavar="PYTHON", help="an interpreter that has torch")
    return made


def machine(here: Iterable[Launcher], rounds: int) -> str:
    """The machine, and its load at the time."""
    versions = [f"mindspore {importlib.metadata.version('mindspore')}"]
    versions += [f"{launcher.name}: {launcher.version}" for launcher in here if launcher.version]
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}, "
        f"Python {platform.python_version()}, {', '.join(versions)}\n"
        f"medians of {rounds} rounds, load of the machine at the start: {load()}"
    )


def load() -> str:
    """The load of the last 1, 5 and 15 minutes."""
    return " ".join(f"{value:.1f}" for value in os.getloadavg())


def measure(here: list[Launcher], ranks: list[int], rounds: int) -> Results:
    """Run all jobs, the launchers in turn; jobs with more ranks than the first number only end in order."""
    kinds = [(ranks[0], end) for end in ENDS] + [(size, END) for size in ranks[1:]]
    results: Results = {(launcher.name, *kind): [] for launcher, kind in product(here, kinds)}
    for number, (size, end), launcher in product(range(rounds), kinds, here):
        print(f"round {number + 1} of {rounds}: {launcher.name}, {size} ranks, {end}", file=sys.stderr, flush=True)
        try:
            results[launcher.name, size, end].append(run(launcher, size, end))
        except JobError as error:
            print(f"{launcher.name} with {size} ranks: {error}", file=sys.stderr)
    return results


def start_table(here: list[Launcher], ranks: list[int], results: Results) -> list[str]:
    """Rows of markdown: medians over all jobs of a size, however they ended."""
    lines = [
        "From start to first all-reduce, s",
        "",
        "| started by | ranks | total | against the baseline | launcher | import | join | of that the floor |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for size, launcher in product(ranks, here):
        total = middle(starts(results, launcher.name, size), lambda start: start.total)
        baseline = middle(starts(results, launcher.baseline, size), lambda start: start.total)
        cells = [
            f"{middle(starts(results, launcher.name, size), part):.2f}" if total < NEVER else NONE
            for part in (lambda start: start.launcher, lambda start: start.imports, lambda start: start.join)
        ]
        floors = [start.floor for start in starts(results, launcher.name, size) if start.floor is not None]
        floor = f"{statistics.median(floors):.2f}" if floors else NONE
        row = [
            launcher.name,
            str(size),
            f"**{seconds(total, LIMIT)}**",
            against(launcher, total, baseline),
            *cells,
            floor,
        ]
        lines.append(f"| {' | '.join(row)} |")
    return lines


def floor_of(here: list[Launcher], ranks: list[int], results: Results) -> list[str]:
    """The part that no launcher can reduce: MindSpore's own."""
    lines = ["", "launcher: the total without import and join."]
    for size in ranks:
        found = [
            s for launcher in here if launcher.framework == MINDSPORE for s in starts(results, launcher.name, size)
        ]
        floors = [start.floor for start in found if start.floor is not None]
        if floors:
            imports = statistics.median(start.imports for start in found)
            lines.append(
                f"MindSpore's own floor with {size} ranks: {statistics.median(floors):.2f} s forming a group on CPU "
                f"(in _init_with_store, the rank that waits longest), and {imports:.2f} s for its import."
            )
    return [*lines, ""]


def end_table(here: list[Launcher], size: int, results: Results) -> list[str]:
    """Rows of markdown: seconds until no process is left, the launcher's exit code, and what is left."""
    lines = [
        f"Seconds from the end of a job of {size} ranks until no process was left, and the launcher's exit code",
        "",
        "| started by | done in order | a rank raises | against the baseline | a rank gets SIGKILL | "
        "against the baseline | SIGTERM to the launcher | SIGKILL to the launcher |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for launcher in here:
        cells = []
        for end in (END, RAISE, KILL, TERM_LAUNCHER, KILL_LAUNCHER):
            outcomes = results[launcher.name, size, end]
            cells.append(ended(outcomes, ORPHAN_LIMIT if end in (TERM_LAUNCHER, KILL_LAUNCHER) else LIMIT))
            if end in (RAISE, KILL):
                baseline = results.get((launcher.baseline, size, end), [])
                cells.append(against(launcher, middle(outcomes, took), middle(baseline, took)))
        lines.append(f"| {' | '.join([launcher.name, *cells])} |")
    return [
        *lines,
        "",
        "Ranks that lose another give up by themselves: under MindSpore on CPU after 30 s, under gloo at once.",
        f"left: processes of the job that still ran {LIMIT:.0f} s after the event that ended it, or "
        f"{ORPHAN_LIMIT:.0f} s after a signal to the launcher.",
    ]


def ended(outcomes: list[Outcome], limit: float) -> str:
    """A cell: "1.20, code 1", or the number of processes left after the limit."""
    if not outcomes:
        return NONE
    codes = sorted({NONE if outcome.code is None else str(outcome.code) for outcome in outcomes})
    left = max(outcome.left for outcome in outcomes)
    return f"{seconds(middle(outcomes, took), limit)}, code {'/'.join(codes)}, {left} left"


def took(outcome: Outcome) -> float:
    """Seconds from the event that ended a job until no process was left."""
    return outcome.seconds


def starts(results: Results, name: str, size: int) -> list[Start]:
    """The starts of all jobs of a launcher with `size` ranks."""
    return [
        outcome.start
        for (launcher, ranks, _), row in results.items()
        if (launcher, ranks) == (name, size)
        for outcome in row
    ]


def middle(rows: Sequence[T], part: Callable[[T], float]) -> float:
    """The median of a part; inf if there is none."""
    return statistics.median(map(part, rows)) if rows else NEVER


def seconds(value: float, limit: float) -> str:
    """A number, or a note that the limit was exceeded."""
    return f"{value:.2f}" if value < NEVER else f">{limit:.0f}"


def against(launcher: Launcher, value: float, baseline: float) -> str:
    """The ratio to the baseline if both ended."""
    return f"{value / baseline:.3g}x {launcher.baseline}" if max(value, baseline) < NEVER else NONE


if __name__ == "__main__":
    main()
