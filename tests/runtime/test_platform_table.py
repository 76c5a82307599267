"""ModelArts, and folders of Kubernetes: tables that are written while a rank waits, and the ranks of a container."""

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.runtime.detect import detect
from hccl_kit.runtime.join import prepare
from hccl_kit.runtime.platform_table import Clock, modelarts_env, wait_for_table
from hccl_kit.table import formats
from hccl_kit.table.formats.kinds import SERVER_LIST
from hccl_kit.table.model import Device, Group, Instance, RankTable, Server
from tests.tables import ranks_value

Environ = dict[str, str]


def cloud(*pods: tuple[str, str, tuple[int, ...]]) -> dict[str, Any]:
    """The file of ModelArts: pods with their names, servers and cards."""
    return {
        "group_count": "1",
        "group_list": [
            {
                "device_count": str(sum(len(cards) for *_, cards in pods)),
                "group_name": "job-train",
                "instance_count": str(len(pods)),
                "instance_list": [
                    {
                        "devices": [{"device_id": str(card), "device_ip": f"192.{number}.0.{card}"} for card in cards],
                        "pod_name": name,
                        "server_id": server,
                    }
                    for number, (name, server, cards) in enumerate(pods)
                ],
            }
        ],
        "status": "completed",
    }


TWO_PODS = cloud(("job-1", "192.168.0.25", (4, 5)), ("job-0", "192.168.0.3", (0, 1)))
"""HCCL sorts servers as text: ranks 0 and 1 are those of job-1."""


def lab(*servers: tuple[str, tuple[int, ...]]) -> dict[str, Any]:
    """Template 2 in the lab form: one instance per rank."""
    ranks = [(server, card) for server, cards in servers for card in cards]
    return {
        "deploy_mode": "lab",
        "chip_info": "910",
        "board_id": "0x0000",
        "para_plane_nic_location": "device",
        "para_plane_nic_num": "1",
        "group_count": "1",
        "group_list": [
            {
                "device_num": str(len(ranks)),
                "server_num": str(len(servers)),
                "group_name": "",
                "instance_count": str(len(ranks)),
                "instance_list": [
                    {
                        "rank_id": str(rank),
                        "server_id": server,
                        "devices": [{"device_id": str(card), "device_ip": f"192.0.2.{rank}"}],
                    }
                    for rank, (server, card) in enumerate(ranks)
                ],
            }
        ],
        "status": "completed",
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """/user/config."""
    made = tmp_path / "config"
    made.mkdir()
    return made


def put(folder: Path, value: object, name: str = "jobstart_hccl.json") -> Path:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return folder


def on_modelarts(folder: Path, **more: str) -> Environ:
    return {"VC_TASK_INDEX": "0", "RANK_TABLE_FILE": str(folder), **more}


class Watch:
    """A clock that only advances between two polls, and an action at every poll."""

    def __init__(self, at: dict[int, Any]) -> None:
        self.seconds, self.said, self.looks, self.at = 0.0, list[str](), count(1), at

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        action = self.at.get(next(self.looks))
        if action:
            action()

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.seconds, self.sleep, self.said.append)


def test_a_rank_waits_until_another_process_has_written_the_table(folder: Path) -> None:
    put(folder, {"status": "initializing", "group_list": []})
    program = (
        "import json, os, sys, time\n"
        "time.sleep(0.5)\n"
        "with open(sys.argv[1], 'w') as file:\n"  # like the operator: not atomically
        "    for piece in (sys.argv[2][:40], sys.argv[2][40:]):\n"
        "        file.write(piece); file.flush(); time.sleep(0.3)\n"
    )
    words = [sys.executable, "-c", program, str(folder / "jobstart_hccl.json"), json.dumps(TWO_PODS)]
    with subprocess.Popen(words) as writer:
        found = detect(on_modelarts(folder, MA_CURRENT_INSTANCE_NAME="job-0", DEVICE_ID="1"))
        assert writer.wait() == 0
    assert (found.launcher, found.env.rank, found.env.size) == ("modelarts", 3, 4)


