"""Who wrote a line: what is put before it, and what its text names."""

from __future__ import annotations

import pytest

from hccl_kit.diagnosis.logs.origins import IN_TEXT, PREFIXES, Origin, named, without_prefix

PLAIN = Origin()


def test_the_example_of_every_form_names_what_its_row_says() -> None:
    for form in (*PREFIXES, *IN_TEXT):
        assert named(form.example) == form.names, form


def test_every_prefix_is_left_out_before_any_text() -> None:
    for form in PREFIXES:
        prefix = form.example.removesuffix("text")
        for text in ("ValueError: no", "[some_file.cc:12] x", "RuntimeError"):
            assert without_prefix(prefix + text) == text, form


def test_the_blanks_of_an_indented_line_stay() -> None:
    for prefix in ("[rank7]: ", "[1] ", "[1,1]<stderr>:", "(Server pid=3) ", "[vm:1] "):
        assert without_prefix(f"{prefix}  File x").startswith(" ")


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("[1] [rank7]: x", Origin(7)),
        ("[pod/job-0/main] 2025-06-15T15:06:40.1Z [1,3]<stderr>:x", Origin(3, server="job-0")),
        ("[prterun-n1-77@1,3]<stdout>: x", Origin(3)),
        ("[n1.local:3] x", Origin(3, server="n1.local")),
        ("10.0.0.1: x", Origin(server="10.0.0.1")),
        ("(Server pid=12, ip=10.0.0.3) x", Origin(pid=12, server="10.0.0.3")),
        ("(Server pid=12) [0] [rank0]: x", Origin(0, 12)),
        ("(VllmWorker rank=3 pid=12) x", Origin(3, 12)),
        ("(Worker_TP3_EP3 pid=12) ERROR 10-11 11:32:59 [core.py:5] x", Origin(3, 12)),
        ("(Worker_PP1 pid=12) x", Origin(1, 12)),
        ("(Worker pid=12 device_id=4) x", Origin(pid=12, logic=4)),
        ("[1,2]<stderr>:[WARNING] 2025-12-23-07:36:19 (PID:5, Device:1, RankID:6) x", Origin(6, 5, logic=1)),
        ("  Process name: [prterun-vm-77@1,1] Exit code:    3", Origin(1)),
        ("mpirun noticed that process rank 2 with PID 77 on node n3 exited on signal 9 (Killed).", Origin(2, 77, "n3")),
        ("the error from device(chipId:0, dieId:0)", Origin(physical=0)),
    ],
)
def test_several_forms_are_read_together(line: str, names: Origin) -> None:
    assert named(line) == names


@pytest.mark.parametrize(
    "line",
    [
        "(Worker_DP1_TP3 pid=x) x",  # the number of a rank needs the size of both
        "the error from device(chipId:4, dieId:0)",  # card 8 of A3, card 4 of others
        "[23:22:05] x",
        "[2026-11-27 23:27:35,320] [WARNING] x",
        "[Epoch:3] x",
        "[step:41] loss 3",
        "[train.py:31] x",
        "12: x",
        "n12: x",
        "[99999999999] x",
        "[131072] x",
        "(PID:0, Device:-1, RankID:4294967295)",
        "MPI_ABORT was invoked on rank 1 in communicator MPI COMMUNICATOR 3 SPLIT FROM 0",
    ],
)
def test_what_may_be_something_else_names_nobody(line: str) -> None:
    assert named(line) == PLAIN
