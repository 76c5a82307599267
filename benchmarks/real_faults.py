"""Real jobs of 2 to 8 ranks on CPU with a planted fault, and what the diagnosis says: right, cannot tell or wrong.

    python -m benchmarks.real_faults --runs 100 --seed 1            small programs of real_faults_program.py
    python -m benchmarks.real_faults --runs 12 --train              hccl-kit train of a small CRNN, two ranks
    python -m benchmarks.real_faults --runs 100 --torch             programs of torch with gloo, real_faults_torch.py

A run starts a job by the script that `hccl-kit launch --to bash` writes, plants a fault at a random moment in a random
rank, waits for the job to die (a rank that stands still by --heartbeat-timeout) and reads the run folder. Right: the
rank, the kind and the step (the one that was planted, or one beside it). Dead hosts are network namespaces
(tests/lab), a full disk is a small tmpfs: both need root.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

from hccl_kit.launch.emitters import bash
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import plan
from hccl_kit.table import formats
from hccl_kit.table.operations.generate import generate
from tests.lab.hosts import Hosts, hosts
from tests.launch.jobs import clean_environ
from tests.launch.nodes import make_nodes_job
from tests.places import ROOT

KINDS = {
    "kill": r"was killed by SIGKILL",
    "stop": r"stands still",
    "delay": r"is busy with its own code",
    "starve": r"waits for data",
    "operator": r"entered all_gather of .* where the others entered all_reduce",
    "size": r"entered all_reduce of 4100 bytes where the others entered all_reduce of 4096",
    "skip": r"entered all_reduce of 8 bytes where the others entered all_reduce of 4096|skipped a collective",
    "raise": r"failed with ValueError",
    "exit": r"ended with exit code 3",
    "early": r"ended in order",
    "full": r"found the disk full",
    "full-logs": r"found the disk full",
    "cut": r"entered all_reduce of [0-9]+ bytes where the others entered all_reduce of [0-9]+",
    "check": r"has another version of the code",
    "host": r"was lost with its server",
}
"""What is planted, and what the diagnosis must call it."""
OF_TRAINING = ("kill", "stop", "full", "starve", "delay", "cut", "check")
"""Those of `hccl-kit train`: the last two are a step that diverges, and a difference that the ranks find themselves."""
OF_TORCH = ("kill", "stop", "delay", "starve", "operator", "size", "skip", "raise", "exit", "early")
"""Those of the programs of torch."""
TORCH_KINDS = {
    **KINDS,
    "operator": r"entered all_gather where the others entered all_reduce of Float \[1024\]",
    "size": r"entered all_reduce of Float \[1025\] where the others entered all_reduce of Float \[1024\]",
    "skip": r"entered all_reduce of Float \[2\] where the others entered all_reduce of Float \[1024\]",
}
for _kind in ("operator", "size", "skip"):  # gloo has ended the rank, or all that could say what it entered
    TORCH_KINDS[_kind] += r"|entered another collective than all_reduce|, which was not due"
FULL = ("full", "full-logs")
"""The disk of checkpoints is full; the logs are on it, or not."""
TIMEOUT = 8
"""Of the heartbeat, in seconds."""
PATIENCE = 240.0
KIT = (sys.executable, "-m", "hccl_kit")
PROGRAM = Path(__file__).with_name("real_faults_program.py")
TORCH_PROGRAM = Path(__file__).with_name("real_faults_torch.py")
TORCH_TIMEOUT = 20
"""Of the heartbeat: torch's recording is written after 3 s, on a busy machine later."""


class Fault(NamedTuple):
    """A fault in a rank of so many; `moment` in seconds for what comes from outside, `step` for the rest."""

    kind: str
    ranks: int
    rank: int
    step: int
    moment: float


class Result(NamedTuple):
    """How the diagnosis did: right, cannot tell or wrong."""

    verdict: str
    fault: Fault
    step: int | None
    said: str
    seconds: float


def draw(dice: random.Random, kinds: Sequence[str]) -> Fault:
    """A fault at random."""
    kind = dice.choice(kinds)
    ranks = dice.choice((4, 6, 8)) if kind == "host" else dice.randint(2, 8)
    rank = dice.randrange(2, ranks) if kind == "host" else dice.randrange(ranks)
    return Fault(kind, ranks, rank, dice.randint(4, 60), dice.uniform(0.5, 2.5))


