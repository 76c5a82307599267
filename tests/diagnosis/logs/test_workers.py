"""Several processes that had one pid, as in a container that is started again."""

from __future__ import annotations

from pathlib import Path

import pytest

from hccl_kit.diagnosis.facts import LogFile, Process
from hccl_kit.diagnosis.job import diagnose
from hccl_kit.diagnosis.logs import workers
from hccl_kit.diagnosis.logs.reading import SHARED_PID, read
from hccl_kit.diagnosis.logs.workers import Reused
from tests.diagnosis.answers import named

OWN = Process("worker-0", 77)


def file(folder: str, stamp: str, size: int = 100, pid: int = 77) -> LogFile:
    """A log that was begun on 2025-06-15 at this time."""
    kind = "device" if "device" in folder else "plog"
    name = f"{kind}-{pid}_20250615{stamp}000.log"
    return LogFile(OWN._replace(pid=pid), f"worker-0/{folder}/{name}", size, None, None)


def numbers(*files: LogFile) -> list[int]:
    reused = Reused(files)
    return [reused.number(one.process.worker, one.process.pid, one.file, None) for one in files]


def test_a_second_file_in_a_folder_is_of_another_process() -> None:
    first = [file("run/plog", "100000"), file("debug/plog", "100000"), file("run/device-0", "100001")]
    second = [file("run/plog", "170000"), file("debug/plog", "165955"), file("run/device-0", "170001")]
    assert numbers(*first, *second) == [0, 0, 0, 1, 1, 1]
    assert numbers(*second, *first) == [1, 1, 1, 0, 0, 0]


def test_a_debug_log_that_is_begun_days_later_is_of_the_same_process() -> None:
    assert numbers(file("run/plog", "100000"), file("debug/plog", "230000")) == [0, 0]


def test_the_debug_log_that_is_begun_first_belongs_to_the_run_log_after_it() -> None:
    """The earlier process had no error, and so no debug log."""
    assert numbers(file("run/plog", "100000"), file("debug/plog", "165952"), file("run/plog", "170000")) == [0, 1, 1]


def test_a_process_that_fills_its_log_begins_another_one() -> None:
    assert numbers(file("run/plog", "100000", workers.FULL), file("run/plog", "170000")) == [0, 0]


def test_other_pids_and_names_without_a_time_are_left_alone() -> None:
    assert numbers(file("run/plog", "100000"), file("run/plog", "170000", pid=78)) == [0, 0]
    assert numbers(file("run/plog", "996100"), file("run/plog", "170000")) == [0, 0]
    same = file("run/plog", "100000")
    assert numbers(same, same._replace(file=f"{same.file}.gz")) == [0, 0]


@pytest.mark.parametrize(("time", "number"), [(None, 1), (0.0, 0), (1749981600.0, 0), (1750007000.0, 1)])
def test_a_line_elsewhere_is_of_the_process_that_ran_at_its_time(time: float | None, number: int) -> None:
    reused = Reused([file("run/plog", "100000"), file("run/plog", "170000")])
    assert reused.number("worker-0", 77, "worker-0/rank_3.log", time) == number
    assert reused.number("worker-0", 78, "worker-0/rank_3.log", time) == 0


def _line(pid: int, time: str, text: str) -> str:
    level = "INFO" if text.startswith("Entry") else "ERROR"
    return f"[{level}] HCCL({pid},python3):2025-06-15-{time}.500.000 [some_file.cc:12] [{pid}]{text}\n"


def test_an_earlier_run_of_the_same_pids_is_not_blamed(tmp_path: Path) -> None:
    """The port of rank 0 was taken in the morning; in the evening rank 1 was the one that failed."""
    for hour, faulty, group in (("10", 0, "1750000000123456"), ("17", 1, "1750007000123456")):
        for rank in range(2):
            root = f"rootinfo: host ip[10.0.0.1] port[60000] identifier[10.0.0.1%eth0_60000_0_{group}]"
            entry = f"Entry-HcclCommInitRootInfoInner:ranks[2], rank[{rank}], {root}, deviceLogicId[{rank}]"
            failed = f"socket type[1], listen on ip[192.168.100.{rank}] and specific port[16666] fail."
            waited = f"wait socket establish timeout, role[1] rank[{rank}] timeout[120 s]"
            for kind, text in (("run", entry), ("debug", failed if rank == faulty else waited)):
                path = tmp_path / f"worker-0/{kind}/plog/plog-{77 + rank}_20250615{hour}0000000.log"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(_line(77 + rank, f"{hour}:00:0{2 if kind == 'run' else 5}", text))
    found = diagnose([tmp_path])
    assert named(found) == 1
    assert found.notes == ("2 processes of other runs left out, of 2025-06-15 10:00:02 to 10:00:05",)


def spanning(one: LogFile, first: float, last: float) -> LogFile:
    return one._replace(first=first, last=last)


def test_logs_of_two_servers_in_one_folder_are_not_merged() -> None:
    """The debug log of the first server was begun after the run log of the second one."""
    runs = [spanning(file("run/plog", "100000"), 0, 500), spanning(file("run/plog", "100001"), 1, 500)]
    late = [file("debug/plog", "100210"), file("debug/plog", "100211")]
    assert numbers(*runs, *late) == [0, 1, 2, 3]
    assert Reused([*runs, *late]).unpaired == {one.file for one in (*runs, *late)}
    same = [file("debug/plog", "100000"), file("debug/plog", "100001")]
    assert numbers(*runs, *same) == [0, 1, 0, 1]
    assert not Reused([*runs, *same]).unpaired
    other = [file("run/plog", "100000", pid=78), file("debug/plog", "100205", pid=78)]
    assert numbers(*runs, *late, *other)[4:] == [0, 0]
    again = [
        file("run/plog", "100000", pid=79),
        file("run/plog", "100205", pid=79),
        file("debug/plog", "100204", pid=79),
    ]
    assert numbers(*runs, *late, *again)[4:] == [0, 2, 1]


def test_logs_that_cannot_be_paired_are_noted_and_prove_nothing(tmp_path: Path) -> None:
    def record(level: str, second: int, text: str) -> str:
        return (
            f"[{level}] HCCL(77,python3):2025-06-15-10:{second // 60:02}:{second % 60:02}.000.000 [a.cc:1] [77]{text}\n"
        )

    for folder, stamp, seconds in (("run", "100000", 0), ("run", "100001", 1), ("debug", "100210", 130)):
        path = tmp_path / folder / "plog" / f"plog-77_20250615{stamp}000.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(record("INFO", seconds, "begun") + record("INFO", seconds + 300, "ended"))
    evidence = read([tmp_path])
    assert {file.cut for file in evidence.files} == {SHARED_PID}
    assert len({file.process for file in evidence.files}) == 3
    assert any("put those of each server into a folder of its own" in note for note in evidence.notes)
