"""Any log gives one explanation or one error line, in bounded memory."""

import os
from io import BufferedReader, BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.diagnosis import log_reading
from hccl_kit.diagnosis.known_lines import MAX_LINE, Explanation
from hccl_kit.diagnosis.log_reading import explain_log, open_log

TELLING = b"EI0020: Failed to enable listening for the NPU network adapter socket. Reason: x\n"


def read(data: bytes) -> Explanation:
    return explain_log(BufferedReader(BytesIO(data)), "x.log")


def test_the_line_number_is_that_in_the_log() -> None:
    found = read(b"a\r\n\nb\n" + TELLING)
    assert (found.answers[0].line, found.answers[0].code, found.notes) == (4, "EI0020", ())


def test_a_line_as_long_as_a_log_is_one_line() -> None:
    found = read(b"x" * (3 * MAX_LINE + 5) + b"\n" + TELLING)
    assert found.answers[0].line == 2


def test_text_beyond_the_line_limit_is_not_searched() -> None:
    with pytest.raises(KitError, match="no line of x"):
        read(b"x" * MAX_LINE + TELLING)


@pytest.mark.parametrize(("name", "bound"), [("MAX_BYTES", 400), ("MAX_LINES", 3)])
def test_only_the_start_of_a_long_log_is_read_with_a_note(
    name: str, bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_reading, name, bound)
    assert "only its start was read" in read(TELLING + b"a\n" * 400).notes[0]
    with pytest.raises(KitError, match="no line of"):
        read(b"a\n" * 400 + TELLING)


@pytest.mark.parametrize("data", [b"\0" * 10, b"PK\3\4\0\0", b"text\n\0more"])
def test_binary_data_is_refused(data: bytes) -> None:
    with pytest.raises(KitError, match=r"x.log is not a log: it has NUL bytes"):
        read(data)


def test_an_empty_log_is_refused() -> None:
    with pytest.raises(KitError, match="no line of x"):
        read(b"")


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (b"all is well\n", "no line looks like an error either: collect"),
        (
            b'start\nTraceback (most recent call last):\n  File "a.py", line 3, in f\nOddError: no such thing\n'
            b"1 failed\nabort\nfatal\n",
            "these lines look like errors, which this version does not know:\n"
            "line 4: OddError: no such thing\nline 5: 1 failed\nline 6: abort\nelse collect",
        ),
        (
            b"Traceback (most recent call last):\n",
            "these lines look like errors, which this version does not know:\n"
            "line 1: Traceback (most recent call last):\n",
        ),
    ],
)
def test_a_log_without_a_known_line_is_reported_with_the_lines_that_look_like_errors(data: bytes, hint: str) -> None:
    with pytest.raises(KitError, match="no line of x") as caught:
        read(data)
    assert (caught.value.hint or "").startswith(hint)


@given(st.binary(max_size=500))
def test_any_bytes_are_explained_or_refused(data: bytes) -> None:
    try:
        assert read(data).answers
    except KitError as error:
        assert "x.log" in error.message


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "absent", "."):
        with pytest.raises(KitError, match="cannot read"):
            open_log(tmp_path / name)