def run_small(fault: Fault) -> Result:
    """A job of small programs."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="real_faults-")))
        environ = _environ(folder, fault)
        if fault.kind == "host":
            lab = stack.enter_context(hosts(fault.ranks // 2))
            return _lose_host(folder, lab, fault, environ)
        if fault.kind in FULL:
            _small_disk(stack, folder / "disk")
        if fault.kind == "full-logs":
            (folder / "disk" / "logs").mkdir()
            (folder / "hccl_logs").symlink_to(folder / "disk" / "logs")
        script = _script(folder, fault.ranks, [sys.executable, "-u", str(PROGRAM)])
        job = _start(script, environ)
        stack.callback(_kill_all, folder)
        _wait(lambda: _steps(folder) >= 1, job)
        step = _plant(folder, fault, fault.moment)
        job.communicate(timeout=PATIENCE)
        step = _truth(folder) if step is None else step
        return _score(fault, folder, step)


def run_torch(fault: Fault) -> Result:
    """A job of torch programs, whose collectives torch's own recorder has."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="real_faults-")))
        environ = _environ(folder, fault)
        script = _script(folder, fault.ranks, [sys.executable, "-u", str(TORCH_PROGRAM)])
        job = _start(script, environ, timeout=TORCH_TIMEOUT)
        stack.callback(_kill_all, folder)
        _wait(lambda: _steps(folder) >= 1, job)
        step = _plant(folder, fault, fault.moment)
        job.communicate(timeout=PATIENCE)
        step = _truth(folder) if step is None else step
        return _score(fault, folder, step, TORCH_KINDS)


def run_train(fault: Fault, words: Path) -> Result:
    """A job of two ranks that trains a small CRNN."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="real_faults-")))
        environ = _environ(folder, fault)
        if fault.kind == "full":
            _small_disk(stack, folder / "disk")
        places = [f"{section}.dataset.dataset_root={words}" for section in ("train", "eval")]
        config = ROOT / "configs" / "rec" / "crnn" / "crnn_small.yaml"
        overrides = [f"train.ckpt_save_dir={folder / 'disk' / 'run'}", "train.loader.batch_size=8"]
        overrides += ["train.max_steps=100000", "train.resume_interval_steps=5", "scheduler.num_epochs=100000"]
        train = [sys.executable, "-u", str(ROOT / "tools" / "train.py"), "-c", str(config)]
        script = _script(folder, 2, [*train, "-o", *places, *overrides])
        job = _start(script, _with_plant(folder, environ), timeout=25)
        stack.callback(_kill_all, folder)
        if fault.kind != "check":  # which ends the job before its first step
            _wait(lambda: _steps(folder) >= 1, job)
        step = _plant(folder, fault, fault.moment)
        job.communicate(timeout=PATIENCE)
        step = _truth(folder) if step is None else step
        return _score(fault, folder, step)


def _environ(folder: Path, fault: Fault) -> dict[str, str]:
    (folder / "disk").mkdir()
    return clean_environ(
        {
            "PYTHONPATH": str(ROOT),
            "STEPS": "100000",
            "DISK": str(folder / "disk"),
            "TRUTH": str(folder / "truth"),
            "HCCL_PLANT": f"{fault.kind} {fault.rank} {fault.step}",
        }
    )


def _script(folder: Path, ranks: int, command: Sequence[str]) -> Path:
    table = generate("127.0.0.1", [(rank, f"192.0.2.{rank + 1}") for rank in range(ranks)])
    text = formats.write(table)
    (folder / "table.json").write_text(text, encoding="utf-8")
    (folder / "job.sh").write_text(bash.script(plan(table, command), TableFile("table.json", text)), encoding="utf-8")
    return folder / "job.sh"


def _start(script: Path, environ: dict[str, str], timeout: int = TIMEOUT) -> subprocess.Popen[bytes]:
    command = ["bash", str(script), "--heartbeat-timeout", str(timeout)]
    with script.with_name("screen").open("wb") as out:
        return subprocess.Popen(
            command,
            cwd=script.parent,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )


def _plant(folder: Path, fault: Fault, moment: float) -> int | None:
    """Plant what comes from outside; returns the step of the rank then, None if the rank itself plants the fault."""
    if fault.kind not in ("kill", "stop", *FULL):
        return None
    time.sleep(moment)
    if fault.kind in FULL:
        with suppress(OSError), (folder / "disk" / "filling").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        return _steps(folder)
    pid = _facts(folder, fault.rank)["pid"]
    os.kill(pid, signal.SIGKILL if fault.kind == "kill" else signal.SIGSTOP)
    return _steps(folder, fault.rank)


def _lose_host(folder: Path, lab: Hosts, fault: Fault, environ: dict[str, str]) -> Result:
    """Pull the cable of the host and end everything on it: its power is gone."""
    job = make_nodes_job(folder, lab, (sys.executable, "-u", str(PROGRAM)))
    environ.pop("HCCL_PLANT")
    started = [job.start(node, environ=environ, stderr=subprocess.STDOUT) for node in range(len(lab.addresses))]
    _wait(lambda: _steps(folder) >= 1, started[0])
    time.sleep(fault.moment)
    host = fault.rank // 2
    step = _steps(folder, fault.rank)
    lab.cut(host)
    for process in lab.processes(host):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    for script in started:
        script.communicate(timeout=PATIENCE)
    return _score(fault, folder, step)


def _small_disk(stack: ExitStack, folder: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], check=True)
    stack.callback(lambda: subprocess.run(["umount", "-l", folder], check=True))


_PLANT = """
import os, sys, time
kind, rank, at = os.environ["HCCL_PLANT"].split()
def note(step):
    with open(os.environ["TRUTH"], "w") as file:
        file.write(f"{step}\\n")
