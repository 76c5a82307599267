"""hccl-kit preflight --cards of 64 servers with 8 cards each: faults planted in it, rounds, time, load.

    python -m benchmarks.card_pings [--servers 64] [--cards 8]

A script plays ssh, and fakes of hccn_tool and npu-smi, which answer at once, play the tools of each server in a mount
namespace of its own (needs root). All servers run on this machine at the same time, so 64 of them make its load 700.
One card is dead and one module is weak: the report must name these two and no other card, and hccn_tool must never run
twice at once for a card. Real pings take seconds; the time here is that of the fakes.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from tests.preflight.card_cluster import CardCluster
from tests.preflight.samples import sample

DEAD, WEAK = (1, 1), (2, 0)
"""Server and card of the planted faults."""


def plant(cluster: CardCluster) -> tuple[str, str]:
    """Plant both faults; returns the beginnings of the two findings."""
    lost = sample("a2/hccn-ping-lost.txt")
    for name in cluster.names:
        cluster.say(name, f"ping.to.{address(cluster, *DEAD)}", lost)
    cluster.say(cluster.names[DEAD[0]], f"ping.{DEAD[1]}", lost)
    weak = sample("a2/hccn-optical.txt").replace("0.8500", "0.0200")
    cluster.say(cluster.names[WEAK[0]], f"optical.{WEAK[1]}", weak)
    dead, module = (f"card {card} of {cluster.names[server]}: " for server, card in (DEAD, WEAK))
    return f"HK663 error: {dead}it reaches no card", f"HK664 warning: {module}Rx Power2"


def address(cluster: CardCluster, server: int, card: int) -> str:
    """The address of a card in the table."""
    found: str = cluster.made["server_list"][server]["device"][card]["device_ip"]
    return found


def main() -> int:
    """Measure, and print what was found; returns 1 if that is not what was planted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=64, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--cards", type=int, default=8, metavar="N", help="(default: %(default)s)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        cluster = CardCluster(Path(name), args.servers, args.cards)
        expected = plant(cluster)
        began, load = time.monotonic(), os.getloadavg()[0]
        done = cluster.run(seconds=3600)
        seconds = time.monotonic() - began
        twice = [*Path(name).glob("*.hccn/twice")]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    findings = [line for line in done.stdout.splitlines() if line.startswith("HK")]
    print(done.stdout, done.stderr, sep="")
    print(
        f"{os.cpu_count()} cores, load {load:.1f} before and {os.getloadavg()[0]:.1f} after: {seconds:.0f} s, "
        f"{used.ru_utime + used.ru_stime:.0f} s of processor time with all fakes; twice at once: {len(twice)}"
    )
    is_right = len(findings) == 2 and all(map(str.startswith, findings, expected)) and not twice
    print("right: both are named, and no other card" if is_right else f"wrong: expected {expected}")
    return not is_right


if __name__ == "__main__":
    sys.exit(main())
