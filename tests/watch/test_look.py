"""Reading and interpreting the folder of a run: running, ended, broken and hostile ones."""

import json
import os
import re
import time
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.runtime.flight_recorder import HEAD
from hccl_kit.watch import run_folder
from hccl_kit.watch.look import Folder
from hccl_kit.watch.run_folder import Ages, find
from hccl_kit.watch.text import as_text
from hccl_kit.watch.view import GONE, SHOWN, chosen, problems, unseen
from tests.watch.made import HOSTILE, facts, line, run


def test_reads_a_running_job(tmp_path: Path) -> None:
    job = Folder(run(tmp_path)).look()
    assert (job.state, job.size, job.restarts, job.is_well, job.is_over) == ("running", 4, 0, True, False)
    assert [(rank.rank, rank.step, rank.loss, rank.host) for rank in job.ranks] == [
        (n, 40, 1.5, "n0") for n in range(4)
    ]
    assert job.ranks[2].last_line == "step of rank 2"
    assert len(job.ranks[0].curve) == 4
    assert job.speed == pytest.approx(10 / 2.2)
    assert problems(job) == []


def test_a_slow_rank_is_named_with_its_slow_part_and_start(tmp_path: Path) -> None:
    run(tmp_path)
    path = facts(tmp_path, 2, compute=2.0)
    text = path.read_bytes()
    calm = run(tmp_path / "calm") / "facts_2.jsonl"
    first = text.index(b'{"curve"')
    path.write_bytes(
        text[:first] + calm.read_bytes()[first : first + 192] + text[first + 192 :]
    )  # slow from step 11 on
    job = Folder(tmp_path).look()
    assert job.straggler is not None
    assert (job.straggler.lag.rank, job.straggler.lag.part, job.straggler.since_step) == (2, "compute", 11)
    assert not job.is_well
    assert problems(job) == [
        "rank 2 (n0, card 2) slows down the others since step 11, by its compute: 0.21 s a step for data and "
        "computing, the others 0.11 s (91% more)"
    ]


def test_without_curves_the_start_is_derived_from_the_windows(tmp_path: Path) -> None:
    run(tmp_path, slow=1)
    for path in tmp_path.glob("facts_*"):
        path.write_bytes(path.read_bytes()[: 3 * HEAD])
    job = Folder(tmp_path).look()
    assert job.straggler is not None
    assert job.straggler.since_step == 11


@pytest.mark.parametrize(
    ("ended", "age", "state", "is_over"),
    [
        ("done", 5.0, "done", True),
        (None, 0.0, "running", False),
        (None, 15.0, "silent", False),
        (None, GONE + 1, "silent", True),
        ("ValueError", 1.0, "failed", False),
        ("ValueError", GONE + 1, "failed", True),
    ],
)
def test_states_of_a_job(tmp_path: Path, ended: str | None, age: float, state: str, is_over: bool) -> None:
    job = Folder(run(tmp_path, ended=ended, age=age)).look()
    assert (job.state, job.is_over) == (state, is_over)
    assert job.is_well is (state in ("running", "done"))


def test_a_failed_rank_is_distinguished_from_those_that_the_script_ended(tmp_path: Path) -> None:
    run(tmp_path, age=20)
    (tmp_path / "launcher_0").write_text(
        "1767225600 exited 2 7\n1767225600 ending rank 2 7\n1767225601 exited 0 143\nnonsense\n"
    )
    job = Folder(tmp_path).look()
    assert [rank.state for rank in job.ranks] == ["ended", "ended", "failed", "ended"]
    assert problems(job) == ["rank 2 (n0, card 2) failed: exit code 7"]


def test_a_job_whose_folder_was_deleted_is_silent_and_then_over(tmp_path: Path) -> None:
    seen = Folder(run(tmp_path)).look()
    soon, later, at_last = (unseen(seen, seconds, "it is gone") for seconds in (1.0, 11.0, 61.0))
    assert [one.state for one in (soon, later, at_last)] == ["running", "silent", "silent"]
    assert [one.is_over for one in (soon, later, at_last)] == [False, False, True]
    assert at_last.time == seen.time + 61.0
    (note,) = at_last.notes
    assert re.fullmatch("not seen since [0-9:]{8}: it is gone", note)


def test_a_rank_without_a_heartbeat_has_the_host_and_card_of_the_script(tmp_path: Path) -> None:
    (tmp_path / "rank_2.log").write_text("working\n")
    (tmp_path / "launcher_0").write_text("1767225600 exited 2 7 6 n1\n1767225600 ending rank 2 7\n")
    assert problems(Folder(tmp_path).look()) == ["rank 2 (n1, card 6) failed: exit code 7"]


