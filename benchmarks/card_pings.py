"""hccl-kit preflight --cards of 64 servers with 8 cards each: faults planted in it, rounds, time, load.

    python -m benchmarks.card_pings [--servers 64] [--cards 8] [--ping 6] [--login 1]

A script plays ssh, and fakes of hccn_tool and npu-smi play the tools of each server in a mount namespace of its own
(needs root). All servers run on this machine. A ping sleeps, as a real one waits, for a time between those that are
assumed, and each server takes longer to log in than the one before: at once, 64 of them would start 64 Pythons and 512
pings. A ping costs about 8 ms of processor time here, a server 2 s.
One card is dead and one module is weak: the report must name these two and no other card, and hccn_tool must never run
twice at once for a card. From the rounds and the seconds of a ping follows the least time; the rest is what it costs.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from threading import Event, Thread

from hccl_kit.check.engine import check_text
from hccl_kit.preflight.card_round import Plan, plan_of
from hccl_kit.table.products import any_product
from tests.preflight.card_cluster import CardCluster
from tests.preflight.samples import sample

DEAD, WEAK = (1, 1), (2, 0)
"""Server and card of the planted faults."""


class Load(Thread):
    """The highest load of this machine while it runs, as the mean of a minute."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.before = self.highest = os.getloadavg()[0]
        self.ended = Event()

    def run(self) -> None:
        """Look every two seconds."""
        while not self.ended.wait(2):
            self.highest = max(self.highest, os.getloadavg()[0])


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


def plan(cluster: CardCluster) -> Plan:
    """The rounds and pings of the table."""
    table = check_text((cluster.folder / "t.json").read_text(), "t.json").table
    assert table is not None
    return plan_of(table, any_product(), all_pairs=False)


def main() -> int:
    """Measure, and print what was found; returns 1 if that is not what was planted."""
    args = _arguments()
    with tempfile.TemporaryDirectory() as name:
        cluster = CardCluster(Path(name), args.servers, args.cards, args.login)
        cluster.variables["FAKE_PING_SECONDS"] = str(args.ping)
        expected, planned = plant(cluster), plan(cluster)
        load = Load()
        load.start()
        began = time.monotonic()
        done = cluster.run("--timeout", "600")
        seconds = time.monotonic() - began
        load.ended.set()
        twice = cluster.cards_asked_twice_at_once()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    findings = [line for line in done.stdout.splitlines() if line.startswith("HK")]
    print(done.stdout, done.stderr, sep="")
    print(
        f"{planned.pings} pings in {planned.rounds} rounds of {args.ping:g} s: {planned.rounds * args.ping:.0f} s at "
        f"least, and it took {seconds:.0f} s\n"
        f"{os.cpu_count()} cores, load {load.before:.1f} before and {load.highest:.1f} at most; "
        f"{sum(one.ru_utime + one.ru_stime for one in used):.0f} s of processor time with all fakes\n"
        f"cards for which hccn_tool ran twice at once: {len(twice)}"
    )
    is_right = len(findings) == 2 and all(map(str.startswith, findings, expected)) and not twice
    print("right: both are named, and no other card" if is_right else f"wrong: expected {expected}")
    return not is_right


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=64, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--cards", type=int, default=8, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--ping", type=float, default=6.0, metavar="SECONDS", help="of one ping (default: %(default)s)")
    parser.add_argument(
        "--login", type=float, default=1.0, metavar="SECONDS", help="from one server to the next (default: %(default)s)"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
