"""The rules of Kubernetes: for each, a plan that breaks it and one that does not."""

import pytest

from hccl_kit.check.rule_pages import HEADINGS, as_sections
from hccl_kit.launch.emitters import LAUNCHERS
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import plan
from hccl_kit.launch.rules import check_plan
from hccl_kit.launch.rules.kubernetes import RULES
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
BAD = [
    *(
        (
            "HK530",
            way,
            servers((0, 1), (0, 1), (0,)),
            'server "192.0.2.3" has 1 card, server "192.0.2.1" has 2 cards; all pods of a job need the same number',
        )
        for way in ("ascendjob", "volcano")
    ),
    *(
        ("HK531", way, servers((4, 5)), 'server "192.0.2.1" has cards 4, 5; the cluster selects the cards')
        for way in ("ascendjob", "volcano")
    ),
    ("HK531", "volcano", servers((1,)), 'server "192.0.2.1" has card 1; the cluster selects the cards'),
    (
        "HK531",
        "ascendjob",
        servers((1, 0)),
        'server "192.0.2.1" has cards 1, 0; the cluster selects the cards',
    ),
    (
        "HK531",
        "ascendjob",
        INTERLEAVED,
        "the ranks are not numbered server by server, as the cluster numbers them",
    ),
    (
        "HK532",
        "volcano",
        large(16384),
        "the rank table for 16384 ranks has 1123078 bytes without whitespace; a ConfigMap holds 1048576",
    ),
]


@pytest.mark.parametrize(("rule", "way", "table", "message"), BAD, ids=[f"{rule}-{way}" for rule, way, *_ in BAD])
def test_a_plan_that_breaks_a_rule_is_reported(rule: str, way: str, table: RankTable, message: str) -> None:
    assert found(table, way) == [(rule, message)]


def test_every_rule_is_broken_by_some_plan() -> None:
    assert {rule for rule, *_ in BAD} == {rule.id for rule in RULES}


@pytest.mark.parametrize("way", ["ascendjob", "volcano"])
@pytest.mark.parametrize(
    "table", [servers(range(8)), servers(range(4), range(4)), servers((0,))], ids=["8", "4+4", "1"]
)
def test_a_plan_that_breaks_no_rule_has_no_finding(table: RankTable, way: str) -> None:
    assert found(table, way) == []


def test_the_size_limit_is_close_to_the_documented_one() -> None:
    assert found(large(15000), "volcano") == []
    assert [rule for rule, _ in found(large(15500), "volcano")] == ["HK532"]


def test_fixed_table_satisfies_the_rule_on_table_size() -> None:
    settled = {option.name: option.settles for option in LAUNCHERS["volcano"].options}
    assert settled["fixed_table"] == "HK532"


def test_an_ascendjob_needs_no_table() -> None:
    assert found(large(16384), "ascendjob") == []


def test_every_rule_has_a_page() -> None:
    assert [rule.id for rule in RULES] == [f"HK{530 + i}" for i in range(len(RULES))]
    for rule in RULES:
        summary, sections = as_sections(rule)
        assert summary
        assert tuple(sections) == HEADINGS