def test_a_table_that_is_never_written_times_out(folder: Path) -> None:
    put(folder, {"status": "initializing"})
    watch = Watch({})
    with pytest.raises(KitError, match=r"jobstart_hccl.json is not completed after 1800 s: initializing") as caught:
        wait_for_table(folder, {}, watch.clock)
    assert watch.seconds == 1800
    assert "HCCL_KIT_TABLE_TIMEOUT" in (caught.value.hint or "")
    assert len(watch.said) == 29
    assert watch.said[0] == f"waiting for the rank table {folder}/jobstart_hccl.json to be completed: initializing"


def test_the_status_of_a_version_2_table_is_not_waited_for(folder: Path) -> None:
    put(folder, ranks_value() | {"status": "initializing"})
    watch = Watch({})
    with pytest.raises(KitError, match="is not a rank table that this program reads"):
        wait_for_table(folder, {}, watch.clock)
    assert watch.seconds == 0


def test_the_limit_can_be_shortened(folder: Path) -> None:
    put(folder, {"status": "initializing"})
    watch = Watch({})
    with pytest.raises(KitError, match="is not completed after 3 s"):
        wait_for_table(folder, {"HCCL_KIT_TABLE_TIMEOUT": "3"}, watch.clock)
    assert watch.seconds == 3
    with pytest.raises(KitError, match="HCCL_KIT_TABLE_TIMEOUT='soon' is not an integer >= 0"):
        wait_for_table(folder, {"HCCL_KIT_TABLE_TIMEOUT": "soon"})


def test_a_broken_table_is_retried_for_ten_seconds(folder: Path) -> None:
    put(folder, "{")
    watch = Watch({18: lambda: put(folder, TWO_PODS)})
    assert wait_for_table(folder, {}, watch.clock).table.world_size == 4
    assert watch.seconds == 9
    put(folder, "{")
    watch = Watch({})
    with pytest.raises(KitError, match="is not a rank table that this program reads"):
        wait_for_table(folder, {}, watch.clock)
    assert 10 < watch.seconds < 11


def test_a_table_in_a_folder_may_be_missing_for_ten_seconds(folder: Path) -> None:
    watch = Watch({18: lambda: put(folder, TWO_PODS)})
    assert wait_for_table(folder, {}, watch.clock).table.world_size == 4
    (folder / "jobstart_hccl.json").unlink()
    watch = Watch({})
    with pytest.raises(KitError, match=r"RANK_TABLE_FILE: cannot read .*/jobstart_hccl.json: No such file"):
        wait_for_table(folder, {}, watch.clock)
    assert 10 < watch.seconds < 11


def test_a_broken_table_is_retried_for_ten_seconds_after_a_long_wait(folder: Path) -> None:
    put(folder, {"status": "initializing"})
    watch = Watch({100: lambda: put(folder, ""), 110: lambda: put(folder, TWO_PODS)})
    assert wait_for_table(folder, {}, watch.clock).table.world_size == 4
    assert watch.seconds == 55


@pytest.mark.parametrize("text", ["", "{", "[]", '{"status": "completed"}'])
def test_an_explicit_file_is_not_waited_for(folder: Path, text: str) -> None:
    put(folder, text)
    watch = Watch({})
    with pytest.raises(KitError, match="is not a rank table that this program reads"):
        wait_for_table(folder / "jobstart_hccl.json", {}, watch.clock)
    assert watch.seconds == 0


def test_the_file_in_a_folder_is_hccl_json(folder: Path) -> None:
    table = RankTable("1.0", "completed", (Server("10.0.0.1", (Device(3, "192.0.2.1", 0),)),), declared_servers=1)
    put(folder, formats.write(table), "..hccl.json")
    (folder / "hccl.json").symlink_to("..hccl.json")
    found = wait_for_table(folder, {})
    assert found.table == table
    assert found.path == (folder / "..hccl.json").resolve()  # torch_npu ignores symbolic links


