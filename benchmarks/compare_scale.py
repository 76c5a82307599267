"""hccl-kit compare of many servers in one snapshot: time, memory, and the lines that a person reads.

    python -m benchmarks.compare_scale [--servers N]

The servers are copies of this machine with eight cards and 300 packages: all alike; or each has a value of its own, and
one server in a hundred has another driver and a dead link.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hccl_kit.snapshot.document import Snapshot, as_json
from hccl_kit.snapshot.taking import snapshot_of, this_node

CARD = {"chip": "910B3", "health": "OK", "memory": "65536 MB", "link": "UP", "speed": "200000 Mb/s"}


def snapshot(count: int, *, differ: bool) -> Snapshot:
    """A snapshot of `count` servers."""
    (machine,) = snapshot_of(this_node()).servers.values()
    cards = {str(card): CARD for card in range(8)}
    machine = machine._replace(cards=cards, packages={f"package-{number}": "1.2.3" for number in range(300)})
    servers = {}
    for number in range(count):
        made = machine
        if differ:
            made = made._replace(variables={**machine.variables, "HCCL_IF_IP": f"<address {number}> {number}"})
        if differ and number % 100 == 7:
            versions, dead = {**machine.versions, "driver": "24.1.0"}, {**cards, "3": {**CARD, "link": "DOWN"}}
            made = made._replace(versions=versions, cards=dead)
        servers[f"server {number}"] = made
    return Snapshot(servers)


def row(folder: Path, made: Snapshot, name: str) -> str:
    """A line of a markdown table."""
    (folder / "all.json").write_text(as_json(made), encoding="utf-8")
    size = (folder / "all.json").stat().st_size
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "hccl_kit", "compare", "all.json"], cwd=folder, stdout=subprocess.PIPE
    )
    assert process.stdout
    lines = process.stdout.read().splitlines()
    _, status, used = os.wait4(process.pid, 0)
    seconds, memory = time.monotonic() - began, used.ru_maxrss >> 10
    return (
        f"| {len(made.servers)} servers, {name} | {size >> 20} MiB | {seconds:.1f} s | "
        f"{used.ru_utime + used.ru_stime:.1f} s of processor time | {memory} MiB | {len(lines)} lines | "
        f"exit code {os.waitstatus_to_exitcode(status)} |"
    )


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=1000, metavar="N", help="(default: %(default)s)")
    count = parser.parse_args().servers
    print(f"{os.cpu_count()} cores of {platform.machine()}, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as name:
        for differ, kind in ((False, "all alike"), (True, "each with a fact of its own")):
            print(row(Path(name), snapshot(count, differ=differ), kind), flush=True)
    print(f"load {os.getloadavg()[0]:.1f} after")


if __name__ == "__main__":
    main()
