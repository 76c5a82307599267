"""The files of our own scripts and programs are parsed, and everything in them is validated."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.diagnosis import facts
from hccl_kit.diagnosis.facts import Event, Fact
from hccl_kit.diagnosis.logs.reading import read
from hccl_kit.runtime.flight_recorder import recorder
from hccl_kit.runtime.worker_env import LOG_DIR


def events(folder: Path, name: str, text: str | bytes) -> list[Event]:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    (folder / "rank_0.log").write_text("nothing\n")  # a folder without logs is refused
    return [event for event in read([folder]).events if event.place.file.endswith(name) and not _is_name(event.fact)]


def _is_name(fact: Fact) -> bool:
    """Whether a fact comes from the file name, which gives the rank regardless of the content."""
    return isinstance(fact, facts.Joined) and fact.ranks is None


def test_reads_the_files_of_the_recorder(tmp_path: Path) -> None:
    made = recorder({LOG_DIR: str(tmp_path), "RANK": "3", "RANK_SIZE": "8"})
    made.step = 41
    with made.collective("all_reduce", 4096):
        pass
    with made.collective("all_gather"), made.waiting("data"):
        made.ended("ValueError", "no such image")
    found = [event.fact for event in read([tmp_path]).events if not _is_name(event.fact)]
    assert [type(fact) for fact in found] == [facts.Joined, facts.Alive, facts.ProgramEnded, *[facts.Collective] * 4]
    assert isinstance(found[0], facts.Joined)
    assert (found[0].rank, found[0].ranks) == (3, 8)
    assert isinstance(found[1], facts.Alive)
    assert (found[1].step, found[1].doing) == (41, "data")
    assert found[2:] == [
        facts.ProgramEnded(3, "ValueError", "no such image"),
        facts.Collective(3, 1, "all_reduce", 4096, left=False, step=41),
        facts.Collective(3, 1, "all_reduce", 4096, left=True, step=41),
        facts.Collective(3, 2, "all_gather", None, left=False, step=41),
        facts.Collective(3, 2, "all_gather", None, left=True, step=41),
    ]


def test_reads_the_notes_of_the_script(tmp_path: Path) -> None:
    text = "100 exited 3 137 7 n1\n101 ending rank 3 137\n102 exited 0 143\n103 exited 1 1\n"
    text += "104 lost 10.0.0.2 4 5\n105 stopped 2\n"
    found = events(tmp_path, "launcher_0", text)
    assert [(event.time, event.is_error, event.fact) for event in found] == [
        (100.0, True, facts.Exited(3, None, 9, server="n1", physical=7)),
        (101.0, True, facts.JobEnding("rank", 3, 137)),
        (102.0, False, facts.Exited(0, None, 15, by_launcher=True)),
        (103.0, False, facts.Exited(1, 1, None, by_launcher=True)),
        (104.0, True, facts.ServerLost("10.0.0.2", (4, 5))),
        (105.0, True, facts.ProcessStopped(2)),
    ]


def test_reads_an_end_without_a_rank(tmp_path: Path) -> None:
    (event,) = events(tmp_path, "launcher_1", "100 ending gone -2 129\n")
    assert event.fact == facts.JobEnding("gone", None, 129)


@pytest.mark.parametrize(
    "line",
    [
        "exited 3 137",
        "100 exited 3",
        "100 exited x 1",
        "100 exited 4294967295 1",
        "100 exited 3 9999",
        "100 exited 3 1 7",
        "100 exited 3 1 7 n1;id",
        "1e9 exited 3 1",
        "\u0661 exited 3 1",
        "100 lost",
        "\0",
        "100 ending rank 3 137 more",
    ],
)
def test_an_invalid_note_is_skipped(tmp_path: Path, line: str) -> None:
    assert events(tmp_path, "launcher_0", line + "\n") == []


@pytest.mark.parametrize(
    "row",
    [
        [],
        {},
        {"n": -1},
        {"n": True, "begun": 1},
        {"n": "1"},
        {"n": 1e400},
        {"n": 10**30},
        {"other": 1},
    ],
)
def test_an_invalid_record_is_skipped(tmp_path: Path, row: object) -> None:
    assert events(tmp_path, "facts_3.jsonl", json.dumps(row) + "\n") == []


@pytest.mark.parametrize("time", ["x", -1, 1e400, 10**400, None, True, [], 1e12])
def test_a_time_that_is_not_valid_is_unknown(tmp_path: Path, time: object) -> None:
    (event,) = events(tmp_path, "facts_3.jsonl", json.dumps({"alive": time, "step": 1}) + "\n")
    assert (event.time, event.fact) == (None, facts.Alive(3, 1, None, None))


@given(st.binary(max_size=400))
def test_any_bytes_are_read(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("run")
    events(folder, "facts_3.jsonl", data)
    events(folder, "launcher_0", data)


def test_deeply_nested_and_long_lines_are_skipped(tmp_path: Path) -> None:
    assert events(tmp_path, "facts_3.jsonl", b"[" * 7_000 + b"\n" + b'{"n": 1' + b" " * 10**6 + b"}\n") == []


def test_a_record_that_ends_within_a_line_is_cut(tmp_path: Path) -> None:
    made = recorder({LOG_DIR: str(tmp_path), "RANK": "3", "RANK_SIZE": "8"})
    with made.collective("all_reduce", 4096):
        pass
    path = tmp_path / "facts_3.jsonl"
    (whole,) = read([tmp_path]).files
    assert whole.cut is None
    path.write_bytes(path.read_bytes()[:4000])
    (file,) = read([tmp_path]).files
    assert file.cut == "its last line has no end"
    path.unlink()
    (tmp_path / "step_3").write_text("7")  # written by a program without a line break
    (file,) = read([tmp_path]).files
    assert file.cut is None


def test_a_record_of_which_lines_are_missing_is_cut(tmp_path: Path) -> None:
    made = recorder({LOG_DIR: str(tmp_path), "RANK": "3", "RANK_SIZE": "8"})
    for _ in range(300):  # the ring is begun again
        with made.collective("all_reduce", 4096):
            pass
    path = tmp_path / "facts_3.jsonl"
    whole = path.read_bytes().splitlines(keepends=True)
    (file,) = read([tmp_path]).files
    assert file.cut is None
    blank = b" " * 191 + b"\n"
    older = whole[3 + 299 % 256].replace(b'"n": 299', b'"n": 43 ')
    for lines in (
        whole[:40],
        whole[:-1],
        [*whole[:30], *whole[31:]],
        [*whole[:30], blank, *whole[31:]],
        [*whole[:30], b'{"n": 283, "op"\n', *whole[31:]],
        [*whole[:46], older, *whole[47:]],
        [blank, *whole[1:]],
        [whole[0], blank, *whole[2:]],
        [*whole[:30], whole[30], *whole[30:]],
        [],
    ):
        path.write_bytes(b"".join(lines))
        found = read([tmp_path])
        assert found.files[0].cut == "lines of it are missing"
        assert any(note.endswith("facts_3.jsonl is not whole: lines of it are missing") for note in found.notes)
    newer = whole[0].replace(b'"version": 1', b'"version": 2')
    path.write_bytes(newer + b"".join(whole[1:40]))
    assert read([tmp_path]).files[0].cut is None  # its form is not known
