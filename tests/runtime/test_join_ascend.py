"""The calls to MindSpore on Ascend, with the environment of each. MindSpore is a fake on PYTHONPATH."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.launch.plan import plan
from hccl_kit.runtime.detect import Launch
from hccl_kit.runtime.join import join
from hccl_kit.runtime.worker_env import RUN_ID, WorkerEnv
from hccl_kit.table import formats
from hccl_kit.table.operations.generate import generate
from tests.places import AS_ROOT, MPIRUN

HERE = Path(__file__).parent
TABLE = generate("10.0.0.1", [(device, f"192.0.2.{device}") for device in range(4, 8)])


@dataclass(frozen=True)
class Joined:
    """The output of a rank and its calls to MindSpore."""

    code: int
    world: Any
    error: str
    calls: list[Any]
    environ: dict[str, str]


def calls(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def base(folder: Path) -> dict[str, str]:
    python_path = os.pathsep.join([str(HERE / "fakes"), *sys.path])
    record = str(folder / "calls")
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": python_path, "FAKE_CALLS": record}


def joined(folder: Path, environ: dict[str, str], *, fake_world: str, target: str = "Ascend") -> Joined:
    done = subprocess.run(
        [sys.executable, HERE / "member.py", target],
        env={**base(folder), **environ, "FAKE_WORLD": fake_world},
        capture_output=True,
        check=False,
        text=True,
        timeout=300,
    )
    rows = calls(folder / "calls")
    environs = [row["environ"] for row in rows]
    assert all(environ == environs[0] for environ in environs)
    return Joined(
        done.returncode,
        json.loads(done.stdout) if done.stdout else None,
        done.stderr,
        [row["call"] for row in rows],
        environs[0] if environs else {},
    )


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.json"
    path.write_text(formats.write(TABLE), encoding="utf-8")
    return path


def contract(table: Path) -> dict[str, str]:
    return {"RANK_TABLE_FILE": str(table), "RANK_ID": "2", "DEVICE_ID": "6", "RANK_SIZE": "4"}


JOIN_DEVICE_6 = [["set_device", "Ascend", 6], ["init", "hccl"], ["get_rank"], ["get_group_size"]]


def test_under_our_script_the_card_is_set_before_hccl_starts(tmp_path: Path, table: Path) -> None:
    worker = plan(TABLE, ["train"]).workers[2].to_environ()
    environ = {**worker, "RANK_TABLE_FILE": str(table), "MASTER_PORT": "23456", RUN_ID: "run"}
    found = joined(tmp_path, environ, fake_world="2 4")
    assert (found.code, found.error) == (0, "")
    assert found.calls == JOIN_DEVICE_6
    assert found.environ == contract(table)
    assert found.world == ["script", 2, 4, 2, False]


def test_a_handwritten_loop_keeps_its_exported_variables_for_hccl(tmp_path: Path, table: Path) -> None:
    found = joined(tmp_path, {**contract(table), "DEVICE_NUM": "8"}, fake_world="2 4")
    assert (found.code, found.error) == (0, "")
    assert found.calls == JOIN_DEVICE_6
    assert found.environ == contract(table)
    assert found.world == ["loop", 2, 4, 2, False]


def test_torch_names_with_a_table_join_by_the_table(tmp_path: Path, table: Path) -> None:
    torch = {"RANK": "2", "WORLD_SIZE": "4", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"}
    found = joined(tmp_path, {**torch, **contract(table)}, fake_world="2 4")
    assert (found.code, found.calls) == (0, JOIN_DEVICE_6)
    assert found.world[0] == "torchrun"


def test_a_worker_of_msrun_uses_its_local_index_as_card(tmp_path: Path) -> None:
    environ = {"MS_ROLE": "MS_WORKER", "MS_WORKER_NUM": "4", "RANK_ID": "2", "DEVICE_ID": "2", "RANK_SIZE": "4"}
    found = joined(tmp_path, environ, fake_world="2 4")
    assert (found.code, found.error) == (0, "")
    assert found.calls == [["set_device", "Ascend", 2], ["init", "hccl"], ["get_rank"], ["get_group_size"]]
    assert found.environ == {"RANK_ID": "2", "DEVICE_ID": "2", "RANK_SIZE": "4"}
    assert found.world == ["msrun", 2, 4, 2, False]


@pytest.mark.parametrize("target", ["Ascend", "CPU"])
def test_the_scheduler_of_msrun_uses_no_card_and_ends(tmp_path: Path, target: str) -> None:
    environ = {"MS_ROLE": "MS_SCHED", "MS_WORKER_NUM": "4", "RANK_ID": "0", "RANK_SIZE": "4"}
    found = joined(tmp_path, environ, fake_world="0 4", target=target)
    assert (found.code, found.error, found.world) == (0, "", None)
    assert found.calls == [["init"]]


def test_a_scheduler_of_msrun_that_cannot_serve_names_its_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as: another job of this host has the port, which is the same for all by default. It was a traceback."""

    def init() -> None:
        raise RuntimeError("Failed to initialize the cluster.\n1. MS_SCHED_PORT is occupied")

    monkeypatch.setitem(sys.modules, "mindspore", ModuleType("mindspore"))
    monkeypatch.setitem(sys.modules, "mindspore.communication", SimpleNamespace(init=init))
    for name, value in {"MS_ROLE": "MS_SCHED", "MS_SCHED_HOST": "127.0.0.1", "MS_SCHED_PORT": "8118"}.items():
        monkeypatch.setenv(name, value)
    env = WorkerEnv(rank=0, size=2, local_rank=0, local_size=2, device=0)
    message = r"^msrun's scheduler at 127.0.0.1:8118 ended: Failed to initialize the cluster\.$"
    with pytest.raises(KitError, match=message) as caught:
        join(Launch("msrun", "", env), env, "CPU")
    assert "msrun --master_port=PORT" in str(caught.value.hint)


