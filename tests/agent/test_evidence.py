import json
import os
from pathlib import Path

import pytest

from hccl_kit.agent.evidence import LINES, MAX_TEXT, Progress, earliest_error, furthest, last_lines, step_of


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


def beat(folder: Path, rank: int, step: str, when: float | None = None) -> None:
    path = folder / f"step_{rank}"
    path.write_text(step)
    if when is not None:
        os.utime(path, (when, when))


def test_a_rank_whose_file_does_not_change_has_stopped_and_those_at_its_step_are_named(tmp_path: Path) -> None:
    progress = Progress(str(tmp_path), 10)
    for now in (0.0, 4.0, 8.0):
        for rank, step in ((0, 7), (1, 3), (2, 3), (3, int(now))):
            beat(tmp_path, rank, f"{step}\n", when=1000.0 if rank < 3 else now)
        assert progress.still(range(4), now) is None
    beat(tmp_path, 3, "9\n", when=12.0)
    assert progress.still(range(4), 12.0) == ((1, 2), 3)
    assert progress.still([3], 12.0) is None, "that rank moves"


@pytest.mark.parametrize("when", [0.0, 4e9])
def test_the_time_of_a_file_is_not_compared_with_a_clock(tmp_path: Path, when: float) -> None:
    """A clock that was set forward once ended a healthy job."""
    beat(tmp_path, 0, "1", when=when)
    progress = Progress(str(tmp_path), 10)
    assert [progress.still([0], now) for now in (0.0, 4.0, 8.0)] == [None] * 3


def test_ranks_that_waited_for_a_stopped_agent_get_their_time_again(tmp_path: Path) -> None:
    beat(tmp_path, 0, "1")
    progress = Progress(str(tmp_path), 10)
    assert [progress.still([0], now) for now in (0.0, 600.0, 604.0, 608.0)] == [None] * 4
    assert progress.still([0], 612.0) == ((0,), 1)


def test_a_job_without_a_step_is_noticed_once(tmp_path: Path) -> None:
    progress = Progress(str(tmp_path), 10)
    noticed = []
    for now in (0.0, 9.0, 10.0, 20.0):
        assert progress.still([0], now) is None
        noticed.append(progress.is_blind(now))
    assert noticed == [False, False, True, False]
    counting = Progress(str(tmp_path), 10)
    beat(tmp_path, 0, "1")
    assert [bool(counting.still([0], now)) or counting.is_blind(now) for now in (0.0, 10.0)] == [False, False]


@pytest.mark.parametrize("text", ["", "x", "-1", "08", "1" * 19, "1 2", "\0"])
def test_what_is_no_step_is_not_judged(tmp_path: Path, text: str) -> None:
    beat(tmp_path, 0, text)
    assert step_of(str(tmp_path), 0) is None
    progress = Progress(str(tmp_path), 1)
    assert [progress.still([0, 1], now) for now in (0.0, 0.4, 0.8, 1.2)] == [None] * 4


def test_what_others_have_put_in_the_place_of_a_step_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("5")
    (tmp_path / "step_0").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "step_1")
    (tmp_path / "step_2").mkdir()
    assert [step_of(str(tmp_path), rank) for rank in range(4)] == [None] * 4


def test_the_furthest_step_is_that_of_any_rank(tmp_path: Path) -> None:
    assert furthest(str(tmp_path), range(3)) is None
    beat(tmp_path, 0, "4\n")
    beat(tmp_path, 2, "6")
    assert furthest(str(tmp_path), range(3)) == 6
