"""The heartbeat: one small file, cheap enough for every step, which never causes an error."""

import os
from pathlib import Path

import pytest

from hccl_kit.runtime.heartbeat import Heartbeat
from hccl_kit.runtime.worker_env import LOG_DIR


def beating(folder: Path, rank: int = 3) -> Heartbeat:
    return Heartbeat.from_environ({LOG_DIR: str(folder), "RANK_ID": str(rank), "RANK": str(rank)})


def test_the_file_holds_the_last_step(tmp_path: Path) -> None:
    heart = beating(tmp_path)
    assert list(tmp_path.glob("step_*")) == []  # compilation is not a step: there is no file before the first beat
    for step in (1, 9, 10, 10, 11, 10**17):
        heart.beat(step)
        assert (tmp_path / "step_3").read_text() == f"{step}\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["facts_3.jsonl", "step_3"]


def test_an_earlier_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "step_3").write_text("123456\n")
    beating(tmp_path).beat(7)
    assert (tmp_path / "step_3").read_text() == "7\n"


@pytest.mark.parametrize("kind", ["symbolic link", "hard link", "pipe"])
def test_what_another_user_has_left_is_not_written_to(tmp_path: Path, kind: str) -> None:
    """The names are known: a link would empty another file, and a pipe would stop the rank."""
    (tmp_path / "mine").write_text("precious")
    for planted in (tmp_path / "step_3", tmp_path / "facts_3.jsonl"):
        if kind == "symbolic link":
            planted.symlink_to(tmp_path / "mine")
        elif kind == "hard link":
            planted.hardlink_to(tmp_path / "mine")
        else:
            os.mkfifo(planted)
    beating(tmp_path).beat(7)
    assert (tmp_path / "mine").read_text() == "precious"


def test_every_beat_updates_the_modification_time(tmp_path: Path) -> None:
    heart = beating(tmp_path)
    heart.beat(5)
    os.utime(tmp_path / "step_3", (0, 0))
    heart.beat(5)
    assert (tmp_path / "step_3").stat().st_mtime > 0


@pytest.mark.parametrize(
    "environ", [{}, {"RANK_ID": "3"}, {LOG_DIR: "", "RANK_ID": "3"}, {LOG_DIR: "/tmp", "RANK": "x"}]
)
def test_without_a_folder_or_a_rank_nothing_is_written(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    heart = Heartbeat.from_environ(environ)
    heart.beat(1)
    assert heart.path is None
    assert list(tmp_path.iterdir()) == []


def test_an_explicit_rank_needs_no_variable(tmp_path: Path) -> None:
    Heartbeat.from_environ({LOG_DIR: str(tmp_path)}, rank=0).beat(1)
    assert (tmp_path / "step_0").read_text() == "1\n"


def test_a_folder_that_cannot_be_written_causes_no_error(tmp_path: Path) -> None:
    heart = beating(tmp_path / "gone")
    heart.beat(1)
    heart.beat(2)
    full = Heartbeat(Path("/dev/full"))
    full.beat(1)
    full.beat(2)
    assert not (tmp_path / "gone").exists()


def test_a_failed_beat_does_not_prevent_the_next_one(tmp_path: Path) -> None:
    """A temporary disk failure must not make a rank look stuck."""
    heart = beating(tmp_path)
    heart.beat(5)
    file = heart.file
    assert file is not None
    read_only = os.open(tmp_path / "step_3", os.O_RDONLY)
    os.dup2(read_only, file)  # the beat finds a file that it cannot write
    heart.beat(6)
    assert (tmp_path / "step_3").read_text() == "5\n"
    heart.beat(7)
    assert (tmp_path / "step_3").read_text() == "7\n"
