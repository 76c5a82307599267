"""Pointers as RFC 6901 writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.table.pointer import Pointer, to_json_pointer


@pytest.mark.parametrize(
    ("pointer", "text"),
    [((), ""), (("server_list", 0), "/server_list/0"), (("",), "/"), (("a/b", "m~n"), "/a~1b/m~0n"), (("~1",), "/~01")],
)
def test_a_pointer_is_written_as(pointer: Pointer, text: str) -> None:
    assert to_json_pointer(pointer) == text


@given(st.lists(st.text() | st.text(alphabet="~/01")).map(tuple))
def test_every_key_can_be_read_back(pointer: tuple[str, ...]) -> None:
    parts = to_json_pointer(pointer).split("/")
    assert parts.pop(0) == ""
    assert tuple(part.replace("~1", "/").replace("~0", "~") for part in parts) == pointer
