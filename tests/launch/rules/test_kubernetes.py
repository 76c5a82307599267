"""The rules of Kubernetes: what their golden tables do not show."""

import pytest

from hccl_kit.launch.emitters import LAUNCHERS
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import plan
from hccl_kit.launch.rules import check_plan
from hccl_kit.table import formats
from hccl_kit.table.model import Device, RankTable, Server
from tests.launch.ways import large, servers


def found(table: RankTable, way: str) -> list[tuple[str, str]]:
    file = TableFile("t.json", formats.write(table))
    return [(one.rule, one.message) for one in check_plan(plan(table, ["true"]), file, way)]


INTERLEAVED = RankTable(
    version="1.0",
    status="completed",
    servers=tuple(Server(f"192.0.2.{n}", tuple(Device(i, None, 2 * i + n) for i in range(2))) for n in range(2)),
)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (servers((1,)), 'server "192.0.2.1" has card 1; the cluster selects the cards'),
        (servers((1, 0)), 'server "192.0.2.1" has cards 1, 0; the cluster selects the cards'),
        (INTERLEAVED, "the ranks are not numbered server by server, as the cluster numbers them"),
    ],
    ids=["another card", "another order", "interleaved"],
)
def test_cards_and_ranks_that_the_cluster_would_choose_otherwise_are_reported(table: RankTable, message: str) -> None:
    assert found(table, "ascendjob") == [("HK531", message)]


def test_the_size_limit_is_close_to_the_documented_one() -> None:
    assert found(large(15000), "volcano") == []
    assert [rule for rule, _ in found(large(15500), "volcano")] == ["HK532"]


def test_fixed_table_satisfies_the_rule_on_table_size() -> None:
    settled = {option.name: option.settles for option in LAUNCHERS["volcano"].options}
    assert settled["fixed_table"] == "HK532"
