"""How errors are rendered, and their exit codes."""

import errno
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import EXIT_CANNOT_RUN, EXIT_FINDINGS, EXIT_TERMINATED, KitError, ParseError, under_way


def test_an_error_shows_the_message_and_the_fix() -> None:
    assert KitError("no such card").render() == "error: no such card"
    assert KitError("no such card", hint="look\nagain").render() == "error: no such card\n  fix: look\n       again"
    assert KitError("no such card").exit_code == EXIT_CANNOT_RUN


def test_a_parse_error_points_at_the_column() -> None:
    error = ParseError("wrong end", source="[0,x)", column=3, hint="write a number")
    assert error.render() == "error: wrong end\n    [0,x)\n       ^\n  fix: write a number"


def test_control_characters_are_replaced_and_the_caret_stays_aligned() -> None:
    error = ParseError("wrong \x1b[2J", source="\x1b[服\n0,x)", column=6, hint="not \x1b")
    assert error.render() == "error: wrong \ufffd[2J\n    \ufffd[服\ufffd0,x)\n           ^\n  fix: not \ufffd"


def test_a_long_source_is_shown_around_the_error() -> None:
    assert len(ParseError("x", source="s" * 1_000_000, column=500_000).render()) < 250


@given(st.integers(0, 20), st.integers(0, 5))
def test_the_carets_cover_the_marked_part_and_at_least_one_column(column: int, width: int) -> None:
    caret = ParseError("x", source="s" * 30, column=column, width=width).render().split("\n")[2]
    assert caret == " " * (4 + column) + "^" * max(1, width)


def test_an_error_after_the_work_has_started_has_exit_code_1() -> None:
    """Exit code 2 means that the work did not start."""
    with pytest.raises(KitError, match="no room") as caught, under_way():
        raise KitError("no room")
    assert caught.value.exit_code == EXIT_FINDINGS
    with pytest.raises(KitError, match=r"cannot read or write: .*No space left") as caught, under_way():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.exit_code == EXIT_FINDINGS


def test_under_way_keeps_other_exit_codes_and_broken_pipe_errors() -> None:
    class TerminatedError(KitError):
        exit_code = EXIT_TERMINATED

    with pytest.raises(TerminatedError) as caught, under_way():
        raise TerminatedError("over")
    assert caught.value.exit_code == EXIT_TERMINATED
    with pytest.raises(BrokenPipeError), under_way():
        raise BrokenPipeError
