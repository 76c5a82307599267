"""What the agent is told about the ranks of a plan: the environment that the script gives them."""

import json
import os
import sys
from pathlib import Path

import pytest

from hccl_kit.agent.assignment import Limits
from hccl_kit.agent.binding import NUMA
from hccl_kit.agent.port import FIRST, LAST
from hccl_kit.base.errors import KitError
from hccl_kit.base.network import derived_port
from hccl_kit.launch.assign import Extra, assign, check
from hccl_kit.launch.plan import LaunchPlan, plan
from hccl_kit.launch.recorders import RECORDERS
from hccl_kit.runtime.worker_env import LOG_DIR, MISLEADING, PLOGS, RESTART, THREADS, VISIBLE_DEVICES
from tests.agent.jobs import Job
from tests.launch.jobs import TABLE, clean_environ, python_job, table

TELL = "json.dump(dict(os.environ), sys.stdout)"


def made(framework: str | None = None) -> LaunchPlan:
    return plan(table(4), ("true",), framework=framework)


def environs(job: LaunchPlan, environ: dict[str, str], *extra: Extra) -> list[dict[str, str]]:
    """The environments of the ranks in the first start."""
    check(job, environ, extra)
    told = assign(job, environ, table=Path("/t/table.json"), folder=Path("/logs/run"), host="n1", extra=extra).here(
        environ
    )
    return [told.variables(rank, 0, 20001) for rank in told.ranks]


@pytest.mark.parametrize("framework", [None, "pytorch"])
def test_ranks_get_from_the_agent_what_they_get_from_the_script(tmp_path: Path, framework: str | None) -> None:
    left_over = dict.fromkeys((*MISLEADING, "RANK_ID", "WORLD_SIZE", "DEVICE_ID"), "99")
    environ = clean_environ({**left_over, RESTART: "2", "TORCH_FR_BUFFER_SIZE": "5"})
    script = python_job(tmp_path, TELL)
    assert script.run(environ=environ).returncode == 0
    run = script.logs.name
    folder = tmp_path / "agent" / run
    folder.mkdir(parents=True)
    command = (sys.executable, "-u", str(tmp_path / "program.py"))
    told = assign(
        plan(table(4), command, framework=framework),
        environ,
        table=tmp_path / TABLE,
        folder=folder,
        host=os.uname().nodename,
    )
    agent = Job(tmp_path, told)
    assert agent.run().returncode == 0
    for rank in range(4):
        of_script, of_agent = (json.loads(job.log(rank)) for job in (script, agent))
        moved = str(folder), str(script.logs)
        of_agent = {name: value.replace(*moved) for name, value in of_agent.items()}
        chosen = {"MASTER_PORT", "_", "SHLVL", "OLDPWD", "PWD", PLOGS}
        chosen |= {row.name for row in RECORDERS}  # which the script leaves alone
        if framework:
            assert (of_agent.pop(VISIBLE_DEVICES), of_agent["DEVICE_ID"]) == ("4,5,6,7", str(rank))
            chosen |= {"DEVICE_ID"}
        assert {*of_script} - chosen == {*of_agent} - chosen
        assert {n: of_script[n] for n in {*of_script} - chosen} == {n: of_agent[n] for n in {*of_agent} - chosen}


def test_variables_of_the_user_reach_every_rank_or_one() -> None:
    rows = (Extra("HCCL_ALGO", "ring"), Extra("OMP_NUM_THREADS", "3"), Extra("ASCEND_GLOBAL_LOG_LEVEL", "1", rank=2))
    found = environs(made(), {"HCCL_ALGO": "mesh"}, *rows)
    assert [environ["HCCL_ALGO"] for environ in found] == ["ring"] * 4
    assert [environ[THREADS] for environ in found] == ["3"] * 4
    assert [environ.get("ASCEND_GLOBAL_LOG_LEVEL") for environ in found] == [None, None, "1", None]


@pytest.mark.parametrize("name", ["RANK_ID", "WORLD_SIZE", "MASTER_PORT", VISIBLE_DEVICES, LOG_DIR])
def test_variables_of_the_job_are_not_the_users_to_set(name: str) -> None:
    with pytest.raises(KitError, match=f"{name} is set by the launcher"):
        environs(made(), {}, Extra(name, "1"))


def test_a_variable_for_a_rank_that_is_not_there_is_refused() -> None:
    with pytest.raises(KitError, match="X is for rank 4; this job has ranks 0 to 3"):
        environs(made(), {}, Extra("X", "1", rank=4))


def test_programs_of_torch_see_the_cards_of_the_job_and_another_list_is_refused() -> None:
    for given in ({}, {VISIBLE_DEVICES: "4,5,6,7"}):
        assert environs(made(framework="pytorch"), given)[3][VISIBLE_DEVICES] == "4,5,6,7"
    with pytest.raises(KitError, match="ASCEND_RT_VISIBLE_DEVICES=0,1; the cards of this job are 4,5,6,7"):
        environs(made(framework="pytorch"), {VISIBLE_DEVICES: "0,1"})
    assert VISIBLE_DEVICES not in environs(made(), {VISIBLE_DEVICES: "0,1"})[0]


def test_logs_of_the_driver_go_where_the_user_has_said() -> None:
    assert environs(made(), {})[0][PLOGS] == "/logs/run/plog/127.0.0.1"
    assert environs(made(), {PLOGS: "/plogs"})[0][PLOGS] == "/plogs"


def test_the_agent_chooses_among_the_ports_of_the_scripts() -> None:
    assert (derived_port(0), derived_port(-1)) == (FIRST, LAST)


def test_limits_are_passed_on() -> None:
    limits = Limits(max_restarts=3, heartbeat=60, log_limit=5, prefix=True, bind=NUMA)
    told = assign(made(), {}, table=Path("/t.json"), folder=Path("/logs/run"), host="n1", port=4711, limits=limits)
    assert (told.limits, told.port) == (limits, 4711)


def test_two_that_choose_the_cores_of_the_ranks_are_refused() -> None:
    on = "CPU_AFFINITY_CONF=2,force:1"
    name, _, value = on.partition("=")
    for command, environ, extra, other in (
        (("true",), {name: value}, (), on),
        (("true",), {}, (Extra(name, value, rank=3),), on),
        (("/usr/bin/numactl", "-N", "0", "true"), {}, (), "numactl"),
    ):
        job = plan(table(4), command)
        with pytest.raises(KitError, match=f"--bind numa and {other} both choose the cores of the ranks"):
            check(job, environ, extra, NUMA)
        check(job, environ, extra)
    check(made(), {name: "0"}, (), NUMA)
