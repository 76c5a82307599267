"""The first error of HCCL's parser in version 2.0 (rank_table_info.cc and the functions that it calls)."""

import json
from typing import Any

from hypothesis import given

from hccl_kit.check.engine import check_text
from hccl_kit.table.hccl_parser.first_error import first_error
from hccl_kit.table.products import find_product
from tests.changes import changed, cut, put
from tests.groups import cloud
from tests.tables import json_values, ranks_value, value

ON_A5 = find_product("a5")
NONE, MISSING, INVALID = "", "EI0017", "EI0014"
RANK = ("rank_list", 1)
LEVEL = (*RANK, "level_list", 0)
ADDRESS = (*LEVEL, "rank_addr_list", 0)
PLANE = {"addr_type": "IPV4", "addr": "10.0.0.1", "listen_port": 10000}


def sound() -> Any:
    return changed(ranks_value(4, 2), put(*RANK, "control_plane", dict(PLANE)))


def code_of(table: Any) -> str:
    """The code of a table that HCCL refuses."""
    code = first_error(table, ON_A5)
    return "accepted" if code is None else code


def test_values_that_hccl_accepts() -> None:
    for change in (
        put("status", "initializing"),  # it is not read
        put("status", 7),
        put(*RANK, "level_list", []),
        put(*RANK, "device_port", True),
        put(*RANK, "rank_id", 1.5),
        put(*RANK, "control_plane", PLANE | {"listen_port": 65536}),
        put(*ADDRESS, "ports", ["0/0"] * 20),
    ):
        assert first_error(changed(sound(), change), ON_A5) is None, change


def test_an_error_has_its_code() -> None:
    for change, code in (
        (put("detour", "yes"), NONE),
        (put("detour", True), NONE),
        (cut("rank_count"), MISSING),
        (put("rank_count", "4"), NONE),
        (put("rank_count", -1), INVALID),
        (put("rank_count", 0), INVALID),
        (put("rank_count", 5), INVALID),
        (put("rank_count", 2**32), INVALID),
        (cut("rank_list"), MISSING),
        (put("rank_list", {}), INVALID),
        (put("rank_list", []), INVALID),
        (put(*RANK, 5), MISSING),
        (cut(*RANK, "rank_id"), MISSING),
        (put(*RANK, "rank_id", 4), INVALID),
        (put(*RANK, "rank_id", 0), INVALID),
        (put(*RANK, "rank_id", None), NONE),
        (put(*RANK, "local_id", -1), INVALID),
        (put(*RANK, "local_id", 65), NONE),
        (put(*RANK, "local_id", 64), MISSING),
        (put(*RANK, "device_id", 65), NONE),
        (put(*RANK, "device_port", 0), NONE),
        (put(*RANK, "host_port", -1), NONE),
        (put(*RANK, "level_list", "x"), INVALID),
        (put(*LEVEL, []), MISSING),
        (put(*LEVEL, "net_layer", 8), NONE),
        (put(*LEVEL, "net_layer", 3), NONE),
        (put(*LEVEL, "net_instance_id", ""), NONE),
        (put(*LEVEL, "net_attr", 1), NONE),
        (put(*LEVEL, "net_type", "MESH"), NONE),
        (put(*LEVEL, "rank_addr_list", None), INVALID),
        (put(*LEVEL, "rank_addr_list", []), NONE),
        (put(*ADDRESS, "x"), MISSING),
        (put(*ADDRESS, "addr_type", "IP"), NONE),
        (put(*ADDRESS, "addr", ""), INVALID),
        (put(*ADDRESS, "addr", "x" * 257), INVALID),
        (put(*ADDRESS, "addr", "x"), NONE),
        (cut(*ADDRESS, "addr"), MISSING),
        (put(*ADDRESS, "backup_addr", ["x"]), NONE),
        (put(*ADDRESS, "backup_addr", "x"), NONE),
        (put(*ADDRESS, "plane_id", 1), NONE),
        (put(*ADDRESS, "ports", "x"), INVALID),
        (put(*ADDRESS, "ports", []), NONE),
        (put(*ADDRESS, "ports", [1]), NONE),
        (put(*RANK, "control_plane", 5), MISSING),
        (put(*RANK, "control_plane", PLANE | {"addr": "x"}), NONE),
        (put(*RANK, "control_plane", PLANE | {"listen_port": 65537}), NONE),
        (cut(*RANK, "control_plane", "listen_port"), MISSING),
    ):
        assert code_of(changed(sound(), change)) == code, (change, code)


def test_codes_of_backup_errors() -> None:
    """It must not replace an existing local id, which is the last of all checks."""
    for replaced, code in ((None, NONE), ("1", NONE), (-1, INVALID), (64, NONE), (0, INVALID)):
        table = changed(sound(), put(*RANK, "local_id", 64), put(*RANK, "replaced_local_id", replaced))
        assert code_of(table) == code, (replaced, code)


def test_a_second_backup_is_refused() -> None:
    table = sound()
    for rank in table["rank_list"][:2]:
        rank.update(local_id=64, replaced_local_id=40)
    assert code_of(table) == INVALID


def test_of_two_errors_the_one_that_is_read_first_has_its_code() -> None:
    table = changed(sound(), put(*ADDRESS, "addr", "x"), put("rank_list", 2, "level_list", 5))
    assert code_of(table) == NONE
    assert code_of(changed(table, cut("rank_list", 0, "device_id"))) == MISSING
    assert code_of(changed(sound(), put("rank_count", 9), put("rank_list", 3, "rank_id", None))) == NONE


@given(json_values)
def test_any_document_can_be_parsed(document: Any) -> None:
    first_error({"version": "2.0", "rank_count": 1, "rank_list": document}, ON_A5)
    for place in (RANK, LEVEL, ADDRESS, (*RANK, "control_plane"), (*RANK, "level_list")):
        first_error(changed(sound(), put(*place, document)), ON_A5)


def test_any_version_is_read_as_2_0() -> None:
    for change, code in (
        (cut("version"), MISSING),
        (put("version", 2.0), NONE),
        (put("version", "1.0"), INVALID),
        (put("version", ""), INVALID),
    ):
        assert code_of(changed(sound(), change)) == code, (change, code)


def test_the_version_is_checked_after_everything_is_read() -> None:
    assert code_of(changed(sound(), put("version", "1.0"), cut("rank_count"))) == MISSING
    assert code_of(changed(sound(), put("version", "1.0"), put("detour", "yes"))) == NONE
    assert code_of(value(2, 4)) == MISSING
    assert code_of([]) == MISSING


def test_the_code_of_a_table_for_another_product() -> None:
    for document, product, code in (
        (value(1, 2), "a5", MISSING),
        (ranks_value(4, 2), "a2", INVALID),
        (cloud(), "a5", MISSING),
        (cloud(), "a2", NONE),
    ):
        (found,) = check_text(json.dumps(document), "t.json", find_product(product)).findings
        assert (found.rule, found.hccl_error or NONE) == ("HK108", code), (document, product)
