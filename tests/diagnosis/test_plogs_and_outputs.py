"""Plogs in one folder, and what the processes and their launcher printed in another: the forms are public."""

from __future__ import annotations

from pathlib import Path

import pytest

from hccl_kit import diagnose
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis
from tests.diagnosis.answers import fault_of, named

TRACEBACK = "Traceback (most recent call last):\n  File \"/job/train.py\", line 4, in step\n    step()\nKeyError: 'x'\n"
KERNEL = "there is an exception of aivec error, core id 1"
SDMA = "PrintSdmaErrorInfoForFftsPlusTask: err_type=4[fftsplus sdma error]"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def plogs(
    folder: Path, day: int = 20, *, size: int = 4, first: int = 4100, errors: dict[int, str] | None = None
) -> None:
    """The plogs of a job that joined its communicator, and then has no line but those of errors, a minute later."""
    for rank in range(size):
        pid, date = first + rank, f"2025-11-{day}-12"
        name = f"10.0.0.1%eth0_60000_0_17636400{day}250001"
        root = f"rootinfo: host ip[10.0.0.1] port[60000] identifier[{name}], deviceLogicId[{rank}]"
        joined = f"SetupAgent rankNum[{size}], rank[{rank}], rootInfo identifier[{name}], server[10.0.0.1%eth0]"
        text = (
            f"[INFO] HCCL({pid},python3):{date}:00:15.588.974 [op_base.cc:1292] [{pid}]Entry-HcclCommInitRootInfoInner:"
        )
        text += f"ranks[{size}], rank[{rank}], {root}\n"
        text += f"[INFO] HCCL({pid},python3):{date}:00:15.865.351 [topo.cc:506] [{pid}][HCCL_TRACE]{joined}\n"
        if error := (errors or {}).get(rank):
            text += f"[ERROR] RUNTIME({pid},python3):{date}:01:02.100.000 [device.cc:12] {pid} {error}\n"
        write(folder / f"plog-{pid}_202511{day}120005137.log", text)


def answer(folder: Path) -> tuple[int | None, str]:
    found = diagnose([folder])
    return named(found), found.first_fault.kind if found.first_fault else ""


def test_plogs_without_an_error_are_of_the_job_whose_output_lies_above_them(tmp_path: Path) -> None:
    plogs(tmp_path / "n1" / "log")
    write(tmp_path / "n1_docker.log", "".join(f"[rank2]: {line}\n" for line in TRACEBACK.splitlines()))
    found = diagnose([tmp_path])
    assert (named(found), found.silent, found.notes) == (2, (), ())


def test_an_error_without_a_rank_is_of_the_plog_whose_rank_the_launcher_saw_end(tmp_path: Path) -> None:
    plogs(tmp_path / "n1" / "log")
    output = "".join(f" 2: {line}\n" for line in TRACEBACK.splitlines())
    write(tmp_path / "slurm-7.out", output + "srun: error: n1: task 2: Exited with exit code 1\n")
    assert answer(tmp_path) == (2, "KeyError: 'x' (at train.py:4)")


def test_a_failure_that_only_an_output_shows_is_that_of_the_last_job(tmp_path: Path) -> None:
    plogs(tmp_path / "n1" / "log", 19, first=900, errors={1: KERNEL})
    assert answer(tmp_path)[0] == 1
    plogs(tmp_path / "n1" / "log", 20)
    output = "".join(f"2: {line}\n" for line in TRACEBACK.splitlines())
    write(tmp_path / "slurm-7.out", output + "srun: error: n1: task 2: Exited with exit code 1\n")
    assert answer(tmp_path) == (2, "KeyError: 'x' (at train.py:4)")


def test_an_output_is_not_of_a_process_of_another_replica(tmp_path: Path) -> None:
    plogs(tmp_path / "replica-1" / "n1" / "log")
    end = "srun: error: n1: task 2: Exited with exit code 1\n"
    write(tmp_path / "replica-0" / "n1" / "train.log", TRACEBACK + end)
    found = diagnose([tmp_path])
    assert (named(found), "10.0.0.1" in str(fault_of(found).suspect.server)) == (2, False)


@pytest.mark.parametrize("output", ["serve.log", "n1/out/serve.log"])
def test_lines_with_a_pid_are_of_the_plog_with_it(tmp_path: Path, output: str) -> None:
    plogs(tmp_path / "n1" / "log" / "run" / "plog")
    text = "".join(f"(Worker_EP pid=4103) ERROR 11-20 12:01:00 [m.py:596] {line}\n" for line in TRACEBACK.splitlines())
    write(tmp_path / output, text)
    assert answer(tmp_path)[0] == 3


def test_a_copy_that_failed_is_a_first_fault_only_in_a_job_of_one_rank(tmp_path: Path) -> None:
    plogs(tmp_path / "n1", errors={1: SDMA, 2: SDMA, 3: KERNEL})
    assert answer(tmp_path)[0] == 3
    plogs(tmp_path / "n2", errors={1: SDMA})
    assert diagnose([tmp_path / "n2"]).first_fault is None
    plogs(tmp_path / "n3", size=1, errors={0: SDMA})
    assert answer(tmp_path / "n3")[0] == 0