def test_a_hang_ended_by_the_script_is_named(tmp_path: Path) -> None:
    run(tmp_path, age=20)
    (tmp_path / "launcher_0").write_text("1767225600 ending hang 1 124\n")
    job = Folder(tmp_path).look()
    assert [(rank.state, rank.why) for rank in job.ranks] == [("failed", "took no step for too long")] * 4


def test_a_hang_names_the_rank_that_is_behind(tmp_path: Path) -> None:
    run(tmp_path, age=20)
    facts(tmp_path, 1, step=39, age=20)
    (tmp_path / "launcher_0").write_text("1767225600 ending hang 1 124\n")
    assert [rank.state for rank in Folder(tmp_path).look().ranks] == ["ended", "failed", "ended", "ended"]


def test_restarts_are_counted_and_the_last_start_is_shown(tmp_path: Path) -> None:
    run(tmp_path, ended="ValueError")
    run(tmp_path / "restart_1", step=60)
    run(tmp_path / "restart_10", step=80)
    job = Folder(tmp_path).look()
    assert (job.restarts, job.state, job.ranks[0].step) == (10, "running", 80)
    assert Folder(tmp_path / "restart_1").look().restarts == 1


def test_a_link_to_another_folder_is_not_a_restart(tmp_path: Path) -> None:
    run(tmp_path / "run")
    run(tmp_path / "other", step=90)
    (tmp_path / "run" / "restart_3").symlink_to(tmp_path / "other")
    assert Folder(tmp_path / "run").look().ranks[0].step == 40


def test_a_window_without_time_has_no_speed(tmp_path: Path) -> None:
    for seconds in (0, 5e-324):
        facts(tmp_path, 0, windows=[[40, 10**18, seconds, 0, 0, 0]])
        job = Folder(tmp_path).look()
        assert (job.speed, job.ranks[0].step) == (None, 40)
        assert "inf" not in as_text(job)


def test_the_latest_run_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(KitError, match="there is no hccl_logs/latest here"):
        find(None)
    run(tmp_path / "hccl_logs" / "1-2")
    (tmp_path / "hccl_logs" / "latest").symlink_to("1-2")
    assert find(None) == Path("hccl_logs/1-2"), "the link may point to another run later"
    assert find(Path("hccl_logs")) == Path("hccl_logs/1-2")
    assert find(Path("hccl_logs/latest")) == Path("hccl_logs/latest")
    for wrong in ("nowhere", "a\0b"):
        with pytest.raises(KitError):
            find(Path(wrong))


@pytest.mark.parametrize("name", ["nothing", "notes.txt", "facts_x.jsonl"])
def test_a_folder_without_a_run_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x")
    with pytest.raises(KitError, match="has no files of a run"):
        Folder(tmp_path).look()


@pytest.mark.parametrize("name", ["facts_0.jsonl", "launcher_0"])
def test_files_without_a_readable_rank_give_an_empty_job(tmp_path: Path, name: str) -> None:
    """As while a rank creates its file; the next poll may find more."""
    (tmp_path / name).write_text("")
    job = Folder(tmp_path).look()
    assert (job.state, job.size, job.is_over) == ("unknown", 0, False)
    assert "no rank can be read yet" in as_text(job)


def test_logs_without_heartbeat_are_reported(tmp_path: Path) -> None:
    (tmp_path / "rank_0.log").write_text("hello\n")
    job = Folder(tmp_path).look()
    assert (job.state, job.is_over, job.ranks[0].last_line) == ("unknown", False, "hello")
    assert "the program reports no steps: hccl_kit.Heartbeat in it counts them; " in as_text(job)
    for step, states in ((0, ["starting"] * 2), (40, ["unknown", "running"])):
        facts(tmp_path, 1, ranks=2, step=step, idle=0.5 if step else None)
        head, _, rest = (tmp_path / "facts_1.jsonl").read_bytes().partition(b"\n")
        begun = line({**json.loads(head), "start": time.time() - 60}, HEAD)
        (tmp_path / "facts_1.jsonl").write_bytes(begun + rest)
        assert [rank.state for rank in Folder(tmp_path).look().ranks] == states


def test_a_rank_is_not_starting_for_ever(tmp_path: Path) -> None:
    """The file says that it began in 1970."""
    facts(tmp_path, 0, ranks=1, step=0, idle=None)
    job = Folder(tmp_path).look()
    assert (job.state, job.is_well) == ("unknown", True)
    assert as_text(job).startswith(f"{tmp_path}: no steps, 1 rank")


