"""Real jobs of 2 to 8 ranks on CPU with a planted fault, and what the diagnosis says: right, cannot tell or wrong.

    python -m benchmarks.real_faults --runs 100 --seed 1            small programs of real_faults_program.py
    python -m benchmarks.real_faults --runs 12 --train              hccl-kit train of a small CRNN, two ranks
    python -m benchmarks.real_faults --runs 100 --torch             programs of torch with gloo, real_faults_torch.py

A run starts a job by `hccl-kit run`, plants a fault at a random moment in a random
rank, waits for the job to die (a rank that stands still by --heartbeat-timeout) and reads the run folder. Right: the
rank, the kind and the step (the one that was planted, or one beside it). Dead hosts are network namespaces
(tests/lab), a full disk is a small tmpfs: both need root.
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
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from benchmarks.real_fault_kinds import (
    FULL,
    KINDS,
    KIT,
    OF_TORCH,
    OF_TRAINING,
    TORCH_KINDS,
    Fault,
    Result,
    draw,
    score,
)
from hccl_kit.table import formats
from hccl_kit.table.operations.generate import generate
from tests.lab.hosts import Hosts, hosts
from tests.launch.jobs import clean_environ
from tests.launch.nodes import make_nodes_job
from tests.places import ROOT

TIMEOUT = 8
"""Heartbeat timeout in seconds."""
PATIENCE = 240.0
PROGRAM = Path(__file__).with_name("real_faults_program.py")
TORCH_PROGRAM = Path(__file__).with_name("real_faults_torch.py")
TRAIN_PLANT = Path(__file__).with_name("real_faults_train.py")
TORCH_TIMEOUT = 20
"""The same for torch, whose recording is written after 3 s, on a busy machine later."""
TRAIN_TIMEOUT = 25


def run_small(fault: Fault) -> Result:
    """A job of small programs."""
    with ExitStack() as stack:
        folder = _folder(stack, fault)
        if fault.kind == "host":
            lab = stack.enter_context(hosts(fault.ranks // 2))
            return _lose_host(folder, lab, fault, _environ(folder, fault))
        if fault.kind == "full-logs":
            (folder / "disk" / "logs").mkdir()
            (folder / "hccl_logs").symlink_to(folder / "disk" / "logs")
        return _run(stack, folder, fault, [sys.executable, "-u", str(PROGRAM)], _environ(folder, fault))


def run_torch(fault: Fault) -> Result:
    """A job of torch programs, whose collectives torch's own recorder has."""
    with ExitStack() as stack:
        folder = _folder(stack, fault)
        command = [sys.executable, "-u", str(TORCH_PROGRAM)]
        return _run(stack, folder, fault, command, _environ(folder, fault), timeout=TORCH_TIMEOUT, kinds=TORCH_KINDS)


def run_train(fault: Fault, words: Path) -> Result:
    """A job of two ranks that trains a small CRNN."""
    with ExitStack() as stack:
        folder = _folder(stack, fault)
        places = [f"{section}.dataset.dataset_root={words}" for section in ("train", "eval")]
        config = ROOT / "configs" / "rec" / "crnn" / "crnn_small.yaml"
        overrides = [f"train.ckpt_save_dir={folder / 'disk' / 'run'}", "train.loader.batch_size=8"]
        overrides += ["train.max_steps=100000", "train.resume_interval_steps=5", "scheduler.num_epochs=100000"]
        train = [sys.executable, "-u", str(ROOT / "tools" / "train.py"), "-c", str(config)]
        environ = _with_plant(folder, _environ(folder, fault))
        return _run(stack, folder, fault, [*train, "-o", *places, *overrides], environ, timeout=TRAIN_TIMEOUT)


def _folder(stack: ExitStack, fault: Fault) -> Path:
    """A folder for the job, with the disk of its checkpoints."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="real_faults-")))
    (folder / "disk").mkdir()
    if fault.kind in FULL:
        _small_disk(stack, folder / "disk")
    return folder


def _run(
    stack: ExitStack,
    folder: Path,
    fault: Fault,
    command: Sequence[str],
    environ: dict[str, str],
    *,
    timeout: int = TIMEOUT,
    kinds: Mapping[str, str] = KINDS,
) -> Result:
    """The job from its start to the diagnosis."""
    job = _start(_table(folder, fault.ranks), command, environ, timeout)
    stack.callback(_kill_all, folder)
    if fault.kind != "check":  # which ends the job before its first step
        _wait(lambda: _steps(folder) >= 1, job)
    step = _plant(folder, fault, fault.moment)
    job.communicate(timeout=PATIENCE)
    return score(fault, folder, _truth(folder) if step is None else step, kinds)


def _environ(folder: Path, fault: Fault) -> dict[str, str]:
    return clean_environ(
        {
            "PYTHONPATH": str(ROOT),
            "STEPS": "100000",
            "DISK": str(folder / "disk"),
            "TRUTH": str(folder / "truth"),
            "HCCL_PLANT": f"{fault.kind} {fault.rank} {fault.step}",
        }
    )


def _table(folder: Path, ranks: int) -> Path:
    table = generate("127.0.0.1", [(rank, f"192.0.2.{rank + 1}") for rank in range(ranks)])
    (folder / "table.json").write_text(formats.write(table), encoding="utf-8")
    return folder / "table.json"


def _start(table: Path, command: Sequence[str], environ: dict[str, str], timeout: int) -> subprocess.Popen[bytes]:
    kit = [sys.executable, "-m", "hccl_kit.cli.kit", "run", str(table), "--heartbeat-timeout", str(timeout)]
    with table.with_name("screen").open("wb") as out:
        return subprocess.Popen(
            [*kit, "--", *command],
            cwd=table.parent,
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
    job = make_nodes_job(folder, (sys.executable, "-u", str(PROGRAM)), lab=lab)
    environ.pop("HCCL_PLANT")
    started = job.start("--export", "STEPS,DISK,TRUTH", environ=environ, stderr=subprocess.STDOUT)
    _wait(lambda: _steps(folder) >= 1, started)
    time.sleep(fault.moment)
    host = fault.rank // 2
    step = _steps(folder, fault.rank)
    lab.cut(host)
    for process in lab.processes(host):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    started.communicate(timeout=PATIENCE)
    return score(fault, folder, step)


def _small_disk(stack: ExitStack, folder: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], check=True)
    stack.callback(lambda: subprocess.run(["umount", "-l", folder], check=True))


def _with_plant(folder: Path, environ: dict[str, str]) -> dict[str, str]:
    place = folder / "plant"
    place.mkdir()
    (place / "sitecustomize.py").symlink_to(TRAIN_PLANT)
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
            render(Path(words))
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


def render(folder: Path) -> None:
    """Images of words for `run_train`."""
    subprocess.run(
        [*KIT, "render-words", "--output", str(folder), "--force", "--train", "64", "--test", "16"],
        check=True,
        stdout=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    main()