if os.environ.get("RANK") == rank and kind == "starve":
    import hccl_kit.ocr.data.feed as feed
    own = feed.Feed.batches
    def batches(self, *args, **options):
        for number, one in enumerate(own(self, *args, **options)):
            if number == int(at):
                note(number)
                time.sleep(3600)
            yield one
    feed.Feed.batches = batches
if os.environ.get("RANK") == rank and kind == "check":
    import hccl_kit.ocr.run.consistency as consistency
    consistency.code_digest = lambda: "ab" * 32
if os.environ.get("RANK") == rank and kind == "delay":
    import hccl_kit.ocr.train.step as step
    own, count = step.TrainStep._join, 0
    def join(self, loss, gradients):
        global count
        count += 1
        if count == int(at) + 1:
            note(count - 1)
            time.sleep(3600)
        return own(self, loss, gradients)
    step.TrainStep._join = join
if os.environ.get("RANK") == rank and kind == "cut":
    import hccl_kit.ocr.train.step as step
    own, count = step.TrainStep._join, 0
    def join(self, loss, gradients):
        global count
        count += 1
        if count == int(at) + 1:
            note(count - 1)
            flatten = self.flatten
            self.flatten = lambda *values: flatten(*values)[:-4]
        return own(self, loss, gradients)
    step.TrainStep._join = join
"""
"""A sitecustomize for `hccl-kit train`: one rank's data gets slow, its code differs, or its gradients are cut."""


def _with_plant(folder: Path, environ: dict[str, str]) -> dict[str, str]:
    place = folder / "plant"
    place.mkdir()
    (place / "sitecustomize.py").write_text(_PLANT)
    return {**environ, "PYTHONPATH": f"{place}:{environ['PYTHONPATH']}"}


def _steps(folder: Path, rank: int | None = None) -> int:
    found = 0
    for path in folder.glob(f"hccl_logs/*/step_{'*' if rank is None else rank}"):
        with suppress(ValueError, OSError):
            found = max(found, int(path.read_text() or 0))
    return found


def _facts(folder: Path, rank: int) -> dict[str, Any]:
    (path,) = {path.resolve() for path in folder.glob(f"hccl_logs/*/facts_{rank}.jsonl")}
    head: dict[str, Any] = json.loads(path.read_text().split("\n")[0])
    return head


def _truth(folder: Path) -> int | None:
    with suppress(OSError, ValueError):
        return int((folder / "truth").read_text())
    return None


