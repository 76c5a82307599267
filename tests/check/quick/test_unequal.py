"""The reduced form of two tables keeps all their differences."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hccl_kit.check.engine import check_text
from hccl_kit.check.quick.proof import table_of
from hccl_kit.check.quick.unequal import unequal
from hccl_kit.table.operations.diff import diff
from tests.check.quick.tables import VALID, Table, devices, nearly_valid, text_of
from tests.damage import Numbers
from tests.tables import pods_value, value


def proven(table: Table) -> Any:
    """The value of a table that the fast path has proved valid; None if it has not."""
    content = check_text(text_of(table, 1), "t.json").content
    return content.value if content else None


def left(one: Table, other: Table) -> int:
    """The number of devices that must become objects; fails if the differences are not those of the whole tables."""
    first, second = proven(one), proven(other)
    parts = unequal(first, second)
    assert diff(*map(table_of, parts)) == diff(table_of(first), table_of(second))
    return sum(len(table_of(part).every) for part in parts)


def changed(table: Table, *places: int, **keys: str) -> Table:
    """The table with these keys changed in the servers at `places`."""
    listed = [server | (keys if n in places else {}) for n, server in enumerate(table["server_list"])]
    return table | {"server_list": listed}


def test_equal_tables_leave_one_server() -> None:
    assert left(value(5, 8), value(5, 8)) == 2 * 8


def test_servers_that_differ_in_other_keys_need_none_of_their_devices() -> None:
    assert left(value(5, 8), changed(value(5, 8), 1, 2, 3, 4, host_nic_ip="x")) == 2 * 8


def test_an_added_and_a_removed_server_keep_all_devices() -> None:
    assert left(value(5, 8), changed(value(5, 8), 4, server_id="10.9.9.9")) == 2 * 8 + 2 * 8


def test_a_shift_of_all_ranks_is_still_one_change() -> None:
    one, other = value(3, 8), value(4, 8)
    other["server_list"] = [other["server_list"][3], *other["server_list"][:3]]
    for rank, device in enumerate(devices(other)):
        device["rank_id"] = str(rank)
    left(one, other)
    assert [change.what for change in diff(table_of(proven(one)), table_of(proven(other)))] == ["every rank", "server"]


def test_a_removed_server_before_an_equal_one_is_not_a_shift_of_all_ranks() -> None:
    """The equal server keeps its devices: without them, all remaining ranks would be shifted by the same number."""
    one, other = value(3, 2), value(3, 2)
    del other["server_list"][1]
    other["server_count"] = "2"
    for rank, device in enumerate(devices(other)):
        device["rank_id"] = str(rank)
    assert left(one, other) == 6 + 4


def test_a_super_pod_that_changes_its_servers() -> None:
    left(pods_value(2, 2, 4), pods_value(4, 1, 4))


@pytest.mark.parametrize("other", sorted(VALID))
@pytest.mark.parametrize("one", sorted(VALID))
def test_any_two_valid_tables(one: str, other: str) -> None:
    left(VALID[one], VALID[other])


numbers = st.tuples(*[st.integers(0, 2**20)] * 3)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(VALID)), st.lists(st.tuples(st.integers(0, 7), numbers), max_size=3))
def test_a_valid_table_and_a_nearly_valid_one(name: str, steps: list[tuple[int, Numbers]]) -> None:
    other = nearly_valid(name, steps)
    if proven(other) is not None:
        left(VALID[name], other)
