"""Text of others on a screen."""

from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.terminal import marked, printable


@given(st.text())
def test_one_character_stays_one_that_moves_no_cursor(text: str) -> None:
    assert len(printable(text)) == len(text)
    assert printable(text).isprintable()
    assert printable(printable(text)) == printable(text)


def test_carets_count_cells_and_not_characters() -> None:
    assert marked("服务器x", 3, 1) == ("服务器x", "      ^")
    assert marked("a服务b", 1, 2) == ("a服务b", " ^^^^")
    assert marked("e\u0301x", 2, 1) == ("e\u0301x", " ^")
    assert marked("ab", 2, 0) == ("ab", "  ^")


@given(st.integers(0, 2000), st.integers(0, 500))
def test_a_long_line_is_a_window_with_the_carets_in_it(start: int, width: int) -> None:
    source, caret = marked("x" * 2000, start, width)
    assert len(source) <= 100
    assert len(caret) <= 101
    assert caret.count("^") >= 1
