"""The rules of Slurm: for each, a plan that breaks it and one that does not."""

import pytest

from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import plan
from hccl_kit.launch.rules import check_plan
from hccl_kit.table.model import RankTable
from tests.launch.ways import servers


def found(table: RankTable, way: str = "slurm") -> list[tuple[str, str, str]]:
    made = plan(table, ["true"])
    checked = check_plan(made, TableFile("t.json", ""), way)
    return [(one.rule, one.severity, one.message) for one in checked if one.rule.startswith("HK52")]


@pytest.mark.parametrize("name", ["rack 1, left", "node[1-2]", "", "n" * 256])
def test_a_name_that_no_node_can_have_is_reported(name: str) -> None:
    table = servers((0,), (0,), ids=("n1", name))
    ((rule, severity, message),) = found(table)
    assert (rule, severity) == ("HK520", "error")
    assert message.endswith(" is not a Slurm node, a host name or an address")
    assert found(servers((0,), ids=(name,))) == []  # a single server may be declared to be this one
    assert found(table, "bash") == []


@pytest.mark.parametrize(
    "table",
    [servers(range(8)), servers((4, 5), (6, 1)), servers((0,), (0,), ids=("fd00::1", "node-2.rack_1.example.org"))],
    ids=["one", "other cards", "names"],
)
def test_a_plan_that_breaks_no_rule_has_no_finding(table: RankTable) -> None:
    assert found(table) == []
