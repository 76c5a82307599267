"""Settings that must be equal on all servers."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from hccl_kit.preflight.answer import ABSENT, TABLE, TLS, Answer
from hccl_kit.preflight.cluster_rules import Round, differences, folded


def answers(
    *,
    facts: Mapping[str, Mapping[str, str]] | None = None,
    variables: Mapping[str, Mapping[str, str]] | None = None,
    count: int = 4,
) -> list[Answer]:
    """Reports of servers node1, node2, ...; values given by name apply to that server only."""
    names = [f"node{number}" for number in range(1, count + 1)]
    return [
        Answer(name, facts=(facts or {}).get(name, {}), variables=(variables or {}).get(name, {})) for name in names
    ]


def found(servers: list[Answer], digest: str = "a", ahead: Mapping[str, float] | None = None) -> list[tuple[str, str]]:
    return [
        (finding.rule, finding.message)
        for finding in differences(Round(servers, digest, ahead or {}, Path("/data/t.json")))
    ]


def test_a_different_table_is_distinguished_from_a_missing_one() -> None:
    servers = answers(
        facts={"node1": {TABLE: "a"}, "node2": {TABLE: "b"}, "node3": {TABLE: ABSENT}, "node4": {TABLE: "c"}}
    )
    assert found(servers) == [
        ("HK615", "the table on node[2,4] differs from the checked table"),
        ("HK661", 'there is no readable table at "/data/t.json" on node3'),
    ]
    assert found(servers, digest="c")[0][1] == "the table on node[1-2] differs from the checked table"


def test_versions_and_tls_are_compared_if_they_are_known() -> None:
    servers = answers(
        facts={"node1": {"CANN": "8.0", TLS: "off"}, "node2": {"CANN": "8.0", TLS: "on"}, "node3": {"CANN": "7.0"}}
    )
    assert found(servers) == [
        ("HK616", 'CANN differs: "8.0" on node[1-2]; "7.0" on node3'),
        ("HK617", 'TLS differs: "off" on node1; "on" on node2'),
    ]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, None),
        (0.9, None),
        (-0.9, None),
        (40.25, "is 40.2 s ahead of the clock of this machine"),
        (-2.0, "is 2.0 s behind"),
    ],
)
def test_clocks_may_differ_by_a_second(seconds: float, words: str | None) -> None:
    told = found(answers(), ahead={"node2": seconds})
    assert len(told) == (words is not None)
    assert words is None or words in told[0][1]


def test_clocks_with_equal_offsets_are_one_finding() -> None:
    told = found(answers(), ahead={"node1": 3.0, "node2": -2.0, "node3": 5.5, "node4": 0.5})
    assert told == [
        ("HK619", "the clocks of node[1,3] are 3.0 to 5.5 s ahead of the clock of this machine"),
        ("HK619", "the clock of node2 is 2.0 s behind the clock of this machine"),
    ]


def test_the_most_frequent_of_many_values_are_shown() -> None:
    names = [f"node{number}" for number in range(1, 21)]
    values = {name: {"HCCL_BUFFSIZE": "400" if number > 14 else str(number)} for number, name in enumerate(names)}
    servers = [Answer(name, variables=values[name]) for name in names]
    assert found(servers) == [
        (
            "HK618",
            'HCCL_BUFFSIZE differs: "400" on node[16-20]; "0" on node1; "1" on node2; "2" on node3;'
            " 12 other values on node[4-15]",
        )
    ]


def test_server_names_are_folded_if_possible() -> None:
    assert folded(["10.0.0.1", "10.0.0.2", "10.0.0.4"]) == "10.0.0.[1-2,4]"
    assert folded(["rack 1, left", "node1"]) == '"rack 1, left", "node1"'
    assert folded([f"a b{n}" for n in range(20)]).endswith(" and 12 more")
