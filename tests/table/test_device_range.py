"""Device ranges: parsing, printing, and errors with their column."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import ParseError
from hccl_kit.table.device_range import MAX_ID, DeviceRange

ids = st.sets(st.integers(0, MAX_ID), min_size=1, max_size=40).map(lambda found: tuple(sorted(found)))
runs = st.tuples(st.integers(0, MAX_ID), st.integers(1, 64)).map(lambda r: tuple(range(r[0], min(sum(r), MAX_ID + 1))))


@given(ids | runs)
def test_parsing_reverses_printing(found: tuple[int, ...]) -> None:
    devices = DeviceRange(found)
    assert DeviceRange.parse(str(devices)) == devices


@given(st.text() | st.text(alphabet="[](),- 0123456789"))
def test_parse_gives_a_range_or_a_parse_error_for_any_text(text: str) -> None:
    try:
        devices = DeviceRange.parse(text)
    except ParseError as error:
        assert error.source == text
        assert 0 <= error.column <= len(text)
        assert error.render().count("\n") >= 2
    else:
        assert devices.ids == tuple(sorted(set(devices.ids)))
        assert devices.ids
        assert max(devices.ids) <= MAX_ID


def test_a_range_is_parsed() -> None:
    for text, found in (
        ("[4,8)", (4, 5, 6, 7)),
        ("[4,7]", (4, 5, 6, 7)),
        ("4-7", (4, 5, 6, 7)),
        ("4,5,6,7", (4, 5, 6, 7)),
        ("7,6,5,4", (4, 5, 6, 7)),
        ("4", (4,)),
        (" [ 0 , 8 ) ", tuple(range(8))),
        ("[8,16)", tuple(range(8, 16))),
        ("0-3,8-11", (0, 1, 2, 3, 8, 9, 10, 11)),
        ("[4,4]", (4,)),
        ("[1022,1024)", (1022, 1023)),
    ):
        assert DeviceRange.parse(text).ids == found, (text, found)


def test_a_range_is_printed() -> None:
    for found, printed in (((4, 5, 6, 7), "[4,8)"), ((4,), "4"), ((0, 1, 4), "0-1,4"), ((0, 2, 4), "0,2,4")):
        assert str(DeviceRange(found)) == printed, (found, printed)


@pytest.mark.parametrize(
    ("text", "column", "width", "words"),
    [
        ("", 0, 1, "empty"),
        ("(0,4)", 0, 1, "starts with '['"),
        ("[0,4", 4, 1, "expected ')' or ']'"),
        ("[0-4)", 2, 1, "expected ','"),
        ("[0,4)x", 5, 1, "unexpected text after"),
        ("[4,4)", 1, 3, "is empty"),
        ("[8,4)", 1, 3, "is empty"),
        ("0-3,3", 4, 1, "device 3 is listed twice"),
        ("7-4", 0, 3, "runs backwards"),
        ("0,1024", 2, 4, "larger than 1023"),
        ("[0,999999999999)", 3, 12, "larger than 1023"),
        ("[0,1024]", 3, 4, "larger than 1023"),
        ("0,-1", 2, 1, "expected a device id, found '-'"),
        ("0,٣", 2, 1, "expected a device id"),
        ("0;1", 1, 1, "expected ',' or '-'"),
        ("4,", 2, 1, "found the end"),
    ],
)
def test_an_error_has_its_column(text: str, column: int, width: int, words: str) -> None:
    with pytest.raises(ParseError) as caught:
        DeviceRange.parse(text)
    assert (caught.value.column, max(1, caught.value.width)) == (column, width)
    assert words in caught.value.message
    assert "accepted: " in caught.value.message


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("［0，8）", "[0,8)"),
        ("[0，8)", "[0,8)"),
        ("0、1、4", "0-1,4"),
        ("０-７", "[0,8)"),
        ("[0-7]", "[0,8)"),
        (" [0-3,8] ", "0-3,8"),
        ("[0-7)", None),  # with or without card 7
        ("［0，8，9）", None),
        ("[0:8]", None),
    ],
)
def test_what_a_slip_of_the_keyboard_means_is_proposed(text: str, meant: str | None) -> None:
    with pytest.raises(ParseError) as caught:
        DeviceRange.parse(text)
    assert caught.value.hint == (None if meant is None else f'did you mean "{meant}"?')


@pytest.mark.parametrize("text", ["[0," + "9" * 1_000_000 + ")", "0-" + "9" * 1_000_000, "9" * 1_000_000])
def test_a_huge_id_is_refused_quickly(text: str) -> None:
    begin = time.process_time()
    with pytest.raises(ParseError) as caught:
        DeviceRange.parse(text)
    assert time.process_time() - begin < 1
    assert len(caught.value.message) < 200
