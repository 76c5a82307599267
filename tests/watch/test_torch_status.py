"""The status files of torch_npu, in the form that its source code has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.watch.look import Folder
from hccl_kit.watch.text import as_text
from tests.watch.made import HOSTILE, facts

FIRST = 1767225600123


def status(folder: Path, rank: int, *ops: dict[str, Any], first: int = FIRST, **more: Any) -> Path:
    """The file of a rank of four."""
    path = folder / f"torch_hccl_status-{rank}_10.0.0.1_{rank}_4_{4711 + rank}_{first}.log"
    row = {"last_comm_op": list(ops), "is_master": rank == 0, "exception_message": "", "global_pg_end_time": first}
    path.write_text(json.dumps({**row, **more}) + "\n")
    return path


def op(number: int, state: str, kind: str = "ALLREDUCE", ranks: str = "all") -> dict[str, Any]:
    return {"seq": number, "op_type": kind, "pg_id": "0", "comm_ids": ranks, "status": state}


def test_a_program_without_a_change_shows_the_collectives_that_its_ranks_are_in(tmp_path: Path) -> None:
    for rank in range(3):
        (tmp_path / f"rank_{rank}.log").write_text("hello\n")
        status(tmp_path, rank, op(12, "end", "BROADCAST", "0 1 "), op(2706, "start"))
    status(tmp_path, 3, op(2705, "end"))
    job = Folder(tmp_path).look()
    assert (job.state, job.size, job.is_over, job.is_well) == ("running", 4, False, True)
    assert [(rank.state, rank.device, rank.doing) for rank in job.ranks] == [
        *(("running", card, "allreduce 2706") for card in range(3)),
        ("running", 3, ""),
    ]
    shown = as_text(job)
    assert shown.count("in allreduce 2706") == 3
    assert "no steps" not in shown


@pytest.mark.parametrize(
    ("more", "state", "why"),
    [
        ({"global_pg_end_time": FIRST + 5}, "done", ""),
        ({"exception_message": "HCCL watchdog: timeout", "global_pg_end_time": FIRST + 5}, "failed", "HCCL watchdog"),
    ],
)
def test_the_end_of_a_rank_is_that_of_its_file(tmp_path: Path, more: dict[str, Any], state: str, why: str) -> None:
    status(tmp_path, 0, op(7, "start"), **more)
    (rank,) = Folder(tmp_path).look().ranks
    assert (rank.state, rank.doing, rank.why[:13]) == (state, "", why)


def test_what_the_launch_script_saw_counts_more(tmp_path: Path) -> None:
    for rank in range(2):
        status(tmp_path, rank, op(7, "start"))
    (tmp_path / "launcher_0").write_text("1767225700 exited 1 9 3 n1\n1767225700 ending rank 1 9\n")
    assert [(rank.state, rank.why) for rank in Folder(tmp_path).look().ranks] == [
        ("ended", ""),
        ("failed", "exit code 9"),
    ]


def test_the_newest_file_of_a_rank_counts_and_a_heartbeat_counts_more(tmp_path: Path) -> None:
    status(tmp_path, 0, op(9, "start"), first=FIRST - 1)
    status(tmp_path, 0, op(3, "start"))
    status(tmp_path, 1, op(3, "start"))
    facts(tmp_path, 1, ranks=2)
    job = Folder(tmp_path).look()
    assert [(rank.doing, rank.step) for rank in job.ranks] == [("allreduce 3", None), ("", 40)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"last_comm_op": [{"seq"',
        "[]",
        "[" * 5000,
        '{"last_comm_op": {"status": "start"}}',
        '{"last_comm_op": [7, {"status": "start", "seq": -1, "op_type": 7}], "global_pg_end_time": "x"}',
        json.dumps({"last_comm_op": [op(1, "start", HOSTILE)], "exception_message": HOSTILE}),
    ],
)
def test_a_file_that_is_incomplete_or_hostile_harms_nothing(tmp_path: Path, text: str) -> None:
    status(tmp_path, 0).write_text(text)
    shown = as_text(Folder(tmp_path).look())
    assert all(char.isprintable() or char == "\n" for char in shown)
