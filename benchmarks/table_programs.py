"""Time and memory of the programs that read and write rank tables, on large tables, against json.load and json.dump.

python -m benchmarks.table_programs [--devices 65536] [--million]

Everything is a whole process, as installed (with byte code), in turn with its peer and with a bare interpreter, whose
time is taken off both. The peer of a program loads what it reads and dumps what it writes with the standard library.
Processor time, the best of several runs, which other processes disturb the least.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from benchmarks.row import Row
from benchmarks.table_shapes import CARDS, SHAPES, host, servers

DEVICES = 65536
MILLION = 1_000_000
ENOUGH = 6
"""Seconds for each case. Short cases get more runs in this time: the best of only two runs is often a bad one."""
BARE = ("-c", "pass")
LOAD = "import json, sys\nfor file in sys.argv[1:]: json.load(open(file))"
LOAD_AND_DUMP = "import json, sys\njson.dump(json.load(open(sys.argv[1])), open(sys.argv[2], 'w'), indent=4)"
LOAD_ALL_AND_DUMP = """\
import glob, json, sys
tables = [json.load(open(file)) for file in glob.glob(sys.argv[1] + "/*.json")]
whole = tables[0] | {"server_list": [server for table in tables for server in table["server_list"]]}
json.dump(whole, open(sys.argv[2], "w"), indent=4)
"""
MEASURE = """\
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
CHECK = ("-m", "hccl_kit.cli.check")
KIT = ("-m", "hccl_kit")


class Case(NamedTuple):
    """A program and its peer, as arguments of the interpreter; `clean` is removed before each run."""

    name: str
    peer: Sequence[str]
    program: Sequence[str]
    clean: Path | None = None
    broken: tuple[Path, str] | None = None


class Used(NamedTuple):
    """Seconds of processor time, and MiB of memory at the peak."""

    seconds: float
    peak: float


def used(argv: Sequence[str], folder: Path) -> Used:
    """Measure one run. Its exit code may be 1 (findings).

    The peak of a child includes that of its parent, so a bare interpreter starts it.
    """
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environ["PYTHONPYCACHEPREFIX"] = str(folder / "byte_code")
    measured = [sys.executable, "-c", MEASURE, sys.executable, *argv]
    done = subprocess.run(measured, capture_output=True, text=True, cwd=folder, env=environ, check=True)
    code, seconds, peak = done.stdout.split()
    if code not in ("0", "1"):
        raise SystemExit(f"{argv} ended with {code}: {done.stderr}")
    return Used(float(seconds), int(peak) / 1024)


def measured(case: Case, folder: Path, rounds: int, seconds: float = 0) -> tuple[Used, Used, Used]:
    """The best run of a bare interpreter, of the peer and of the program, of at least `rounds` in `seconds` seconds."""
    runs: dict[str, list[Used]] = {"bare": [], "peer": [], "program": []}
    began = time.monotonic()
    while len(runs["bare"]) < rounds or time.monotonic() < began + seconds:
        for name, argv in (("bare", BARE), ("peer", case.peer), ("program", case.program)):
            if case.broken:
                case.broken[0].write_text(case.broken[1], encoding="utf-8")
            if case.clean:
                case.clean.unlink(missing_ok=True)
            runs[name].append(used(argv, folder))
    bare, peer, program = (min(found) for found in runs.values())
    return bare, peer, program


def text_of(case: Case, folder: Path, rounds: int) -> str:
    """A line: the peer, the program, their ratio without the interpreter, and the memory of both."""
    bare, peer, program = measured(case, folder, rounds)
    net = (program.seconds - bare.seconds) / (peer.seconds - bare.seconds)
    return (
        f"{case.name:48}{peer.seconds * 1e3:>9.0f} ms{program.seconds * 1e3:>9.0f} ms{net:>8.2f}x"
        f"{peer.peak:>9.0f}{program.peak:>9.0f}{program.peak / peer.peak:>8.2f}x"
    )


def checks(folder: Path, devices: int) -> Iterator[Case]:
    """hccl-check of each shape of table."""
    for number, (name, shape) in enumerate(SHAPES.items()):
        if name.startswith("2.0") and devices > 65536:
            continue  # HCCL takes no more
        path = written(folder / f"t{number}_{devices}.json", shape(devices))
        yield Case(f"hccl-check, {devices:,} devices, {name}", ("-c", LOAD, str(path)), (*CHECK, str(path)))


