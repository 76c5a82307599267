"""Untrusted text on a terminal."""

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.terminal import escaped, in_columns, marked, printable, shown


@given(st.text())
def test_printable_keeps_the_length_and_removes_control_characters(text: str) -> None:
    assert len(printable(text)) == len(text)
    assert printable(text).isprintable()
    assert printable(printable(text)) == printable(text)


def test_carets_count_cells_and_not_characters() -> None:
    assert marked("服务器x", 3, 1) == ("服务器x", "      ^")
    assert marked("a服务b", 1, 2) == ("a服务b", " ^^^^")
    assert marked("e\u0301x", 2, 1) == ("e\u0301x", " ^")
    assert marked("ab", 2, 0) == ("ab", "  ^")


def test_columns_are_aligned_by_cells() -> None:
    rows = [("服", "1", "x"), ("abc", "22", "")]
    assert in_columns(rows, left=(0, 2)) == ["服    1  x", "abc  22"]
    assert in_columns(rows) == ["服    1  x", "abc  22"]


@given(st.integers(0, 2000), st.integers(0, 500))
def test_a_long_line_is_cut_to_a_window_around_the_carets(start: int, width: int) -> None:
    source, caret = marked("x" * 2000, start, width)
    assert len(source) <= 100
    assert len(caret) <= 101
    assert caret.count("^") >= 1


def test_control_characters_are_replaced_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a\tb\n\x9b31m\u202e"
    assert shown(text) == text
    monkeypatch.setattr("sys.stdout", Terminal())
    assert shown(text) == "a\tb\n\ufffd31m\ufffd"
    assert shown("服\n\n") == "服\n\n"


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@given(st.text())
def test_a_field_has_no_invisible_characters(text: str) -> None:
    assert escaped(text).isprintable()


def test_a_field_keeps_all_visible_characters() -> None:
    assert escaped("服 a\u202eb\n") == "服 a\\u202eb\\n"


def test_columns_are_aligned_by_their_width() -> None:
    rows = [["rank", "状态", "step"], ["10", "running", "5"]]
    assert in_columns(rows, left=(1,)) == ["rank  状态     step", "  10  running     5"]