@pytest.mark.parametrize(
    "value", [TWO_PODS, lab(("192.168.0.3", (0, 1)), ("192.168.0.25", (4, 5)))], ids=["cloud", "lab"]
)
def test_hccl_gets_a_table_of_version_1(folder: Path, value: object) -> None:
    found = wait_for_table(put(folder, value), {})
    text = found.path.read_text(encoding="utf-8")
    copy = formats.read(json.loads(text), SERVER_LIST)
    assert isinstance(copy, RankTable)
    assert copy.status == "completed"
    pairs = [(server.id, device.id, device.ip, device.rank) for server, device in copy.by_rank()]
    assert pairs == [(server.id, device.id, device.ip, device.rank) for server, device in found.table.by_rank()]
    assert [pair[3] for pair in pairs] == [0, 1, 2, 3]
    assert found.path.suffix == ".json"
    assert found.path.parent.stat().st_mode & 0o077 == 0


def test_the_copy_is_removed_when_its_process_ends(folder: Path) -> None:
    put(folder, TWO_PODS)
    program = (
        "import os, sys; from pathlib import Path; from hccl_kit.runtime.platform_table import wait_for_table;"
        "path = wait_for_table(Path(sys.argv[1]), {}).path; assert path.exists(); print(path)"
    )
    done = subprocess.run([sys.executable, "-c", program, folder], capture_output=True, text=True, check=True)
    assert not Path(done.stdout.strip()).parent.exists()


def test_the_process_points_hccl_to_the_copy(folder: Path) -> None:
    environ = on_modelarts(put(folder, TWO_PODS), MA_CURRENT_INSTANCE_NAME="job-1", ASCEND_DEVICE_ID="0")
    launch = detect(environ)
    env = prepare(launch, "digest", environ)
    assert environ["RANK_TABLE_FILE"] == env.table != str(folder)
    assert json.loads(Path(environ["RANK_TABLE_FILE"]).read_text())["version"] == "1.0"


@pytest.mark.parametrize(
    ("more", "rank", "device"),
    [
        ({"MA_CURRENT_INSTANCE_NAME": "job-1", "ASCEND_DEVICE_ID": "1"}, 1, 1),
        ({"MA_CURRENT_INSTANCE_NAME": "job-0", "DEVICE_ID": "0"}, 2, 0),
        ({"BATCH_TASK_CURRENT_INSTANCE": "job-0", "DEVICE_ID": "1"}, 3, 1),
        ({"HOSTNAME": "job-1", "DEVICE_ID": "0"}, 0, 0),
        ({"MA_CURRENT_HOST_IP": "192.168.0.3", "DEVICE_ID": "0"}, 2, 0),
        ({"HOSTNAME": "elsewhere", "MA_CURRENT_IP": "192.168.0.25", "DEVICE_ID": "0"}, 0, 0),
        ({"RANK_ID": "1", "RANK_SIZE": "4", "ASCEND_DEVICE_ID": "1"}, 1, 1),
        ({"RANK_ID": "3", "RANK_SIZE": "4"}, 3, 1),
    ],
    ids=str,
)
def test_a_process_finds_its_rank_and_counts_cards_from_0(folder: Path, more: Environ, rank: int, device: int) -> None:
    found = detect(on_modelarts(put(folder, TWO_PODS), **more))
    env = found.env
    assert found.launcher == "modelarts"
    assert (env.rank, env.size, env.local_rank, env.local_size, env.device) == (rank, 4, device, 2, device)
    assert env.master_addr == "192.168.0.25"  # the host of rank 0


def test_two_containers_of_one_server_have_their_own_cards(folder: Path) -> None:
    put(folder, cloud(("a", "192.168.0.3", (0, 1)), ("b", "192.168.0.3", (2, 3))))
    environ = on_modelarts(folder, MA_CURRENT_INSTANCE_NAME="b", MA_CURRENT_HOST_IP="192.168.0.3", DEVICE_ID="1")
    env = detect(environ).env
    assert (env.rank, env.local_rank, env.local_size, env.device, env.master_addr) == (3, 1, 2, 1, "127.0.0.1")
    assert env.master_port == detect(environ | {"MA_CURRENT_INSTANCE_NAME": "a"}).env.master_port
    with pytest.raises(KitError, match=r"not in the rank table: it is 192.168.0.3, the table has a, b"):
        modelarts_env({"RANK_TABLE_FILE": str(folder), "MA_CURRENT_HOST_IP": "192.168.0.3", "DEVICE_ID": "1"})


