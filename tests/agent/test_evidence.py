import json
import os
from pathlib import Path

import pytest

from hccl_kit.agent.evidence import LINES, MAX_TEXT, earliest_error, last_lines


def write(folder: Path, rank: int, **fields: object) -> None:
    (folder / f"error_{rank}.json").write_text(json.dumps(fields))


def test_the_earliest_error_is_shown_without_control_characters(tmp_path: Path) -> None:
    write(tmp_path, 0, time=20.5, traceback="later")
    write(tmp_path, 2, time=10, traceback="first\n\tline\x1b[31m\n")
    error = earliest_error(str(tmp_path), range(4))
    assert error == (2, 10.0, "first\n\tline\\x1b[31m")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"time": "x"}', '{"time": 1e999}', "[" * 100_000])
def test_a_damaged_file_is_no_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "error_0.json").write_text(text)
    assert earliest_error(str(tmp_path), [0]) is None


def test_a_long_traceback_keeps_its_end(tmp_path: Path) -> None:
    write(tmp_path, 0, time=1, traceback="x" * 100_000 + "the end")
    error = earliest_error(str(tmp_path), [0])
    assert error
    assert (error.traceback[:6], error.traceback[-7:], len(error.traceback)) == ("[...] ", "the end", MAX_TEXT + 6)


def test_what_others_have_put_in_the_place_of_a_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text('{"time": 1, "traceback": "x"}')
    (tmp_path / "error_0.json").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "error_1.json")
    assert earliest_error(str(tmp_path), range(3)) is None


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (b"", []),
        (b"a\nb", ["a", "b"]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"\x1b[0m\x00\xff", ["\\x1b[0m\\x00\ufffd"]),
        (b"\n".join(b"%d" % n for n in range(50)), [str(n) for n in range(50 - LINES, 50)]),
        (b"x" * MAX_TEXT, ["x" * MAX_TEXT]),
        (b"y" + b"x" * MAX_TEXT, ["[...] " + "x" * MAX_TEXT]),
        (b"x" * 50_000 + b"\nb", ["[...] " + "x" * (MAX_TEXT - 2), "b"]),
    ],
    ids=range(8),
)
def test_the_end_of_a_log_has_few_lines_and_a_cut_one_is_marked(tmp_path: Path, text: bytes, lines: list[str]) -> None:
    (tmp_path / "log").write_bytes(text)
    assert last_lines(str(tmp_path / "log")) == lines


def test_a_log_that_is_not_there_has_no_lines(tmp_path: Path) -> None:
    assert last_lines(str(tmp_path / "log")) == []
