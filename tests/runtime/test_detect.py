"""Every launcher gives a WorkerEnv with the reason, or an error that names the variable."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.launch.plan import plan
from hccl_kit.runtime.detect import LAUNCHERS, Launch, detect
from hccl_kit.runtime.worker_env import RUN_ID, WorkerEnv
from hccl_kit.table.operations.generate import generate

Environ = dict[str, str]

SCRIPT: Environ = {
    "HCCL_KIT_RUN_ID": "20260101-000000-1",
    "RANK_ID": "2",
    "RANK": "2",
    "RANK_SIZE": "4",
    "WORLD_SIZE": "4",
    "LOCAL_RANK": "2",
    "DEVICE_NUM": "4",
    "LOCAL_WORLD_SIZE": "4",
    "DEVICE_ID": "6",
    "RANK_TABLE_FILE": "/jobs/table.json",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "23456",
}
MSRUN_WORKER: Environ = {
    "MS_ROLE": "MS_WORKER",
    "MS_WORKER_NUM": "4",
    "MS_SCHED_HOST": "127.0.0.1",
    "MS_SCHED_PORT": "8118",
    "MS_NODE_ID": "1",
    "RANK_ID": "1",
    "RANK_SIZE": "4",
    "DEVICE_ID": "1",
}
MSRUN_SCHEDULER: Environ = {"MS_ROLE": "MS_SCHED", "MS_WORKER_NUM": "4", "RANK_ID": "0", "RANK_SIZE": "4"}
MPIRUN: Environ = {
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
}
TORCH: Environ = {"RANK": "3", "WORLD_SIZE": "4", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"}
TORCHRUN: Environ = {
    **TORCH,
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "2",
    "TORCHELASTIC_USE_AGENT_STORE": "True",
}
SRUN: Environ = {
    "SLURM_JOB_ID": "25",
    "SLURM_STEP_ID": "3",
    "SLURM_PROCID": "2",
    "SLURM_LOCALID": "0",
    "SLURM_NODEID": "1",
    "SLURM_STEP_NUM_TASKS": "3",
    "SLURM_STEP_TASKS_PER_NODE": "2,1",
    "SLURM_STEP_NODELIST": "n[1-2]",
}
ALONE = WorkerEnv(rank=0, size=1, local_rank=0, local_size=1, device=0)


@pytest.mark.parametrize(
    ("environ", "launcher", "reason", "env"),
    [
        (
            SCRIPT,
            "script",
            "HCCL_KIT_RUN_ID=20260101-000000-1",
            WorkerEnv(2, 4, 2, 4, 6, "127.0.0.1", 23456, "/jobs/table.json"),
        ),
        (MSRUN_WORKER, "msrun", "MS_ROLE=MS_WORKER", WorkerEnv(1, 4, 1, 4, 1)),
        (MSRUN_SCHEDULER, "msrun", "MS_ROLE=MS_SCHED", WorkerEnv(0, 4, 0, 4, 0)),
        ({**MSRUN_WORKER, "RANK_ID": "3"}, "msrun", "MS_ROLE=MS_WORKER", WorkerEnv(3, 4, 1, 2, 1)),
        (MPIRUN, "mpirun", "OMPI_COMM_WORLD_SIZE=4", WorkerEnv(3, 4, 1, 2, 1)),
        (
            TORCH,
            "torchrun",
            "RANK=3 WORLD_SIZE=4 MASTER_ADDR=10.0.0.1 MASTER_PORT=29500",
            WorkerEnv(3, 4, 3, 4, 3, "10.0.0.1", 29500),
        ),
        # torchrun's agent listens on MASTER_PORT itself
        (TORCHRUN, "torchrun", "RANK=3", WorkerEnv(3, 4, 1, 2, 1, "10.0.0.1", 29501)),
        (
            {**TORCH, "DEVICE_ID": "7", "RANK_TABLE_FILE": "/t.json"},
            "torchrun",
            "RANK=3",
            WorkerEnv(3, 4, 3, 4, 7, "10.0.0.1", 29500, "/t.json"),
        ),
        (SRUN, "srun", "SLURM_STEP_ID=3 SLURM_PROCID=2", WorkerEnv(2, 3, 0, 1, 0, "n1", 20778)),
        ({}, "single", "no launcher's variables are set", ALONE),
        ({"RANK_SIZE": "1", "WORLD_SIZE": "1", "PATH": "/bin"}, "single", "no launcher's", ALONE),
    ],
    ids=[
        "script",
        "msrun",
        "scheduler",
        "msrun-node-2",
        "mpirun",
        "torch",
        "torchrun",
        "torch-table",
        "srun",
        "none",
        "one",
    ],
)
def test_detects_the_launcher_of_this_process(environ: Environ, launcher: str, reason: str, env: WorkerEnv) -> None:
    found = detect(environ)
    assert (found.launcher, found.env) == (launcher, env)
    assert reason in found.reason


@pytest.mark.parametrize(
    ("environ", "launcher"),
    [
        ({**SCRIPT, **TORCH, "RANK": "2"}, "script"),
        ({**MPIRUN, **MSRUN_WORKER}, "msrun"),
        ({**MPIRUN, **TORCHRUN}, "mpirun"),
        ({**TORCH, "RANK_ID": "3", "RANK_SIZE": "4", "RANK_TABLE_FILE": "/t.json"}, "torchrun"),
        *(({**SRUN, **other}, name) for other, name in ((SCRIPT, "script"), (MPIRUN, "mpirun"), (TORCH, "torchrun"))),
        ({**SRUN, **MSRUN_WORKER}, "msrun"),
    ],
)
def test_of_two_launchers_the_more_specific_one_is_used(environ: Environ, launcher: str) -> None:
    environ = {**environ, "MASTER_ADDR": "127.0.0.1"}
    assert detect(environ).launcher == launcher


def test_the_option_overrides_the_detected_launcher() -> None:
    assert detect({**SCRIPT, **MPIRUN}, launcher="mpirun") == Launch(
        "mpirun", "--launcher was given", WorkerEnv(3, 4, 1, 2, 1, SCRIPT["MASTER_ADDR"])
    )
    assert detect(SCRIPT, launcher="single").env == ALONE


def test_an_unknown_launcher_is_refused() -> None:
    with pytest.raises(KitError, match="unknown launcher 'slurm'; accepted: script, msrun, mpirun"):
        detect({}, launcher="slurm")


@pytest.mark.parametrize("launcher", sorted(set(LAUNCHERS) - {"single"}))
def test_a_wrong_launcher_option_is_an_error_that_names_a_variable(launcher: str) -> None:
    with pytest.raises(KitError, match=r"[A-Z]+_[A-Z]+"):
        detect({}, launcher=launcher)
    with pytest.raises(KitError, match=r"[A-Z]+_[A-Z]+"):
        detect({"MS_WORKER_NUM": "2", "RANK_ID": "0", "DEVICE_ID": "0", "RANK": "0"}, launcher=launcher)


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({**SCRIPT, "RANK_ID": "1", "RANK": "0"}, "the environment contradicts itself: RANK_ID=1 but RANK=0"),
        ({**SCRIPT, "DEVICE_ID": "six"}, "DEVICE_ID='six' is not an integer"),
        ({**SCRIPT, "RANK_ID": "4", "RANK": "4"}, "rank 4 is outside 0..3"),
        ({**MSRUN_WORKER, "MS_WORKER_NUM": ""}, "MS_WORKER_NUM='' is not an integer >= 1"),
        ({**MSRUN_WORKER, "MS_WORKER_NUM": "９"}, "MS_WORKER_NUM='９' is not an integer >= 1"),
        ({**MPIRUN, "OMPI_COMM_WORLD_RANK": ""}, "OMPI_COMM_WORLD_RANK='' is not an integer >= 0"),
        ({**MPIRUN, "OMPI_COMM_WORLD_SIZE": "9" * 5000}, "OMPI_COMM_WORLD_SIZE='9+' is not an integer >= 0"),
        ({**TORCH, "RANK_ID": "0"}, "RANK_ID=0 but RANK=3"),
        ({**TORCH, "LOCAL_WORLD_SIZE": "0"}, "LOCAL_WORLD_SIZE='0' is not an integer >= 1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_inconsistent_variables_are_refused(environ: Environ, message: str) -> None:
    with pytest.raises(KitError, match=message):
        detect(environ)


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        (
            {"DEVICE_NUM": "8", "RANK_SIZE": "4", "DEVICE_ID": "1", "RANK_ID": "1"},
            "RANK_SIZE=4 indicates several ranks, but no launcher's variable set is complete; "
            "accepted with it: RANK_ID RANK_SIZE RANK_TABLE_FILE",
        ),
        (
            {"RANK": "1", "WORLD_SIZE": "2"},
            "WORLD_SIZE=2 indicates several ranks, but no launcher's variable set is complete; "
            "accepted with it: RANK WORLD_SIZE MASTER_ADDR MASTER_PORT",
        ),
    ],
)
def test_incomplete_variables_of_several_ranks_are_refused(environ: Environ, message: str) -> None:
    with pytest.raises(KitError, match=re.escape(message)):
        detect(environ)
    assert detect(environ, launcher="single").env == ALONE


@given(
    st.lists(st.integers(0, 63), min_size=1, max_size=16, unique=True),
    st.integers(1, 65535),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1),
)
def test_a_rank_detects_the_environment_of_the_plan(devices: list[int], port: int, path: str) -> None:
    table = generate("10.0.0.1", [(device, f"192.0.2.{device + 1}") for device in devices])
    for worker in plan(table, ["python", "train.py"]).workers:
        started = {**worker.to_environ(), "MASTER_PORT": str(port), "RANK_TABLE_FILE": path, RUN_ID: "run"}
        found = detect(started)
        assert found.launcher == "script"
        assert found.env == WorkerEnv(
            rank=worker.rank,
            size=len(devices),
            local_rank=worker.rank,
            local_size=len(devices),
            device=devices[worker.rank],
            master_addr="127.0.0.1",
            master_port=port,
            table=path,
            node=0,
        )
