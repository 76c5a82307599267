"""Errors as people read them, and their exit codes."""

import errno
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import EXIT_CANNOT_RUN, EXIT_FINDINGS, EXIT_TERMINATED, KitError, ParseError, under_way


def test_an_error_says_what_and_how_to_go_on() -> None:
    assert KitError("no such card").render() == "error: no such card"
    assert KitError("no such card", hint="look\nagain").render() == "error: no such card\n  fix: look\n       again"
    assert KitError("no such card").exit_code == EXIT_CANNOT_RUN


def test_a_parse_error_points_at_its_place() -> None:
    error = ParseError("wrong end", source="[0,x)", column=3, hint="write a number")
    assert error.render() == "error: wrong end\n    [0,x)\n       ^\n  fix: write a number"


def test_nothing_of_a_source_moves_the_cursor_or_the_caret() -> None:
    error = ParseError("wrong \x1b[2J", source="\x1b[服\n0,x)", column=6, hint="not \x1b")
    assert error.render() == "error: wrong \ufffd[2J\n    \ufffd[服\ufffd0,x)\n           ^\n  fix: not \ufffd"


def test_a_long_source_is_shown_around_the_error() -> None:
    assert len(ParseError("x", source="s" * 1_000_000, column=500_000).render()) < 250


@given(st.integers(0, 20), st.integers(0, 5))
def test_the_caret_is_as_wide_as_the_part_and_never_absent(column: int, width: int) -> None:
    caret = ParseError("x", source="s" * 30, column=column, width=width).render().split("\n")[2]
    assert caret == " " * (4 + column) + "^" * max(1, width)


def test_what_stops_work_that_has_begun_has_exit_code_1() -> None:
    """2 is for what never started."""
    with pytest.raises(KitError, match="no room") as caught, under_way():
        raise KitError("no room")
    assert caught.value.exit_code == EXIT_FINDINGS
    with pytest.raises(KitError, match=r"cannot read or write: .*No space left") as caught, under_way():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.exit_code == EXIT_FINDINGS


def test_other_exit_codes_stay_under_way() -> None:
    class TerminatedError(KitError):
        exit_code = EXIT_TERMINATED

    with pytest.raises(TerminatedError) as caught, under_way():
        raise TerminatedError("over")
    assert caught.value.exit_code == EXIT_TERMINATED
    with pytest.raises(BrokenPipeError), under_way():
        raise BrokenPipeError