def programs(folder: Path, devices: int) -> Iterator[Case]:
    """The other programs, on servers of eight cards."""
    table, out = servers(devices), folder / "out.json"
    path = written(folder / "whole.json", table)
    others = [server | {"host_nic_ip": "other"} for server in table["server_list"]]
    other = written(folder / "other.json", table | {"server_list": others})
    parts = folder / "parts"
    parts.mkdir()
    for number, server in enumerate(table["server_list"]):
        devices_of = [device | {"rank_id": str(card)} for card, device in enumerate(server["device"])]
        part = table | {"server_count": "1", "server_list": [server | {"device": devices_of}]}
        written(parts / f"hccl_{CARDS}p_01234567_{host(number)}.json", part)
    yield Case(
        f"hccl-merge of {len(table['server_list']):,} files",
        ("-c", LOAD_ALL_AND_DUMP, str(parts), str(out)),
        ("-m", "hccl_kit.cli.merge", str(parts), "-o", str(out)),
        clean=out,
    )
    load = ("-c", LOAD, str(path))
    yield Case("hccl-kit diff, equal", (*load, str(path)), (*KIT, "diff", str(path), str(path)))
    yield Case("hccl-kit diff, every server changed", (*load, str(other)), (*KIT, "diff", str(path), str(other)))
    yield Case("hccl-kit digest", load, (*KIT, "digest", str(path)))
    svg = folder / "drawn.svg"
    yield Case("hccl-kit show --output", load, (*KIT, "show", str(path), "--output", str(svg)), clean=svg)
    copied = ("-c", LOAD_AND_DUMP, str(path), str(out))
    yield Case("hccl-check --fix, nothing to fix", load, (*CHECK, "--fix", str(path)))
    wrong = path.read_text(encoding="utf-8").replace('"server_count": "', '"server_count": " ', 1)
    fixed = folder / "fixed.json"
    yield Case("hccl-check --fix, one count fixed", copied, (*CHECK, "--fix", str(fixed)), broken=(fixed, wrong))


def readers(folder: Path, devices: int) -> Iterator[Case]:
    """The programs that read a table of another shape than servers of eight cards."""
    for number, (name, shape) in enumerate(SHAPES.items()):
        if shape is servers:
            continue
        path, svg = written(folder / f"r{number}.json", shape(devices)), folder / "drawn.svg"
        load = ("-c", LOAD, str(path))
        yield Case(f"hccl-kit diff, equal, {name}", (*load, str(path)), (*KIT, "diff", str(path), str(path)))
        yield Case(f"hccl-kit digest, {name}", load, (*KIT, "digest", str(path)))
        yield Case(f"hccl-kit show --output, {name}", load, (*KIT, "show", str(path), "--output", str(svg)), clean=svg)


def written(path: Path, table: object) -> Path:
    """The table as a file with indent 4."""
    path.write_text(json.dumps(table, indent=4), encoding="utf-8")
    return path


def main() -> None:
    """Print a line for each program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--devices", type=int, default=DEVICES, metavar="N", help="default: %(default)s")
    parser.add_argument("--million", action="store_true", help="also check tables of a million devices")
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="runs of each (default: 7)")
    options = parser.parse_args()
    print(f"{'':48}{'peer':>12}{'program':>12}{'net':>9}{'peak':>9}{'MiB':>9}{'ratio':>9}")
    with tempfile.TemporaryDirectory() as name:
        for case, rounds in cases(Path(name), options.devices, options.rounds, million=options.million):
            print(text_of(case, Path(name), rounds), flush=True)


def cases(folder: Path, devices: int, rounds: int, *, million: bool) -> Iterator[tuple[Case, int]]:
    """Every case and the number of its rounds."""
    yield from ((case, rounds) for case in checks(folder, devices))
    few = min(3, rounds)
    yield from ((case, few) for case in chain(programs(folder, devices), readers(folder, devices)))
    yield from ((case, few) for case in (checks(folder, MILLION) if million else ()))


def rows(*, full: bool) -> Iterator[Row]:
    """For `python -m benchmarks`: times without that of the interpreter; of hccl-check the memory too."""
    with tempfile.TemporaryDirectory() as name:
        for case, rounds in cases(Path(name), DEVICES, 7 if full else 2, million=full):
            bare, peer, program = measured(case, Path(name), rounds, ENOUGH)
            theirs = "`json.load` and `json.dump`" if LOAD not in case.peer else "`json.load`"
            ours, others = ((one.seconds - bare.seconds) * 1e3 for one in (program, peer))
            yield Row(f"{case.name}, processor time", theirs, "ms", ours, others)
            if case.name.startswith("hccl-check,"):
                yield Row(f"{case.name}, memory", theirs, "MiB", program.peak, peer.peak)


if __name__ == "__main__":
    main()