def test_a_container_with_one_card_needs_no_number(folder: Path) -> None:
    env = detect(on_modelarts(put(folder, cloud(("a", "192.168.0.25", (4,)))))).env
    assert (env.rank, env.size, env.device) == (0, 1, 0)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "this container has 2 cards, but was started once"),
        ({"DEVICE_ID": "2"}, "DEVICE_ID='2' is not a card of this container, which has cards 0 to 1"),
        ({"ASCEND_DEVICE_ID": "x"}, "ASCEND_DEVICE_ID='x' is not a card of this container"),
        ({"RANK_ID": "4"}, "RANK_ID=4 is not in .*hccl.json, which has ranks 0..3"),
        ({"RANK_ID": "1", "RANK_SIZE": "8"}, "RANK_SIZE=8, but .*hccl.json has 4 ranks"),
        ({"MA_CURRENT_INSTANCE_NAME": "", "HOSTNAME": "x"}, "it is x, the table has job-1, job-0"),
    ],
    ids=str,
)
def test_variables_that_contradict_the_table_are_refused(folder: Path, more: Environ, message: str) -> None:
    with pytest.raises(KitError, match=message):
        detect(on_modelarts(put(folder, TWO_PODS), **{"MA_CURRENT_INSTANCE_NAME": "job-0", **more}))


def test_a_single_process_in_a_container_gets_a_hint_to_the_launcher(folder: Path) -> None:
    environ = on_modelarts(put(folder, TWO_PODS), MA_CURRENT_INSTANCE_NAME="job-0")
    with pytest.raises(KitError) as caught:
        detect(environ)
    assert "hccl-kit launch TABLE --to bash" in (caught.value.hint or "")
    assert detect(environ, launcher="single").env.size == 1


def test_the_loop_of_a_notebook_reads_the_folder_too(folder: Path) -> None:
    put(folder, cloud(("a", "192.168.0.25", (0, 1))))
    environ = {"RANK_TABLE_FILE": str(folder), "RANK_SIZE": "2", "RANK_ID": "1", "DEVICE_ID": "1"}
    found = detect(environ)
    assert (found.launcher, found.env.rank, found.env.device) == ("loop", 1, 1)
    assert found.env.table != str(folder)


def tables() -> Iterator[st.SearchStrategy[tuple[tuple[str, str, tuple[int, ...]], ...]]]:
    cards = st.lists(st.integers(0, 7), min_size=1, max_size=4, unique=True).map(tuple)
    yield st.lists(cards, min_size=1, max_size=4).map(
        lambda held: tuple((f"pod-{n}", f"10.0.0.{n}", own) for n, own in enumerate(held))
    )


@given(next(tables()))
def test_all_processes_of_all_containers_are_all_ranks(
    tmp_path_factory: pytest.TempPathFactory, pods: tuple[tuple[str, str, tuple[int, ...]], ...]
) -> None:
    folder = put(tmp_path_factory.mktemp("config"), cloud(*pods))
    found = [
        detect(on_modelarts(folder, MA_CURRENT_INSTANCE_NAME=name, DEVICE_ID=str(index))).env
        for name, _, cards in pods
        for index in range(len(cards))
    ]
    size = sum(len(cards) for *_, cards in pods)
    assert sorted(env.rank for env in found) == list(range(size))
    assert {env.size for env in found} == {size}
    assert len({env.master_port for env in found}) == 1


def test_pods_without_a_name_are_identified_by_their_server(folder: Path) -> None:
    own = (Device(0, "192.0.2.1", 0),)
    group = Group("g", (Instance("10.0.0.1", own, pod=""),), 1, 1)
    table = RankTable("", "completed", (Server("10.0.0.1", own),), groups=(group,), declared_groups=1)
    assert detect(on_modelarts(put(folder, formats.write(table)))).env.size == 1