def _wait(condition: Any, job: subprocess.Popen[Any]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end or job.poll() is not None:
            raise RuntimeError("the job did not begin")
        time.sleep(0.02)


def _kill_all(folder: Path) -> None:
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if os.fsencode(folder) in path.read_bytes() and int(path.parent.name) != os.getpid():
                os.kill(int(path.parent.name), signal.SIGKILL)


def _score(fault: Fault, folder: Path, step: int | None, kinds: Mapping[str, str] = KINDS) -> Result:
    """Ask the diagnosis, and compare."""
    (run,) = {path.resolve() for path in folder.glob("hccl_logs/*")}
    began = time.monotonic()
    found = diagnose(run)
    seconds = time.monotonic() - began
    first = found["first_fault"]
    said = "cannot tell" if first is None else f"rank {first['rank']} {first['kind']}"
    if first is None:
        verdict = "cannot tell"
    else:
        of_host = range(fault.rank // 2 * 2, fault.rank // 2 * 2 + 2) if fault.kind == "host" else (fault.rank,)
        # The first rank that writes finds the disk full; of two ranks that differ, both are suspects.
        suspects = [suspect["rank"] for suspect in found["suspects"]] if fault.kind == "check" else []
        is_rank = first["rank"] in (*of_host, *suspects) or (fault.kind in FULL and first["rank"] is not None)
        named = re.search(r"step ([0-9]+)", first["kind"])
        off = 6 if fault.kind in FULL else 1  # a checkpoint every five steps
        is_step = step is None or (named is not None and abs(int(named[1]) - step) <= off)
        verdict = "right" if is_rank and is_step and re.search(kinds[fault.kind], first["kind"]) else "wrong"
    if verdict != "right" and os.environ.get("KEEP"):
        shutil.copytree(run, Path(os.environ["KEEP"], f"{fault.kind}-{time.time():.0f}"))
    return Result(verdict, fault, step, said, seconds)


def diagnose(run: Path) -> dict[str, Any]:
    """What `hccl-kit diagnose` says, in a process of its own."""
    done = subprocess.run(
        [*KIT, "diagnose", "--format", "json", str(run)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def main() -> None:
    """Print a line for each run, and the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--train", action="store_true", help="hccl-kit train of two ranks instead of small programs")
    parser.add_argument("--torch", action="store_true", help="programs of torch with gloo instead")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS))
    args = parser.parse_args()
    dice = random.Random(args.seed)
    small = [kind for kind in KINDS if kind not in ("cut", "check")]
    kinds = args.kinds or (OF_TRAINING if args.train else OF_TORCH if args.torch else small)
    results = []
    with tempfile.TemporaryDirectory() as words:
        if args.train:
            _render(Path(words))
        for number in range(args.runs):
            fault = draw(dice, [kinds[number % len(kinds)]])
            if args.train:
                fault = fault._replace(ranks=2, rank=fault.rank % 2, step=5 + fault.step % 20)
            try:
                result = (
                    run_train(fault, Path(words)) if args.train else (run_torch if args.torch else run_small)(fault)
                )
            except Exception as error:
                result = Result("no run", fault, None, repr(error), 0.0)
            results.append(result)
            print(
                f"{number + 1:3} {result.verdict:11} {fault.kind:8} rank {fault.rank} of {fault.ranks}, "
                f"step {result.step}: {result.said}",
                flush=True,
            )
    print(f"\nload {os.getloadavg()[1]:.1f}, seed {args.seed}")
    print("fault      runs  right  cannot tell  wrong")
    for kind in dict.fromkeys(result.fault.kind for result in results):
        counted = Counter(result.verdict for result in results if result.fault.kind == kind)
        print(f"{kind:9} {counted.total():5} {counted['right']:6} {counted['cannot tell']:12} {counted['wrong']:6}")
    counted = Counter(result.verdict for result in results)
    print(f"{'all':9} {counted.total():5} {counted['right']:6} {counted['cannot tell']:12} {counted['wrong']:6}")


def _render(folder: Path) -> None:
    subprocess.run(
        [*KIT, "render-words", "--output", str(folder), "--force", "--train", "64", "--test", "16"],
        check=True,
        stdout=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    main()
