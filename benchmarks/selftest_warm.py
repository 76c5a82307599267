"""The runs of selftest_hosts.py that lose nobody, with ranks that are started once for many runs.

    python -m benchmarks.selftest_warm --runs 20 --kinds slow uplink pulses --seed 2
    python -m benchmarks.selftest_warm --runs 100 --kinds clean --seed 3

A run is all that `hccl-kit selftest --quick` does once its ranks are ready, and its verdict. Loading torch four times
is more than half of the work of a whole run. There is a new start every 20 runs. Needs root.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.selftest_hosts import (
    HOSTS,
    Harm,
    Outcome,
    draw,
    harmed_network,
    hogs,
    loaded,
    options,
    pulse,
    said,
    score,
    table_of,
    tell,
)
from hccl_kit.cli.tables import read_table
from hccl_kit.launch.plan import plan
from hccl_kit.launch.way import by_ssh
from hccl_kit.selftest.evidence import SLOW, weigh
from hccl_kit.selftest.json_form import as_json
from hccl_kit.selftest.measured import Measured
from hccl_kit.selftest.protocol import Event
from hccl_kit.selftest.rank_states import RankStates
from hccl_kit.selftest.run import QUICK, measure
from hccl_kit.selftest.session import SHARES_FATE, Session, agent_probe, cards_of, server, session
from hccl_kit.selftest.verdict import judge
from tests.lab.hosts import Hosts, hosts

KINDS = ("slow", "uplink", "pulses", "clean")
FRESH = 20
"""Runs with the same ranks."""
SETTLE = 1.5
"""Seconds until the agents have reported the last pulses; they report every second."""


def run(lab: Hosts, started: Session, harm: Harm, nothing: Measured) -> Outcome:
    """One run with ranks that are ready."""
    began = time.monotonic()
    over = threading.Event()
    striker = threading.Thread(target=_strike, args=(lab, harm, over), daemon=True)
    with harmed_network(lab, harm):
        striker.start()
        try:
            measured = measure(started, QUICK, nothing, baseline=None, slow=SLOW, note=lambda _: None)
        finally:
            over.set()
            striker.join()
    weighed = weigh(judge(measured), measured)
    report = as_json(measured, weighed, table="", slow=SLOW)
    document = json.loads(report)
    seconds = time.monotonic() - began
    end = time.monotonic() + SETTLE
    while time.monotonic() < end:
        started.listen()
    _forget(started)
    return Outcome(score(harm, document), said(document), seconds, report)


def _forget(started: Session) -> None:
    """A run counts only its own stops of processes."""
    before, started.ranks = started.ranks, RankStates(started.ranks.available(), shares_fate=started.ranks.shares_fate)
    for rank in before.available():
        started.ranks.hear(Event(rank, "ready", before.skipped), time.monotonic())


def _strike(lab: Hosts, harm: Harm, over: threading.Event) -> None:
    """Apply a harm that is not done to the cables, until the run is over."""
    if harm.kind == "pulses":
        (victim,) = loaded(lab, harm.host)
        over.wait(harm.moment)
        while not over.is_set():
            pulse(victim)
    elif harm.kind == "clean":
        with hogs(harm.hogs):
            over.wait()


def _ask(args: argparse.Namespace) -> Iterator[tuple[str, Outcome]]:
    dice = random.Random(args.seed)
    todo = [(kind, draw(dice, kind)) for _ in range(args.runs) for kind in args.kinds]
    with tempfile.TemporaryDirectory() as folder, hosts(HOSTS) as lab:
        job = plan(read_table(str(table_of(lab, Path(folder)))), ["hccl-kit"])
        probe = agent_probe()
        agent, reach = probe.command(sys.executable), by_ssh(job.nodes, {"HCCL_KIT_SSH": f"ssh -F {lab.ssh_config}"})
        commands = [reach(node, agent) for node in job.nodes]
        agents = [
            server(node, args.backend, command, {}, probe.archive)
            for node, command in zip(job.nodes, commands, strict=True)
        ]
        nothing = Measured(args.backend, tuple(cards_of(job)))
        while todo:
            with session(agents, shares_fate=args.backend in SHARES_FATE) as started:
                started.ready(QUICK.start)
                if started.ranks.lost:
                    raise RuntimeError(f"the ranks did not start: {started.ranks.losses()}")
                for kind, harm in todo[:FRESH]:
                    todo = todo[1:]
                    yield kind, run(lab, started, harm, nothing)
                    if len(started.ranks.available()) < HOSTS:  # a lost rank cannot take part again
                        break


def main() -> None:
    """Run the program."""
    args = options(__doc__, KINDS).parse_args()
    tell(args.kinds, _ask(args), args.keep)


if __name__ == "__main__":
    main()
