"""What Kubernetes asks of a plan: for every rule a plan that breaks it and one that does not."""

import pytest

from hccl_kit.check.rule_pages import HEADINGS, as_sections
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import plan
from hccl_kit.launch.rules import judge
from hccl_kit.launch.rules.kubernetes import ROWS
from hccl_kit.table import formats
from hccl_kit.table.model import Device, RankTable, Server
from tests.launch.ways import servers


def found(table: RankTable, way: str) -> list[tuple[str, str]]:
    file = TableFile("t.json", formats.write(table))
    return [(rule.id, fault.message) for rule, fault in judge(plan(table, ["true"]), file, way)]


def large(devices: int) -> RankTable:
    """A table with so many devices, eight a server, with addresses as they are in a cluster."""
    made = []
    for number in range(0, devices, 8):
        own = tuple(Device(i, f"192.168.{(number + i) // 250}.{(number + i) % 250}", number + i) for i in range(8))
        made.append(Server(f"10.10.{number // 2000}.{number // 8 % 250}", own))
    return RankTable(version="1.0", status="completed", servers=tuple(made))


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
            'server "192.0.2.3" has 1 cards, server "192.0.2.1" has 2; the pods of a job have equally many',
        )
        for way in ("ascendjob", "volcano")
    ),
    *(
        ("HK531", way, servers((4, 5)), 'server "192.0.2.1" has cards 4, 5; the cluster chooses cards itself')
        for way in ("ascendjob", "volcano")
    ),
    ("HK531", "volcano", servers((1,)), 'server "192.0.2.1" has card 1; the cluster chooses cards itself'),
    (
        "HK531",
        "ascendjob",
        servers((1, 0)),
        'server "192.0.2.1" has cards 1, 0; the cluster chooses cards itself',
    ),
    (
        "HK531",
        "ascendjob",
        INTERLEAVED,
        "the ranks do not follow server by server; the cluster numbers them so",
    ),
    (
        "HK532",
        "volcano",
        large(16384),
        "the rank table for 16384 ranks has 1123078 bytes without blanks; a ConfigMap holds 1048576",
    ),
    (
        "HK533",
        "volcano",
        large(3400),
        "a ConfigMap with the rank table for 3400 ranks has 272344 bytes; kubectl apply takes 262144",
    ),
]


@pytest.mark.parametrize(("rule", "way", "table", "message"), BAD, ids=[f"{rule}-{way}" for rule, way, *_ in BAD])
def test_a_plan_that_breaks_a_rule(rule: str, way: str, table: RankTable, message: str) -> None:
    assert found(table, way) == [(rule, message)]


def test_every_rule_is_broken_by_some_plan() -> None:
    assert {rule for rule, *_ in BAD} == {row.rule.id for row in ROWS}


@pytest.mark.parametrize("way", ["ascendjob", "volcano"])
@pytest.mark.parametrize(
    "table", [servers(range(8)), servers(range(4), range(4)), servers((0,))], ids=["8", "4+4", "1"]
)
def test_a_plan_that_breaks_none(table: RankTable, way: str) -> None:
    assert found(table, way) == []


def test_the_limits_are_about_where_the_pages_say() -> None:
    assert found(large(3000), "volcano") == []
    assert [rule for rule, _ in found(large(15200), "volcano")] == ["HK533"]


def test_an_ascendjob_needs_no_table() -> None:
    assert found(large(16384), "ascendjob") == []


def test_every_rule_has_a_page() -> None:
    assert [row.rule.id for row in ROWS] == [f"HK{530 + i}" for i in range(len(ROWS))]
    for row in ROWS:
        summary, sections = as_sections(row.rule)
        assert summary
        assert tuple(sections) == HEADINGS
