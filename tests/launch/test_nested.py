"""A launcher behind -- is refused, with the command of one rank; what only looks like one is not."""

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.launch.nested import refuse_launcher, warning_of_script
from tests.places import ROOT

REBUILT = {
    # what is written behind --: what to write instead
    "torchrun --nproc_per_node 4 train.py --x": "python train.py --x",
    "/opt/bin/torchrun --standalone --nproc-per-node=4 -m pkg.train": "python -m pkg.train",
    "python3.11 -um torch.distributed.launch --nproc_per_node 8 a.py": "python3.11 -u a.py",
    "python -X dev -m torch.distributed.run -- a.py": "python -X dev a.py",
    "python torch/distributed/launch.py --nproc_per_node=2 a.py": "python a.py",
    "python /usr/bin/torchrun a.py": "python a.py",
    "msrun --worker_num 8 --join True a.py": "python a.py",
    "msrun --worker_num=8 python -u a.py": "python -u a.py",
    "mpirun -np 4 -x HCCL_BUFFSIZE python a.py 'b c'": "python a.py 'b c'",
    "srun -n4 --label python a.py": "python a.py",
    "deepspeed --num_gpus 8 a.py --deepspeed ds.json": "python a.py --deepspeed ds.json",
    "colossalai run --nproc_per_node 4 a.py": "python a.py",
    "fabric run --devices 4 a.py": "python a.py",
    # behind other programs, which stay
    "numactl -N 0 -m 0 torchrun a.py": "numactl -N 0 -m 0 python a.py",
    "env A=1 timeout -k 5 60 torchrun a.py": "env A=1 timeout -k 5 60 python a.py",
    "taskset -c 0-3 nohup nice -n 5 stdbuf -oL torchrun a.py": "taskset -c 0-3 nohup nice -n 5 stdbuf -oL python a.py",
    "uv run --with x torchrun a.py": "uv run --with x python a.py",
    "conda run -n env1 --no-capture-output torchrun a.py": "conda run -n env1 --no-capture-output python a.py",
}  # fmt: skip

NOT_REBUILT = (
    "torchrun",
    "torchrun --no-python ./train.sh",
    "mpirun -np 1 python a.py : -np 1 python b.py",
    "bash -lc 'cd /x && exec torchrun a.py'",
    "accelerate launch a.py --config_file c.yaml --use_fsdp",
    "accelerate launch --num_processes 1 --config_file c.yaml a.py",
    "accelerate launch --num_processes 4 a.py --num_processes 3",
    "llamafactory-cli train a.yaml",
    "ray job submit -- python a.py",
    "python -m verl.trainer.main_ppo a=b",
)

ACCEPTED = (
    "python -u train.py torchrun",
    "python -c 'import torch.distributed.run' torchrun",
    "python -m torch.distributed.elastic_docs",
    "python run.py",
    "numactl --show",
    "bash run.sh torchrun",
    "bash -c 'echo \"torchrun'",
    "accelerate launch --num_processes 1 --mixed_precision bf16 train.py",
    "accelerate env",
    "swift sft --model x",
    "llamafactory-cli version",
    "ray status",
    "env",
    "timeout",
    "python",
)


@pytest.mark.parametrize("command", [*REBUILT, *NOT_REBUILT])
def test_a_launcher_is_refused_with_the_command_of_a_rank(command: str) -> None:
    with pytest.raises(KitError, match="each of the 4 ranks would run a whole job of its own") as caught:
        refuse_launcher(shlex.split(command), 4)
    hint = caught.value.hint or ""
    assert hint
    if command in REBUILT:
        assert hint.partition("\n")[0] == f"write after --: {REBUILT[command]}"
        refuse_launcher(shlex.split(REBUILT[command]), 4)


@pytest.mark.parametrize("command", ACCEPTED)
def test_other_commands_are_accepted(command: str) -> None:
    refuse_launcher(shlex.split(command), 4)


SCRIPT = """#!/bin/bash
# torchrun was here; echo 'msrun'
source set_env.sh && ARGS="--nproc_per_node 8"
{line} \\
    train.py --epochs 3
"""


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("torchrun $ARGS", "torchrun"),
        ('if [ "$X" ]; then\n  numactl -N 0 python3 -m torch.distributed.run $ARGS', "torch.distributed.run"),
        ("HCCL_BUFFSIZE=200 nohup msrun --worker_num=8", "msrun"),
        ("for i in 1; do accelerate launch --num_processes 8", "accelerate launch"),
        ("python -u", None),
        ("accelerate launch --num_processes 1", None),
        ("echo torchrun", None),
    ],
)
def test_a_script_that_starts_a_job_is_warned_of(
    line: str, name: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.sh").write_text(SCRIPT.format(line=line))
    for command in ("bash run.sh", "bash -x run.sh 8", "./run.sh", "env A=1 sh run.sh"):
        warning = warning_of_script(command.split())
        assert (warning is None) == (name is None)
        assert warning is None or f"run.sh runs {name}, which starts" in warning
        refuse_launcher(command.split(), 4)


@pytest.mark.parametrize("command", ["bash none.sh", "bash", "none.sh", "bash a\0.sh", "python -c x", "bash ."])
def test_a_script_that_is_not_here_has_no_warning(command: str) -> None:
    assert warning_of_script(command.split(" ")) is None


def test_a_script_on_standard_input_is_left_to_the_shell() -> None:
    program = "from hccl_kit.launch.nested import warning_of_script as w; print(w(['bash', '/dev/stdin']), input())"
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-c", program]
    done = subprocess.run(argv, env=environ, input="torchrun a.py\n", capture_output=True, text=True, check=True)
    assert done.stdout == "None torchrun a.py\n"


def test_a_job_of_one_rank_may_run_a_driver_but_no_launcher() -> None:
    refuse_launcher(["ray", "job", "submit", "--", "python", "a.py"], 1)
    with pytest.raises(KitError, match="the rank would run a whole job of its own"):
        refuse_launcher(["torchrun", "a.py"], 1)


@pytest.mark.parametrize("to", ["gen", "bash", "mpirun", "msrun", "slurm", "jobset", "rayjob"])
def test_no_program_writes_a_job_that_would_run_once_per_rank(tmp_path: Path, to: str) -> None:
    def kit(*words: str, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "hccl_kit", *words, "--", *command]
        return subprocess.run(
            argv, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
        )

    gen = ("gen", "--simulate", "--device_num", "[0,4)", "--server_ip", "10.0.0.1")
    words: tuple[str, ...] = gen
    if to != "gen":
        assert kit(*gen, command=["true"]).returncode == 0
        (table,) = tmp_path.glob("*.json")
        words = (
            "launch",
            table.name,
            "--to",
            to,
            "-o",
            "out",
            *(["--image", "r/t:1"] if to.endswith(("set", "job")) else []),
        )
    before = sorted(tmp_path.iterdir())
    done = kit(*words, command=["torchrun", "--nproc_per_node", "4", "train.py"])
    assert (done.returncode, done.stderr.splitlines()) == (
        2,
        [
            "error: torchrun starts processes of a job by itself; each of the 4 ranks would run a whole job of its own",
            "  fix: write after --: python train.py",
        ],
    )
    assert sorted(tmp_path.iterdir()) == before
