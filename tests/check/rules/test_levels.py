"""Edge cases of the rules of version 2.0."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.check.engine import check_text
from hccl_kit.check.fix import fix_text
from hccl_kit.table.formats import write
from hccl_kit.table.pointer import Pointer
from tests.changes import changed, put
from tests.tables import ranks_value


def rules(document: Any) -> list[tuple[str, tuple[Any, ...]]]:
    return [(found.rule, found.pointer) for found in check_text(json.dumps(document), "t.json").findings]


@given(st.integers(1, 12), st.integers(1, 4))
def test_a_good_table_breaks_no_rule(ranks: int, networks: int) -> None:
    assert rules(ranks_value(ranks, networks)) == []


def with_values(*values: tuple[Pointer, Any]) -> Any:
    """A table of four ranks with other values at these pointers."""
    return changed(ranks_value(4, 2), *(put(*pointer, value) for pointer, value in values))


RANK = ("rank_list", 2)
REPLACED = (*RANK, "replaced_local_id")
INNER = (*RANK, "level_list", 0)
ADDRESS = (*INNER, "rank_addr_list", 0)
OUTER = (*RANK, "level_list", 1, "rank_addr_list", 0)


def test_one_change_gives_one_finding_at_its_position() -> None:
    for document, expected in (
        (with_values(((*RANK, "rank_id"), 0)), [("HK201", (*RANK, "rank_id"))]),
        (with_values(((*RANK, "rank_id"), 9)), [("HK202", (*RANK, "rank_id"))]),
        (with_values(((*RANK, "local_id"), 64)), [("HK225", (*RANK, "local_id"))]),
        (with_values(((*RANK, "local_id"), 64), (REPLACED, 5)), []),
        (with_values(((*RANK, "local_id"), 64), (REPLACED, 64)), [("HK225", REPLACED)]),
        (with_values(((*RANK, "local_id"), 64), (REPLACED, -1)), [("HK225", REPLACED)]),
        (with_values(((*RANK, "local_id"), 64), (REPLACED, True)), [("HK225", REPLACED)]),
        (with_values(((*RANK, "local_id"), 64), (REPLACED, "5")), [("HK225", REPLACED)]),
        (with_values((REPLACED, 64)), []),  # HCCL reads this key only for a backup
        (with_values(((*RANK, "local_id"), 64), (REPLACED, 0)), [("HK229", REPLACED)]),
        (with_values((("status",), "")), []),
        (with_values((("status",), None)), []),
        (with_values((("detour",), "")), []),
        (
            with_values(((*RANK, "level_list", 1, "rank_addr_list"), [])),
            [("HK227", (*RANK, "level_list", 1, "rank_addr_list"))],
        ),
        (with_values(((*RANK, "local_id"), 0)), [("HK228", (*RANK, "local_id"))]),
        (with_values(((*RANK, "level_list", 1, "net_layer"), 1)), []),
        (with_values(((*RANK, "level_list", 1, "net_layer"), 0)), [("HK226", (*RANK, "level_list", 1, "net_layer"))]),
        (with_values(((*INNER, "net_type"), "1DMESH")), [("HK321", (*INNER, "net_type"))]),
    ):
        assert rules(document) == expected, (document, expected)


def test_the_rank_with_another_number_of_addresses_is_reported() -> None:
    for odd in range(3):
        document = ranks_value(3)
        document["rank_list"][odd]["level_list"][0]["rank_addr_list"] = []
        (found,) = check_text(json.dumps(document), "t.json").findings
        assert (found.rule, found.pointer) == ("HK227", ("rank_list", odd, "level_list", 0, "rank_addr_list"))
        assert "has 0 addresses" in found.message


def test_networks_with_one_name_on_two_layers_are_distinct() -> None:
    document = ranks_value(2)
    for rank in document["rank_list"]:
        inner, outer = rank["level_list"]
        outer["net_instance_id"] = inner["net_instance_id"]
        outer["rank_addr_list"] *= 2
    assert rules(document) == []


def test_rejects_a_second_backup_of_a_rank() -> None:
    document = ranks_value(4, 2)
    for number in (1, 2):
        document["rank_list"][number] |= {"local_id": 64, "replaced_local_id": 5}
    assert rules(document) == [("HK225", ("rank_list", 2, "local_id"))]


def test_layer_0_without_a_type_is_one_warning_for_the_table() -> None:
    document = ranks_value(4)
    for rank in document["rank_list"]:
        del rank["level_list"][0]["net_type"]
    assert rules(document) == [("HK321", ("rank_list", 0, "level_list", 0))]


def test_a_finding_has_the_code_of_the_parser_of_version_2() -> None:
    for document, code in (
        (with_values(((*RANK, "rank_id"), 0)), "EI0014"),
        (with_values(((*RANK, "rank_id"), "0")), None),
        (with_values(((*RANK, "local_id"), 65)), None),
        ({key: value for key, value in ranks_value().items() if key != "rank_count"}, "EI0017"),
        ({"version": "2.0", "server_list": []}, "EI0017"),
    ):
        (found,) = check_text(json.dumps(document), "t.json").findings
        assert found.hccl_error == code, (document, code)


def test_the_backup_of_one_network_may_not_replace_a_rank_of_another() -> None:
    document = ranks_value(4, 2)  # local ids 0 and 1 in either network
    document["rank_list"][3] |= {"local_id": 64, "replaced_local_id": 1}
    (found,) = check_text(json.dumps(document), "t.json").findings
    assert found.rule == "HK229"
    assert "rank 2" in found.message
    del document["rank_list"][2]
    document["rank_list"][2]["rank_id"], document["rank_count"] = 2, 3
    assert rules(document) == []


def test_counts_gaps_and_quotes_are_fixed() -> None:
    document = with_values((("rank_count",), "3"), ((*RANK, "rank_id"), 9))
    fixed = fix_text(json.dumps(document).encode(), "t.json")
    assert fixed.report.ok
    next(rank for rank in document["rank_list"] if rank["rank_id"] == 9)["rank_id"] = 2
    assert json.loads(fixed.text) == ranks_value(4, 2) | {"rank_list": document["rank_list"]}


def test_a_rank_in_no_network_is_a_warning() -> None:
    document = with_values(((*RANK, "level_list"), []))
    report = check_text(json.dumps(document), "t.json")
    assert [(one.rule, one.severity, one.pointer) for one in report.findings] == [
        ("HK239", "warning", (*RANK, "level_list"))
    ]
    assert report.table is not None
    assert json.loads(write(report.table)) == document
    assert fix_text(json.dumps(document), "t.json").applied == ()


def test_a_rank_count_above_the_list_length_is_not_fixed() -> None:
    outcome = fix_text(json.dumps(with_values((("rank_count",), 9))), "t.json")
    assert [(one.rule, one.fix) for one in outcome.report.findings] == [("HK224", ())]


def test_a_table_is_checked_with_any_status() -> None:
    """HCCL ignores the status in version 2.0, so it does not wait for it."""
    document = with_values((("status",), "initializing"), ((*RANK, "rank_id"), 0))
    assert rules(document) == [("HK201", (*RANK, "rank_id"))]
    assert rules(with_values((("status",), "initializing"))) == []
