"""The starter of `hccl-kit run --ssh` with many servers on one machine.

    python -m benchmarks.link_scale [--quick] [--nodes N ...]

A shell script in the place of ssh plays the agent of a server. Measured: seconds until all servers have started and
those of a processor that the starter took for it; seconds until the job is over, if all ranks are done, one fails, or a
server is lost; and of the starter, while nothing but signs of life passes, the share of a core, memory, descriptors and
threads.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.own_program import own_program
from hccl_kit.table import formats
from tests.launch.nodes import table_of

NODES = (10, 100, 1000)
STEADY = 4.0
"""Seconds for which processor time is measured while nothing but signs of life passes."""
LIMIT = 600.0
"""Seconds that a run waits for the servers; a busy machine starts a thousand in minutes."""
DONE, FAIL, LOSE = "done", "fail", "lose"
ENDS = (DONE, FAIL, LOSE)
SERVER = """#!/bin/sh
# Plays ssh and the agent behind it; ranks 2N and 2N+1 are on server 10.1.X.Y with N = 250X + Y.
for word; do [ "$word" != -- ] || break; shift; done
address=$2
size=$(echo "$3" | sed -n 's/.* \\([0-9][0-9]*\\) hccl_kit.agent$/\\1/p')
head -c "$size" >/dev/null
head -n 1 >/dev/null # the assignment; read takes a byte at a time
echo '{"is": "Ready", "is_here": true}'
y=${address##*.} x=${address%.*}
rank=$((2 * (250 * ${x##*.} + y)))
while read -r line; do
    case $line in
        *'"Start"'*) echo '{"is": "Started", "port": 4711}'; echo "$address" >>started ;;
        *'"Clear"'*) echo '{"is": "Left", "gone": {"is": "Gone", "step": null, "first": null}, "age": 0.0}' ;;
        *'"Describe"'*) echo '{"is": "Failure", "text": "error: a rank failed"}' ;;
        *'"End"'*) exit 0 ;;
        *'"Send"'*) for own in $rank $((rank + 1)); do echo '{"is": "Exited", "rank": '$own', "code": 143}'; done ;;
        "") echo; [ ! -e order ] || [ -n "$said" ] || { said=1; read -r order name <order
            case $order in
                done) for own in $rank $((rank + 1)); do echo '{"is": "Exited", "rank": '$own', "code": 0}'; done ;;
                fail) [ "$address" != "$name" ] || echo '{"is": "Exited", "rank": '$rank', "code": 1}' ;;
                lose) [ "$address" != "$name" ] || exit 255 ;;
            esac; } ;;
    esac
done
"""


class Middle(NamedTuple):
    """The process in the middle while the job runs: its share of a processor, memory, descriptors and threads."""

    load: float
    mib: float
    descriptors: int
    threads: int


class Run(NamedTuple):
    """Seconds until all servers had started, seconds of processor time that the starter used until then, and seconds
    until the job was over.
    """

    started: float
    used: float
    ended: float
    middle: Middle


def processor_seconds(pid: int) -> float:
    """The processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def middle_of(pid: int) -> Middle:
    """Measure a process for STEADY seconds."""
    before, began = processor_seconds(pid), time.monotonic()
    time.sleep(STEADY)
    load = (processor_seconds(pid) - before) / (time.monotonic() - began)
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines())
    memory = int(status["VmHWM"].split()[0]) / 1024
    return Middle(load, memory, len(list(Path(f"/proc/{pid}/fd").iterdir())), int(status["Threads"]))


def measured(folder: Path, nodes: int, end: str) -> Run:
    """A job of `nodes` servers, whose starter is the one that users have."""
    fake = folder / "ssh"
    fake.write_text(SERVER)
    fake.chmod(0o755)
    names = [f"10.1.{number // 250}.{number % 250}" for number in range(nodes)]
    (folder / "table.json").write_text(formats.write(table_of(names)), encoding="utf-8")
    began = time.monotonic()
    starter = subprocess.Popen(
        own_program("hccl_kit", "run", "table.json", "--ssh", "--", "true"),
        cwd=folder,
        env={**os.environ, "HCCL_KIT_SSH": str(fake), "HCCL_KIT_DIAGNOSE": "0", "PWD": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_for_lines(folder / "started", nodes, starter)
        all_started, used = time.monotonic() - began, processor_seconds(starter.pid)
        middle = middle_of(starter.pid)
        began = time.monotonic()
        order = folder / "order.part"
        order.write_text(f"{end} {names[1]}\n")
        order.rename(folder / "order")
        starter.wait(LIMIT)
        return Run(all_started, used, time.monotonic() - began, middle)
    finally:
        starter.kill()
        starter.wait()


def wait_for_lines(path: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a file has `count` lines. Raises TimeoutError."""
    end = time.monotonic() + LIMIT
    while (found := path.read_bytes().count(b"\n") if path.exists() else 0) < count:
        if time.monotonic() > end or process.poll() is not None:
            raise TimeoutError(f"{found} of {count} servers started, exit code {process.poll()}")
        time.sleep(0.02)


def rows(sizes: Iterable[int], ends: Iterable[str]) -> Iterable[str]:
    """A line of a markdown table for each run."""
    for nodes in sizes:
        for end in ends:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                try:
                    run = measured(Path(folder), nodes, end)
                except TimeoutError as error:
                    yield f"| {nodes} | {end} | {error} |"
                    continue
            found = run.middle
            yield (
                f"| {nodes} | {end} | {run.started:.1f} | {run.used:.1f} | {run.ended:.1f}"
                f" | {found.load:.0%} | {found.mib:.0f} MiB | {found.descriptors} | {found.threads} |"
            )


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20 nodes, and only jobs that end in order")
    parser.add_argument("--nodes", nargs="+", type=int, default=NODES, metavar="N", help="(default: 10 100 1000)")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # otherwise the running job would be left behind
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {load}\n")
    print("| nodes | end | started, s | processor, s | ended, s | core | memory | descriptors | threads |")
    print("|---|---|---|---|---|---|---|---|---|")
    with suppress(KeyboardInterrupt):
        for row in rows([20] if args.quick else args.nodes, [DONE] if args.quick else ENDS):
            print(row, flush=True)


if __name__ == "__main__":
    main()
