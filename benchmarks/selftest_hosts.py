"""Real runs of `hccl-kit selftest --quick` on hosts of which one is harmed, and whom it names.

    python -m benchmarks.selftest_hosts --runs 100 --seed 1
    python -m benchmarks.selftest_hosts --runs 20 --kinds clean --backend mindspore

Four hosts (network namespaces, tests/lab) with a rank each. `slow`: what one host sends is limited by tc tbf; `uplink`:
two hosts are behind a slow cable; `pulses`: one rank is stopped and continued by signals; `dead`: one rank is killed;
`gone`: one host loses its cable and its processes; `clean`: nothing is harmed, while up to three other programs use the
cores. Right: exactly that is named, and nothing else. Needs root.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import hccl_kit
from tests.lab.hosts import Hosts, hosts
from tests.places import ROOT

HOSTS = 4
KINDS = ("slow", "uplink", "pulses", "dead", "gone", "clean")
NAMES = {"slow": "slow-port", "uplink": "slow-uplink", "pulses": "stalls", "dead": "lost", "gone": "lost"}
PATIENCE = 600.0
HOG = "while True: sum(range(100000))"


class Harm(NamedTuple):
    """What is done to which host; `amount` are Mbit/s, `moment` seconds after all ranks have loaded."""

    kind: str
    host: int
    amount: int
    moment: float
    hogs: int


class Outcome(NamedTuple):
    """right, not named, falsely named, too late (it was harmed after its end) or no run; and what was said."""

    verdict: str
    said: str
    seconds: float


def draw(dice: random.Random, kind: str) -> Harm:
    """A harm at random. The program runs on host 0, which is not lost."""
    host = dice.randrange(1 if kind == "gone" else 0, HOSTS)
    amount = dice.randint(10, 200)
    return Harm(kind, host, amount, dice.uniform(0.0, 2.0), dice.randrange(4) if kind == "clean" else 0)


def run(lab: Hosts, table: Path, harm: Harm, backend: str) -> Outcome:
    """One run of the program."""
    began = time.monotonic()
    with _harmed_network(lab, harm), _hogs(harm.hogs):
        process = _start(lab, table, backend)
        late = threading.Event()
        if harm.kind in ("pulses", "dead", "gone"):
            threading.Thread(target=_strike, args=(lab, harm, process, late), daemon=True).start()
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            return Outcome("no run", f"no end after {PATIENCE:g} s", time.monotonic() - began)
        finally:
            if harm.kind == "gone":
                lab.heal(harm.host)
    seconds = time.monotonic() - began
    if process.returncode not in (0, 1) or not out:
        return Outcome("no run", err.strip()[-200:], seconds)
    document = json.loads(out)
    verdict = "too late" if late.is_set() else _score(harm, document)
    return Outcome(verdict, _said(document), seconds)


def _score(harm: Harm, document: Any) -> str:
    found = [(one["kind"], one["ranks"]) for one in document["faults"]]
    if harm.kind == "clean":
        return "falsely named" if found else "right"
    ranks = list(range(HOSTS)) if harm.kind == "uplink" else [harm.host]
    wanted = (NAMES[harm.kind], ranks)
    if any(one != wanted for one in found):
        return "falsely named"
    return "right" if found else "not named"


def _said(document: Any) -> str:
    faults = [f"{one['kind']} {one['ranks']}" for one in document["faults"]]
    doubts = [f"unsure: {one['kind']} {one['ranks']}" for one in document["doubts"]]
    passes = max((len(one["ratios"]) for one in document["links"]), default=0)
    return ", ".join([*faults, *doubts, f"{passes} passes"])


@contextmanager
def _harmed_network(lab: Hosts, harm: Harm) -> Iterator[None]:
    if harm.kind == "uplink":
        with lab.uplink([2, 3], harm.amount):
            yield
    elif harm.kind == "slow":
        lab.slow(harm.host, harm.amount)
        try:
            yield
        finally:
            lab.full_speed(harm.host)
    else:
        yield


@contextmanager
def _hogs(count: int) -> Iterator[None]:
    """Other programs that use the cores."""
    running = [subprocess.Popen([sys.executable, "-c", HOG]) for _ in range(count)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def _start(lab: Hosts, table: Path, backend: str) -> subprocess.Popen[str]:
    remote = f"env PYTHONPATH={shlex.quote(str(ROOT))} {shlex.quote(sys.executable)} -m hccl_kit"
    words = [sys.executable, "-m", "hccl_kit", "selftest", str(table), "--ssh", "--remote", remote]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    return lab.start(0, [*words, "--quick", "--format", "json", "--backend", backend], environ=environ)


def _strike(lab: Hosts, harm: Harm, process: subprocess.Popen[str], late: threading.Event) -> None:
    """Harm a rank or a host once all ranks have loaded; `late` is set if the program had ended by then."""
    pids: list[int] = []
    while process.poll() is None:
        pids = [pid for index in range(HOSTS) for pid in _loaded(lab, index)]
        if len(pids) == HOSTS:
            break
        time.sleep(0.1)
    time.sleep(harm.moment)
    if process.poll() is not None:
        late.set()
        return
    if harm.kind == "gone":
        lab.cut(harm.host)
        for pid in lab.processes(harm.host):
            _signal(pid, signal.SIGKILL) if not _is_sshd(pid) else None
        return
    (victim,) = _loaded(lab, harm.host)
    if harm.kind == "dead":
        _signal(victim, signal.SIGKILL)
    while harm.kind == "pulses" and _signal(victim, signal.SIGSTOP):
        time.sleep(0.2)
        _signal(victim, signal.SIGCONT)
        time.sleep(0.3)


def _signal(pid: int, number: signal.Signals) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
        return True
    return False


def _loaded(lab: Hosts, index: int) -> list[int]:
    """The ranks on a host that have loaded their framework: numpy comes with it."""

    def has_loaded(pid: int) -> bool:
        return "hccl_kit.selftest.ranks.worker" in _text(pid, "cmdline") and "numpy" in _text(pid, "maps")

    return [pid for pid in lab.processes(index) if has_loaded(pid)]


def _is_sshd(pid: int) -> bool:
    """The listener of a host, which stays for the next run."""
    return "[listener]" in _text(pid, "cmdline")


def _text(pid: int, name: str) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    return ""


def _table(lab: Hosts, folder: Path) -> Path:
    made = [hccl_kit.generate(address, [(0, f"192.168.100.{n + 1}")]) for n, address in enumerate(lab.addresses)]
    path = folder / "job.json"
    path.write_text(hccl_kit.to_text(hccl_kit.merge(made)))
    return path


def _ask(report: Callable[[str, Outcome], None], args: argparse.Namespace) -> None:
    dice = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as folder, hosts(HOSTS) as lab:
        table = _table(lab, Path(folder))
        for _ in range(args.runs):
            for kind in args.kinds:
                harm = draw(dice, kind)
                report(kind, run(lab, table, harm, args.backend))


def main() -> None:
    """Print a line for each run, and the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--backend", choices=["torch", "mindspore"], default="torch")
    args = parser.parse_args()
    found: Counter[tuple[str, str]] = Counter()

    def report(kind: str, outcome: Outcome) -> None:
        found[kind, outcome.verdict] += 1
        load = os.getloadavg()[0]
        print(f"{kind:7} {outcome.verdict:13} {outcome.seconds:5.1f} s, load {load:4.1f}: {outcome.said}", flush=True)

    with suppress(KeyboardInterrupt):
        _ask(report, args)
    verdicts = ("right", "not named", "falsely named", "too late", "no run")
    print("\n" + "  ".join(["kind   ", *verdicts]))
    for kind in args.kinds:
        print("  ".join([f"{kind:7}", *(f"{found[kind, one]:{len(one)}}" for one in verdicts)]))


if __name__ == "__main__":
    main()
