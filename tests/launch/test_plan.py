"""A plan gives every rank of a table its environment."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.launch.plan import plan
from hccl_kit.runtime.worker_env import WorkerEnv
from hccl_kit.table.model import Device, RankTable, Server


def one_server(*devices: tuple[int, int]) -> RankTable:
    """A table of (device id, rank) pairs."""
    server = Server(id="10.0.0.1", devices=tuple(Device(id=i, ip=None, rank=rank) for i, rank in devices))
    return RankTable(version="1.0", status="completed", servers=(server,))


@given(st.permutations(range(8)))
def test_workers_follow_the_ranks_and_take_their_devices_from_the_table(ids: list[int]) -> None:
    made = plan(one_server(*((i, rank) for rank, i in enumerate(ids))), ["true"])
    reversed_rows = plan(one_server(*((i, rank) for rank, i in reversed(list(enumerate(ids))))), ["true"])
    assert made == reversed_rows
    assert [worker.device for worker in made.workers] == ids
    assert [worker.rank for worker in made.workers] == list(range(8))


def test_the_environment_of_a_worker() -> None:
    made = plan(one_server((6, 1), (5, 0)), ["python", "train.py"])
    assert made.command == ("python", "train.py")
    assert made.workers[1] == WorkerEnv(
        rank=1, size=2, local_rank=1, local_size=2, device=6, master_addr="127.0.0.1", node=0
    )


@pytest.mark.parametrize(
    ("ranks", "shown"), [((), "none"), ((1, 2), "1, 2"), ((0, 2), "0, 2"), ((0, 0), "0, 0")], ids=str
)
def test_ranks_must_be_consecutive_from_zero(ranks: tuple[int, ...], shown: str) -> None:
    with pytest.raises(KitError, match=f"the ranks of the table are {shown}; accepted: 0, 1, 2"):
        plan(one_server(*((device, rank) for device, rank in enumerate(ranks))), ["true"])


def several_servers() -> RankTable:
    """Two servers; the one that is listed second holds rank 0."""
    one = Server("10.0.0.1", (Device(5, None, 3), Device(4, None, 2)))
    two = Server("10.0.0.2", (Device(0, None, 0), Device(1, None, 1)), {"host_ip": "10.9.0.2"})
    return RankTable(version="1.0", status="completed", servers=(one, two))


def test_nodes_are_ordered_by_their_first_rank() -> None:
    made = plan(several_servers(), ["true"])
    assert [(node.id, node.address, node.ranks, node.devices) for node in made.nodes] == [
        ("10.0.0.2", "10.9.0.2", (0, 1), (0, 1)),
        ("10.0.0.1", "10.0.0.1", (2, 3), (4, 5)),
    ]
    assert made.size == 4
    assert [worker.rank for worker in made.workers] == [0, 1, 2, 3]


def test_several_servers_rendezvous_at_the_node_of_rank_0() -> None:
    made = plan(several_servers(), ["true"])
    assert made.master == "10.9.0.2"
    assert made.workers[3] == WorkerEnv(
        rank=3, size=4, local_rank=1, local_size=2, device=5, master_addr="10.9.0.2", node=1
    )


def test_ranks_of_torch_see_the_cards_of_their_server_and_count_them_from_0() -> None:
    made = plan(several_servers(), ["true"], framework="pytorch")
    assert [(worker.visible, worker.device, worker.local_rank) for worker in made.workers] == [
        ("0,1", 0, 0),
        ("0,1", 1, 1),
        ("4,5", 0, 0),
        ("4,5", 1, 1),
    ]
    assert [node.devices for node in made.nodes] == [(0, 1), (4, 5)]


def test_cards_that_torch_would_take_in_another_order_are_refused() -> None:
    table = one_server((7, 0), (5, 1))
    with pytest.raises(KitError, match=r"has cards 7, 5 in the order of its ranks; programs of PyTorch") as caught:
        plan(table, ["true"], framework="pytorch")
    assert caught.value.hint is not None
    assert "hccl-gen" in caught.value.hint
    for framework in ("mindspore", None):
        assert [worker.device for worker in plan(table, ["true"], framework=framework).workers] == [7, 5]


def test_a_framework_that_is_not_known_is_refused() -> None:
    with pytest.raises(KitError, match="unknown framework 'keras'; accepted: mindspore, pytorch"):
        plan(one_server((0, 0)), ["true"], framework="keras")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ([], "the command is empty"),
        ([""], "the command is empty"),
        (["echo", "a\0b"], "argument 'a.x00b' contains a NUL character"),
        (["echo", "\udcff"], "is not valid UTF-8"),
    ],
)
def test_a_command_that_no_shell_can_run_is_refused(command: list[str], message: str) -> None:
    with pytest.raises(KitError, match=message):
        plan(one_server((0, 0)), command)


@pytest.mark.parametrize("name", ["a\nid>pwned\n#", "a\rb", "a\x1b]0;b\x07", "a\u2028b", "a\u202eb"])
@pytest.mark.parametrize("place", ["server_id", "host_ip"])
def test_a_server_whose_name_is_not_one_printable_line_is_refused(name: str, place: str) -> None:
    device = Device(0, None, 0)
    server = Server(name, (device,), {"host_ip": "192.0.2.1"})
    if place == "host_ip":
        server = Server("192.0.2.1", (device,), {"host_ip": name})
    with pytest.raises(KitError, match="cannot be printed") as caught:
        plan(RankTable(version="1.0", status="completed", servers=(server,)), ["true"])
    assert repr(name) in caught.value.message
