"""What a server says about its cores and cards."""

import os
from pathlib import Path

import pytest

from hccl_kit.agent import machine
from hccl_kit.agent.machine import CGROUP, cores_in, near_cards, this_machine, threads

A2 = """\
           NPU0       NPU1       NPU2       CPU Affinity
NPU0       X          HCCS       HCCS       144-167
NPU1       HCCS       X          HCCS       0-1,8-9
NPU2       HCCS       HCCS       X          NA

Legend:

  X    = Self
  HCCS = Connection traversing HCCS.
"""
A3 = """\
           Phy-ID0    Phy-ID1    CPU Affinity
Phy-ID0    X          SIO        0-39
Phy-ID1    SIO        X          0-39
"""
WITHOUT = "           Phy-ID0    Phy-ID1\nPhy-ID0    X          SIO\nPhy-ID1    SIO        X\n"
"""As some builds print it in containers."""
BY_CORE, BY_NODE = (
    "sys/devices/system/cpu/cpu{}/topology/thread_siblings_list",
    "sys/devices/system/node/node{}/cpulist",
)


def test_the_cores_near_a_card_are_read_from_the_topology_of_npu_smi() -> None:
    assert near_cards(A2) == {0: frozenset(range(144, 168)), 1: frozenset({0, 1, 8, 9})}
    assert near_cards(A3) == dict.fromkeys((0, 1), frozenset(range(40)))
    assert near_cards(WITHOUT) == near_cards("This device does not support querying topo.") == near_cards("") == {}


def test_a_list_of_cores_is_read_within_what_linux_counts() -> None:
    assert cores_in("0-3,8\n") == {0, 1, 2, 3, 8}
    assert cores_in("5-2") == cores_in("x") == cores_in("0-99999999") == cores_in("-") == frozenset()


def test_nodes_and_threads_have_only_cores_of_this_process(tmp_path: Path) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    files = {BY_NODE.format(10): "5000\n", BY_NODE.format(2): f"{allowed[0]},5001\n", "dev/davinci7": ""}
    files |= {BY_CORE.format(allowed[0]): f"{allowed[0]},5002\n", "dev/davinci_manager": ""}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    facts = this_machine({"PATH": str(tmp_path)}, str(tmp_path))
    assert facts.nodes == (frozenset(allowed[:1]),)
    assert facts.threads == {allowed[0]: frozenset(allowed[:1])}
    assert facts.cards == {7}
    assert facts.near == {}


def test_a_tool_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "npu-smi"
    tool.write_text(f"#!/bin/sh\ncat <<'END'\n{A3}END\nexec sleep 600\n")
    tool.chmod(0o755)
    monkeypatch.setattr(machine, "PATIENCE", 1.0)
    facts = this_machine({"PATH": f"{tmp_path}:{os.environ['PATH']}"}, str(tmp_path))
    assert facts.near.keys() <= {0, 1}


def test_ranks_share_the_cores_of_this_process() -> None:
    cores = len(os.sched_getaffinity(0))
    assert threads(1, {}) <= cores
    assert threads(10**6, {}) == 1
    assert threads(1, {"SLURM_CPUS_ON_NODE": "1"}) == 1
    assert threads(1, {"SLURM_CPUS_ON_NODE": "x"}) == threads(1, {})


@pytest.mark.parametrize("names", [("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")])
@pytest.mark.parametrize(("quota", "limited"), [("100000", True), ("max", False), ("-1", False), ("junk 1", False)])
def test_a_cgroup_limits_the_cores(tmp_path: Path, names: tuple[str, ...], quota: str, limited: bool) -> None:
    values = [quota, "100000"] if len(names) == 2 else [f"{quota} 100000"]
    for name, value in zip(names, values, strict=True):
        path = tmp_path / CGROUP / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")
    assert threads(1, {}, str(tmp_path)) == (1 if limited else len(os.sched_getaffinity(0)))