def summary(rank: int, code: int) -> str:
    """What torchrun prints at its end."""
    failed = f"failed (exitcode: {code}) local_rank: {rank} (pid: 4711) of binary: /usr/bin/python3"
    return f"""\
E1103 10:11:45.500000 28 torch/distributed/elastic/multiprocessing/api.py:874] {failed}
Root Cause (first observed failure):
[0]:
  time      : 2025-11-03_10:11:45
  host      : n1
  rank      : {rank} (local_rank: {rank})
  exitcode  : {code} (pid: 4711)
============================================================
"""


def outputs(folder: Path, *lines: str, end: str) -> Diagnosis:
    for rank, line in enumerate(lines):
        write(folder / f"rank_{rank}.log", f"[rank{rank}]: {line}\n")
    write(folder / "torchrun.log", end)
    return diagnose([folder])


def test_a_data_loader_that_was_ended_with_its_rank_is_no_first_fault(tmp_path: Path) -> None:
    ended = "RuntimeError: DataLoader worker (pid 9) is killed by signal: Terminated."
    assert named(outputs(tmp_path, ended, "step 1", ended, end=summary(1, -9))) == 1


def test_a_process_that_its_watchdog_aborted_is_no_first_fault(tmp_path: Path) -> None:
    late = (
        "[E c.ts:574] [Rank {}] Watchdog caught collective operation timeout: WorkHCCL(SeqNum=7, OpType=ALLREDUCE,"
        " Timeout(ms)=600000) ran for 600516 milliseconds before timing out."
    )
    for rank in range(4):
        write(tmp_path / "n1" / "run" / "attempt_0" / str(rank) / "stderr.log", late.format(rank) + "\n")
    write(tmp_path / "n1" / "torchrun.log", summary(3, -6).splitlines()[0] + "\n")
    assert diagnose([tmp_path]).first_fault is None


def test_an_exception_without_a_rank_is_not_that_of_a_rank_that_was_killed(tmp_path: Path) -> None:
    """The program went on after it, as far as the launcher tells."""
    found = outputs(tmp_path, end=TRACEBACK + summary(1, -9))
    assert (named(found), "SIGKILL" in fault_of(found).kind) == (1, True)


WAIT = """\
[rank{0}]: [ERROR] 2025-10-11-15:09:34 (PID:47{0}, Device:{0}, RankID:{0}) ERR00100 PTA call acl api failed.
[rank{0}]: EI0002: [PID: 47{0}] 2025-10-11-15:09:34.700.300 The wait execution of the Notify register times out. \
Reason: The Notify register has not received the Notify record from remote rank: [{1}]. base information: \
[streamID:[109], taskType[Notify Wait], tag[AllReduce_g]]. group information: [group:[g], rankSize[8], rankId[{0}]]
"""


def test_the_size_of_the_job_is_that_of_a_group_in_which_ranks_have_their_number(tmp_path: Path) -> None:
    """Ranks 0 to 3 wait for ranks of the other server, whose logs are lost; rank 2 was killed before its time-out."""
    for rank in (0, 1, 3):
        write(tmp_path / f"rank_{rank}.log", WAIT.format(rank, rank + 4))
    write(tmp_path / "rank_2.log", "step 1\n")
    found = diagnose([tmp_path])
    assert (found.first_fault, [suspect.rank for suspect in found.silent]) == (None, [4, 5, 6, 7])


def test_memory_that_a_driver_did_not_give_is_no_first_fault_if_the_rank_waited_later(tmp_path: Path) -> None:
    full = "halMemAlloc failed, drvRetCode=6"
    plogs(tmp_path, errors={1: full})
    assert answer(tmp_path)[0] == 1
    late = "2025-11-20-12:32:30.100.000 [task_exception_handler.cc:12] [4101]Task run failed, base information is "
    late += "streamID[5], taskID[8], taskType[Notify Wait], tag[AllReduce_g], remote rank:[2]"
    with next(tmp_path.glob("plog-4101*")).open("a") as log:
        log.write(f"[ERROR] HCCL(4101,python3):{late}\n")
    assert answer(tmp_path)[0] != 1


def test_an_error_is_not_certain_if_processes_that_never_joined_began_hours_after_it(tmp_path: Path) -> None:
    plogs(tmp_path / "n1", errors={1: KERNEL})
    assert diagnose([tmp_path]).certainty == "certain"
    early = "[INFO] HCCL(77,python3):2025-11-20-19:30:15.588.974 [a.cc:407] [77]HCCL_ALGO is not set\n"
    write(tmp_path / "n1" / "plog-77_20251120193005137.log", early)
    found = diagnose([tmp_path])
    assert (named(found), found.certainty, "more than one job" in "".join(found.contradicts)) == (1, "likely", True)