def test_a_single_process_starts_no_communication(tmp_path: Path) -> None:
    found = joined(tmp_path, {}, fake_world="0 1")
    assert (found.code, found.error) == (0, "")
    assert found.calls == [["set_device", "Ascend", 0]]
    assert found.environ == {}
    assert found.world == ["single", 0, 1, 0, True]


def test_torch_names_without_a_table_are_refused_with_alternatives(tmp_path: Path) -> None:
    environ = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
    found = joined(tmp_path, environ, fake_world="0 2")
    assert found.code == 2
    assert found.error.startswith("error: torchrun's variables do not describe the cards for HCCL, and RANK_TABLE_FILE")
    assert "  fix: start the job with the script that hccl-gen writes, with mpirun or with msrun" in found.error
    assert ["init", "hccl"] not in found.calls


def test_plain_srun_is_refused_with_an_alternative(tmp_path: Path, table: Path) -> None:
    step = {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_TASKS_PER_NODE": "2"}
    task = {"SLURM_JOB_ID": "1", "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0"}
    environ = {**step, **task, "SLURM_STEP_NODELIST": "n1", "RANK_TABLE_FILE": str(table)}
    found = joined(tmp_path, environ, fake_world="0 2")
    assert found.code == 2
    assert found.error.startswith("error: srun's variables do not describe the cards for HCCL\n  fix: ")
    assert "hccl-kit launch TABLE --to slurm" in found.error
    assert ["init", "hccl"] not in found.calls


@pytest.mark.parametrize(("fake_world", "said"), [("3 4", "3 of 4"), ("2 8", "2 of 8"), ("0 1", "0 of 1")])
def test_a_framework_with_a_different_rank_is_detected(tmp_path: Path, table: Path, fake_world: str, said: str) -> None:
    found = joined(tmp_path, contract(table), fake_world=fake_world)
    assert found.code == 2
    assert f"error: MindSpore reports rank {said}, the launcher rank 2 of 4" in found.error


@pytest.mark.skipif(not MPIRUN.exists(), reason="needs the extra mpi, which brings mpirun")
def test_under_mpirun_no_rank_table_reaches_hccl(tmp_path: Path, table: Path) -> None:
    """MindSpore 2.7.1 and later would read the ranks from it."""
    done = subprocess.run(
        [MPIRUN, *AS_ROOT, "--oversubscribe", "-n", "2", sys.executable, HERE / "member.py", "Ascend"],
        env={**base(tmp_path), "RANK_TABLE_FILE": str(table)},
        capture_output=True,
        check=False,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(map(json.loads, done.stdout.splitlines())) == [["mpirun", 0, 2, 0, True], ["mpirun", 1, 2, 1, False]]
    for rank in range(2):
        rows = calls(tmp_path / f"calls.{rank}")
        assert [row["call"] for row in rows] == [
            ["set_device", "Ascend", rank],
            ["init", "hccl"],
            ["get_rank"],
            ["get_group_size"],
        ]
        assert all(row["environ"] == {} for row in rows)
