"""hccl-kit preflight --all with many servers: a script in place of ssh prints the answer of a real one.

    python -m benchmarks.preflight_scale [--quick] [--servers N]

Each server answers alike, answers with an error of its own, or does not answer. Measured: time, processor time of
hccl-kit itself, its memory, the most connections at once, and the lines that a person reads.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.table_shapes import CARDS, host, servers
from hccl_kit.remote.ssh import SSH_VARIABLE

FAKE = """#!/bin/sh
# The last two words are the address and the command.
while [ $# -gt 2 ]; do shift; done
echo + >>count
cat >/dev/null
case $ANSWERS in
    dead) echo "ssh: connect to host $1 port 22: No route to host" >&2; code=255 ;;
    alike) sed "s/SERVER/$1/g" answer.json ;;
    other) sed "s/SERVER/$1/g; s/MESSAGE/$1 has a finding of its own/g" answer.json ;;
esac
echo - >>count
exit ${code:-0}
"""
KINDS = ("alike", "other", "dead")


def answer(table: Path, folder: Path) -> str:
    """The answer of a server, with SERVER for its id and MESSAGE in its first finding."""
    command = [sys.executable, "-m", "hccl_kit", "preflight", table.name, "--format", "json", "--server", host(1)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    value = json.loads(done.stdout)
    (one,) = value["servers"]
    one |= {"server": "SERVER", "machine": "SERVER"}
    one["findings"] = [{**found, "message": "MESSAGE"} for found in one["findings"][:1]]
    one["facts"].pop("host", None)
    return json.dumps(one)


def most_at_once(path: Path) -> int:
    """The most connections that were open at a time."""
    running = most = 0
    for line in path.read_text(encoding="ascii").split():
        running += 1 if line == "+" else -1
        most = max(most, running)
    return most


def row(folder: Path, count: int, kind: str) -> str:
    """A line of a markdown table."""
    (folder / "count").write_text("")
    environ = {**os.environ, SSH_VARIABLE: str(folder / "ssh"), "ANSWERS": kind}
    command = [sys.executable, "-m", "hccl_kit", "preflight", "table.json", "--all", "--server", host(0)]
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout
    lines = process.stdout.read().splitlines()
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return (
        f"| {count} | {kind} | {time.monotonic() - began:.1f} | {used.ru_utime + used.ru_stime:.1f}"
        f" | {used.ru_maxrss / 1024:.0f} MiB | {most_at_once(folder / 'count')} | {len(lines)} lines,"
        f" the longest {max(map(len, lines))} characters |"
    )


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20 servers")
    parser.add_argument("--servers", type=int, default=1000, metavar="N", help="(default: %(default)s)")
    args = parser.parse_args()
    count = 20 if args.quick else args.servers
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {load}\n")
    print("| servers | answers | time, s | processor, s | memory | at once | report |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "table.json").write_text(json.dumps(servers(count * CARDS)))
        (folder / "ssh").write_text(FAKE)
        (folder / "ssh").chmod(0o755)
        (folder / "answer.json").write_text(answer(folder / "table.json", folder))
        for kind in KINDS:
            print(row(folder, count, kind), flush=True)


if __name__ == "__main__":
    main()