def test_hostile_texts_have_no_control_characters(tmp_path: Path) -> None:
    run(tmp_path, ended=HOSTILE[:20], doing=HOSTILE, loss=HOSTILE, memory=HOSTILE)
    (tmp_path / "rank_0.log").write_bytes(HOSTILE.encode("utf-8", "surrogatepass") + b"\xff\xfe\r\n\n")
    job = Folder(tmp_path).look()
    assert job.ranks[0].loss is None
    shown = as_text(job)
    assert "\\x1b" not in shown
    assert all(char.isprintable() or char == "\n" for char in shown)
    assert "[red]x[/red]" in shown


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[" * 2000,
        b"\0" * 5000,
        line({"rank": "0"}, HEAD),
        line({"rank": True}, HEAD),
        line({"rank": 0, "ranks": 1 << 70, "host": ["x"], "device": -1}, HEAD) + line([1], HEAD),
    ],
)
def test_damaged_files_cause_no_error(tmp_path: Path, damage: bytes) -> None:
    run(tmp_path, 3)
    (tmp_path / "facts_1.jsonl").write_bytes(damage)
    job = Folder(tmp_path).look()
    assert [rank.rank for rank in job.ranks] == [0, 1, 2]
    assert job.ranks[1].step in (None, 0)
    assert as_text(job)


@pytest.mark.parametrize(
    "rows",
    [
        "x",
        [[1] * 5],
        [[1, 0, 1, 1, 1, 1]],
        [[1, 1, "nan", 1, 1, 1]],
        [[1, 1, -1, 1, 1, 1]],
        [[1, 1, 1e300, 1, 1, 1]],
        [[True, 1, 1, 1, 1, 1]],
        [None, {}, [[]]],
    ],
)
def test_invalid_windows_are_skipped(tmp_path: Path, rows: object) -> None:
    run(tmp_path, 2)
    facts(tmp_path, 1, ranks=2, windows=rows)
    job = Folder(tmp_path).look()
    assert job.ranks[1].recent is None
    assert job.straggler is None
    assert as_text(job)


def test_links_pipes_and_folders_are_not_opened(tmp_path: Path) -> None:
    folder = run(tmp_path / "run", 1)
    other = facts(tmp_path, 1)
    (folder / "facts_1.jsonl").symlink_to(other)
    os.mkfifo(folder / "facts_2.jsonl")
    os.mkfifo(folder / "launcher_0")
    (folder / "facts_3.jsonl").mkdir()
    assert [rank.rank for rank in Folder(folder).look().ranks] == [0]


def test_a_jump_of_the_clock_does_not_make_ranks_silent() -> None:
    ages = Ages(now=1000.0, monotonic=50.0)
    assert ages.of(0, 999.5) == 0.5
    ages.look(now=4600.0, monotonic=52.0)  # an hour ahead, after two seconds
    assert ages.of(0, 4599.9) == 0.0
    ages.look(now=900.0, monotonic=54.0)  # and back
    assert ages.of(0, 899.9) == 0.0
    ages.look(now=902.0, monotonic=66.0)
    assert ages.of(0, 899.9) == 12.0
    assert ages.of(1, 5000.0) == 0.0, "a clock that is ahead of ours"
    assert ages.of(2, None) is None


def test_ten_thousand_ranks_are_read_quickly_and_collapsed(tmp_path: Path) -> None:
    size = 10_000
    facts(tmp_path, 0, ranks=size)
    head, rest = (tmp_path / "facts_0.jsonl").read_bytes().split(b"\n", 1)
    for rank in range(1, size):
        slow = rest.replace(b", 1.0, 0.1]", b", 3.0, 0.1]") if rank == 4711 else rest
        row = json.loads(head)
        (tmp_path / f"facts_{rank}.jsonl").write_bytes(line({**row, "rank": rank}, HEAD) + slow[: 2 * HEAD])
    began = time.process_time()
    job = Folder(tmp_path).look()
    text = as_text(job)
    assert time.process_time() - began < 20  # measured: 1 s
    assert len(job.ranks) == size
    assert job.straggler is not None
    assert job.straggler.lag.rank == 4711
    assert len(text.splitlines()) < SHOWN + 12
    assert f"{size - SHOWN} more ranks, 0.11 s to 0.11 s a step of their own, at steps 40 to 40" in text
    assert 4711 in [rank.rank for rank in chosen(job.ranks)]


def test_too_many_ranks_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_folder, "MAX_RANKS", 3)
    job = Folder(run(tmp_path, 5)).look()
    assert (len(job.ranks), job.notes) == (3, ("2 ranks are not read",))


def test_ranks_of_other_servers_are_reported_as_missing(tmp_path: Path) -> None:
    run(tmp_path, 2)
    for rank in range(2):
        facts(tmp_path, rank, ranks=16)
    job = Folder(tmp_path).look()
    assert (job.size, job.is_well, job.state) == (16, True, "running")
    assert "note: 14 of 16 ranks have no files here; TABLE --ssh shows those of all servers" in as_text(job)
