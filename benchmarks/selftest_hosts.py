"""Real runs of `hccl-kit selftest --quick` on hosts of which one is harmed, and whom it names.

    python -m benchmarks.selftest_hosts --runs 100 --seed 1
    python -m benchmarks.selftest_hosts --runs 20 --kinds clean --backend mindspore

Four hosts (network namespaces, tests/lab) with a rank each. `slow`: what one host sends is limited by tc tbf; `uplink`:
two hosts are behind a slow cable; `pulses`: one rank is stopped and continued by signals; `dead`: one rank is killed;
`gone`: one host loses its cable and its processes; `clean`: nothing is harmed, while up to three other programs use the
cores once the ranks have loaded. Right: exactly that is named, and nothing else. Needs root. Most of the time of a run
goes into the start of its ranks; `benchmarks.selftest_warm` starts them once for many runs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
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
    """What is done to which host: `amount` in Mbit/s, `moment` in seconds after all ranks have loaded."""

    kind: str
    host: int
    amount: int
    moment: float
    hogs: int


class Outcome(NamedTuple):
    """`verdict`: right, not named, falsely named, too late (the harm came after the end of the run) or no run."""

    verdict: str
    said: str
    seconds: float
    report: str = ""


def draw(dice: random.Random, kind: str) -> Harm:
    """A harm at random. The program runs on host 0, which is not lost."""
    host = dice.randrange(1 if kind == "gone" else 0, HOSTS)
    amount = dice.randint(10, 200)
    return Harm(kind, host, amount, dice.uniform(0.0, 2.0), dice.randrange(4) if kind == "clean" else 0)


def run(lab: Hosts, table: Path, harm: Harm, backend: str) -> Outcome:
    """One run of the program."""
    began = time.monotonic()
    with harmed_network(lab, harm):
        process = _start(lab, table, backend)
        late = threading.Event()
        striker = threading.Thread(target=_strike, args=(lab, harm, process, late), daemon=True)
        striker.start()
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            return Outcome("no run", f"no end after {PATIENCE:g} s", time.monotonic() - began)
        finally:
            striker.join(PATIENCE)  # it sees the end of the program
            if harm.kind == "gone":
                lab.heal(harm.host)
    seconds = time.monotonic() - began
    if process.returncode not in (0, 1) or not out:
        return Outcome("no run", err.strip()[-200:], seconds)
    document = json.loads(out)
    verdict = "too late" if late.is_set() else score(harm, document)
    return Outcome(verdict, said(document), seconds, out)


def score(harm: Harm, document: Any) -> str:
    """The verdict on a report of the program."""
    found = [(one["kind"], one["ranks"]) for one in document["faults"]]
    if harm.kind == "clean":
        return "falsely named" if found else "right"
    ranks = list(range(HOSTS)) if harm.kind == "uplink" else [harm.host]
    wanted = (NAMES[harm.kind], ranks)
    if any(one != wanted for one in found):
        return "falsely named"
    return "right" if found else "not named"


def said(document: Any) -> str:
    """The faults and doubts of a report, and the number of its passes."""
    faults = [f"{one['kind']} {one['ranks']}" for one in document["faults"]]
    doubts = [f"unsure: {one['kind']} {one['ranks']}" for one in document["doubts"]]
    passes = max((len(one["ratios"]) for one in document["links"]), default=0)
    return ", ".join([*faults, *doubts, f"{passes} passes"])


@contextmanager
def harmed_network(lab: Hosts, harm: Harm) -> Iterator[None]:
    """Apply a harm to the cables while the block runs."""
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
def hogs(count: int) -> Iterator[None]:
    """Run `count` other programs that keep the cores busy."""
    running = [subprocess.Popen([sys.executable, "-c", HOG]) for _ in range(count)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def _start(lab: Hosts, table: Path, backend: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "hccl_kit", "selftest", str(table), "--ssh"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    return lab.start(0, [*words, "--quick", "--format", "json", "--backend", backend], environ=environ)


def _strike(lab: Hosts, harm: Harm, process: subprocess.Popen[str], late: threading.Event) -> None:
    """Harm a rank or a host, or the cores, once all ranks have loaded; `late`: the program had ended by then."""
    if harm.kind in ("slow", "uplink"):
        return
    while process.poll() is None and sum(len(loaded(lab, index)) for index in range(HOSTS)) < HOSTS:
        time.sleep(0.3)
    if harm.kind == "clean":
        with hogs(harm.hogs):
            process.wait()
        return
    time.sleep(harm.moment)
    if process.poll() is not None:
        late.set()
        return
    if harm.kind == "gone":
        lab.cut(harm.host)
        for pid in lab.processes(harm.host):
            _signal(pid, signal.SIGKILL) if not _is_sshd(pid) else None
        return
    (victim,) = loaded(lab, harm.host)
    if harm.kind == "dead":
        _signal(victim, signal.SIGKILL)
    while harm.kind == "pulses" and pulse(victim):
        pass


def pulse(pid: int) -> bool:
    """Stop a process for a moment and let it go on for another; returns whether it exists."""
    if not _signal(pid, signal.SIGSTOP):
        return False
    time.sleep(0.2)
    _signal(pid, signal.SIGCONT)
    time.sleep(0.3)
    return True


def _signal(pid: int, number: signal.Signals) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
        return True
    return False


def loaded(lab: Hosts, index: int) -> list[int]:
    """The ranks on a host that have loaded their framework: numpy comes with it."""

    def hasloaded(pid: int) -> bool:
        return "hccl_kit.selftest.ranks.worker" in _text(pid, "cmdline") and "numpy" in _text(pid, "maps")

    return [pid for pid in lab.processes(index) if hasloaded(pid)]


def _is_sshd(pid: int) -> bool:
    """The listener of a host, which stays for the next run."""
    return "[listener]" in _text(pid, "cmdline")


def _text(pid: int, name: str) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    return ""


def table_of(lab: Hosts, folder: Path) -> Path:
    """The table of a job with a rank on each host."""
    made = [hccl_kit.generate(address, [(0, f"192.168.100.{n + 1}")]) for n, address in enumerate(lab.addresses)]
    path = folder / "job.json"
    path.write_text(hccl_kit.to_text(hccl_kit.merge(made)))
    return path


def _ask(args: argparse.Namespace) -> Iterator[tuple[str, Outcome]]:
    dice = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as folder, hosts(HOSTS) as lab:
        table = table_of(lab, Path(folder))
        for _ in range(args.runs):
            for kind in args.kinds:
                yield kind, run(lab, table, draw(dice, kind), args.backend)


def tell(kinds: Sequence[str], outcomes: Iterator[tuple[str, Outcome]], keep: Path | None) -> None:
    """Print a line for each run, and the table, also at Ctrl-C."""
    found: Counter[tuple[str, str]] = Counter()
    with suppress(KeyboardInterrupt):
        for kind, one in outcomes:
            found[kind, one.verdict] += 1
            load = os.getloadavg()[0]
            print(f"{kind:7} {one.verdict:13} {one.seconds:5.1f} s, load {load:4.1f}: {one.said}", flush=True)
            if keep and one.verdict != "right":
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{kind}-{found.total()}.json").write_text(one.report or one.said)
    verdicts = ("right", "not named", "falsely named", "too late", "no run")
    print("\n" + "  ".join(["kind   ", *verdicts]))
    for kind in kinds:
        print("  ".join([f"{kind:7}", *(f"{found[kind, one]:{len(one)}}" for one in verdicts)]))


def options(about: str, kinds: Sequence[str]) -> argparse.ArgumentParser:
    """The options that programs about these harms have."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--backend", choices=["gloo", "mindspore"], default="gloo")
    parser.add_argument("--keep", type=Path, help="a folder for the reports of runs that were not right")
    return parser


def main() -> None:
    """Run the program."""
    args = options(__doc__, KINDS).parse_args()
    tell(args.kinds, _ask(args), args.keep)


if __name__ == "__main__":
    main()
