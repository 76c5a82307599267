"""The rules of mpirun, msrun and Slurm: what their golden tables do not show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import plan
from hccl_kit.launch.rules import check_plan
from hccl_kit.table.model import Device, RankTable, Server
from tests.launch.ways import servers


def interleaved(*, ids: tuple[str, str] = ("192.0.2.1", "192.0.2.2")) -> RankTable:
    """Ranks 0 and 2 on the first server, 1 and 3 on the second."""
    made = tuple(Server(id_, tuple(Device(i, None, 2 * i + n) for i in range(2))) for n, id_ in enumerate(ids))
    return RankTable(version="1.0", status="completed", servers=made)


def found(table: RankTable, way: str) -> list[tuple[str, str]]:
    return [(one.rule, one.message) for one in check_plan(plan(table, ["true"]), TableFile("t.json", ""), way)]


def test_the_server_that_differs_from_most_is_named() -> None:
    message = (
        'server "192.0.2.3" has cards 4, 5, 7, server "192.0.2.2" has cards 4, 5, 6; '
        "mpirun needs the same cards on every node"
    )
    assert found(servers((4, 5), (4, 5, 6), (4, 5, 7)), "mpirun") == [("HK501", message)]


@pytest.mark.parametrize("way", ["mpirun", "msrun", "slurm"])
@pytest.mark.parametrize(
    "table",
    [
        servers((0, 2), (0, 2), (0, 2)),
        servers(range(8), range(8), ids=("fd00::1", "node-2.rack_1.example.org")),
        servers((0, 1), ids=("rack 1, left",)),  # a single server can reach itself
    ],
    ids=["three hosts", "names", "alone"],
)
def test_a_plan_that_breaks_no_rule_has_no_finding(table: RankTable, way: str) -> None:
    assert found(table, way) == []


def test_rules_of_one_launcher_do_not_apply_to_others() -> None:
    assert found(servers((4, 5, 6), (4, 5)), "mpirun") == []
    assert found(servers((0, 1), (2, 3)), "msrun") == []
    assert found(interleaved(), "bash") == []
    assert found(servers((0,), (0,), ids=("a", "rack 1")), "msrun") == []  # the server is given with --server


@given(st.text(max_size=40).filter(str.isprintable))  # `plan` refuses the others
def test_a_name_that_a_hostfile_cannot_represent_is_refused(name: str) -> None:
    if found(servers((0,), (0,), ids=(name, "b")), "mpirun") == []:
        assert len(name.split()) == 1
        assert not set(name) & set("#=,;\"'$`\\")
