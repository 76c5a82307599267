"""Pointers in the syntax of RFC 6901."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.table.pointer import Pointer, to_json_pointer


@pytest.mark.parametrize(
    ("pointer", "text"),
    [((), ""), (("server_list", 0), "/server_list/0"), (("",), "/"), (("a/b", "m~n"), "/a~1b/m~0n"), (("~1",), "/~01")],
)
def test_a_pointer_is_written_in_rfc_6901_syntax(pointer: Pointer, text: str) -> None:
    assert to_json_pointer(pointer) == text


@given(st.lists(st.text() | st.text(alphabet="~/01")).map(tuple))
def test_every_key_round_trips(pointer: tuple[str, ...]) -> None:
    parts = to_json_pointer(pointer).split("/")
    assert parts.pop(0) == ""
    assert tuple(part.replace("~1", "/").replace("~0", "~") for part in parts) == pointer
