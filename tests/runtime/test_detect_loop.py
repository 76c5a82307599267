"""The handwritten loop of the tutorials: the rank table provides missing values and corrects wrong ones."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.launch.plan import plan
from hccl_kit.runtime.detect import detect
from hccl_kit.table import formats
from hccl_kit.table.model import Device, RankTable, Server
from hccl_kit.table.operations.generate import generate

PORTS = range(20000, 32000)


def loop(table: Path, rank: int, device: int, *, size: int = 4) -> dict[str, str]:
    """The variables of the tutorial's script for four cards, including its wrong DEVICE_NUM."""
    return {
        "DEVICE_NUM": "8",
        "RANK_SIZE": str(size),
        "RANK_TABLE_FILE": str(table),
        "DEVICE_ID": str(device),
        "RANK_ID": str(rank),
    }


def written(table: RankTable, path: Path) -> Path:
    path.write_text(formats.write(table), encoding="utf-8")
    return path


@pytest.fixture
def four(tmp_path: Path) -> Path:
    """Ranks 0 to 3 on devices 4 to 7 of one server."""
    made = generate("10.0.0.1", [(device, f"192.0.2.{device}") for device in range(4, 8)])
    return written(made, tmp_path / "four.json")


@pytest.fixture
def servers(tmp_path: Path) -> Path:
    """Two servers with two cards each; the second in the file holds ranks 0 and 1."""
    made = RankTable(
        version="1.0",
        status="completed",
        servers=(
            Server("10.0.0.9", (Device(0, "192.0.2.1", 3), Device(1, "192.0.2.2", 2))),
            Server("10.0.0.2", (Device(0, "192.0.2.3", 0), Device(1, "192.0.2.4", 1))),
        ),
        declared_servers=2,
    )
    return written(made, tmp_path / "servers.json")


def test_ranks_per_server_come_from_the_table_and_not_from_device_num(four: Path) -> None:
    found = detect(loop(four, 2, 6))
    assert found.launcher == "loop"
    assert found.reason == f"the environment holds RANK_ID=2 RANK_SIZE=4 RANK_TABLE_FILE={four}"
    env = found.env
    assert (env.rank, env.size, env.local_rank, env.local_size, env.device) == (2, 4, 2, 4, 6)
    assert (env.master_addr, env.table) == ("127.0.0.1", str(four))


@given(st.lists(st.integers(0, 7), min_size=1, max_size=8, unique=True))
def test_the_detected_environment_matches_the_plan(
    tmp_path_factory: pytest.TempPathFactory, devices: list[int]
) -> None:
    table = generate("10.0.0.1", [(device, f"192.0.2.{device}") for device in devices])
    path = written(table, tmp_path_factory.mktemp("loop") / "table.json")
    ports = set()
    for worker in plan(table, ["train"]).workers:
        env = detect(loop(path, worker.rank, worker.device, size=len(devices))).env
        ports.add(env.master_port)
        assert env == dataclasses.replace(worker, table=str(path), master_port=env.master_port, node=None)
    assert len(ports) == 1
    assert ports <= set(PORTS)


def test_ranks_of_several_servers_rendezvous_at_the_server_of_rank_0(servers: Path) -> None:
    envs = [detect(loop(servers, rank, device)).env for rank, device in enumerate((0, 1, 1, 0))]
    assert {(env.master_addr, env.master_port) for env in envs} == {("10.0.0.2", envs[0].master_port)}
    assert envs[0].master_port in PORTS
    assert [(env.local_rank, env.local_size) for env in envs] == [(0, 2), (1, 2), (0, 2), (1, 2)]


def test_an_exported_rendezvous_address_is_used(four: Path) -> None:
    env = detect({**loop(four, 0, 4), "MASTER_PORT": "12345", "MASTER_ADDR": "10.9.9.9"}).env
    assert (env.master_addr, env.master_port) == ("10.9.9.9", 12345)


def test_a_relative_table_becomes_absolute(four: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(four.parent)
    assert detect(loop(Path(four.name), 0, 4)).env.table == str(four)


def port_in_a_session_of_its_own(table: Path) -> int:
    program = "import os; from hccl_kit.runtime.detect import detect; print(detect(os.environ).env.master_port)"
    device = json.loads(table.read_text())["server_list"][0]["device"][0]
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**loop(table, int(device["rank_id"]), int(device["device_id"])), "PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
        stdout=subprocess.PIPE,
        check=True,
        timeout=300,
    )
    return int(done.stdout)


def test_two_jobs_of_one_table_on_one_host_have_different_ports(four: Path) -> None:
    # two sessions share a port with probability 1/12000, so three are tested
    assert len({port_in_a_session_of_its_own(four) for _ in range(3)}) > 1


def test_ranks_of_several_servers_have_the_same_port_in_any_session(servers: Path) -> None:
    assert port_in_a_session_of_its_own(servers) == detect(loop(servers, 0, 0)).env.master_port


def test_another_table_gives_another_port(four: Path, tmp_path: Path) -> None:
    other = generate("10.0.0.7", [(device, f"192.0.2.{device}") for device in range(4, 8)])
    path = written(other, tmp_path / "other.json")
    assert detect(loop(path, 0, 4)).env.master_port != detect(loop(four, 0, 4)).env.master_port


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"RANK_SIZE": "8"}, "RANK_SIZE=8, but .*four.json has 4 ranks"),
        ({"RANK_ID": "4"}, "RANK_ID=4 is not in .*four.json, which has ranks 0..3"),
        ({"DEVICE_ID": "0"}, "DEVICE_ID=0 for rank 0, but .*four.json gives it device 4 .HCCL: EI0014."),
        (
            {"RANK_TABLE_FILE": "/no/such/table.json"},
            "RANK_TABLE_FILE: cannot read /no/such/table.json: No such file",
        ),
        ({"RANK_TABLE_FILE": "/", "HCCL_KIT_TABLE_TIMEOUT": "0"}, "cannot read /jobstart_hccl.json: No such file"),
        ({"RANK_TABLE_FILE": "/dev/zero"}, "cannot read /dev/zero: it is not a regular file"),
    ],
    ids=str,
)
def test_variables_that_contradict_the_table_are_refused(four: Path, change: dict[str, str], message: str) -> None:
    with pytest.raises(KitError, match=message):
        detect({**loop(four, 0, 4), **change})


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": "2.0"}', '{"version": "1.0", "server_list": 3}'])
def test_a_file_that_is_not_a_rank_table_is_refused_with_the_next_step(tmp_path: Path, text: str) -> None:
    path = tmp_path / "not.json"
    path.write_text(text)
    with pytest.raises(KitError, match="is not a rank table that this program reads") as caught:
        detect(loop(path, 0, 0))
    assert caught.value.hint == f"hccl-check {path}"
