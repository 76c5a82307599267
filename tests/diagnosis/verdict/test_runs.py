"""Several runs in one folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from hccl_kit.diagnosis.facts import Event, Evidence, Exited, Fault, Joined, Place, Process, Tls
from hccl_kit.diagnosis.job import diagnose
from hccl_kit.diagnosis.report.text import as_text
from hccl_kit.diagnosis.verdict.judge import judge
from tests.diagnosis.answers import fault_of, named
from tests.diagnosis.verdict.jobs import Logs, exception, never_entered, tls

DAY = 86400.0


def as_run(evidence: Evidence, number: int, start: float) -> Evidence:
    """The same logs of other processes, with another communicator, at another time."""

    def process(own: Process) -> Process:
        return own._replace(pid=(own.pid or 0) + 1000 * number)

    def name(file: str) -> str:
        return file.replace("plog-", f"plog-{number}-")

    files = tuple(
        one._replace(
            process=process(one.process),
            file=name(one.file),
            first=None if one.first is None else one.first + start,
            last=None if one.last is None else one.last + start,
        )
        for one in evidence.files
    )
    events = []
    for event in evidence.events:
        fact = event.fact
        if isinstance(fact, Joined):
            fact = fact._replace(group=f"{fact.group}{number}")
        events.append(
            event._replace(
                process=process(event.process),
                place=event.place._replace(file=name(event.place.file)),
                time=None if event.time is None else event.time + start,
                fact=fact,
            )
        )
    return Evidence(files, tuple(events))


def both(one: Evidence, other: Evidence) -> Evidence:
    return Evidence(one.files + other.files, one.events + other.events)


def test_the_last_failed_run_is_diagnosed() -> None:
    first, second = exception().evidence(), never_entered().evidence()
    for logs in (both(as_run(first, 1, 0), as_run(second, 2, DAY)), both(as_run(second, 2, DAY), as_run(first, 1, 0))):
        diagnosis = judge(logs)
        assert named(diagnosis) == 6
        assert "8 processes of other runs left out, of 1970-01-01 00:16:40 to 00:49:06" in diagnosis.notes
        assert diagnosis.contradicts == ()


def test_the_last_run_is_diagnosed_even_if_an_earlier_one_is_larger() -> None:
    larger = Logs(16).fail(9, 2000, Fault(None, "PYTHON", "KeyError", "KeyError: 1")).evidence()
    diagnosis = judge(both(as_run(larger, 1, 0), as_run(exception().evidence(), 2, DAY)))
    assert named(diagnosis) == 2
    assert diagnosis.silent == ()


def test_a_later_successful_run_does_not_hide_the_failure() -> None:
    diagnosis = judge(both(as_run(exception().evidence(), 1, 0), as_run(Logs(8).evidence(), 2, DAY)))
    assert named(diagnosis) == 2


def test_a_run_that_failed_on_one_worker_only_has_failed() -> None:
    """An earlier failure on another worker was the answer, and the last run one that had ended well."""
    earlier = Logs(4).fail(1, 2000, Fault(None, "PYTHON", "KeyError", "KeyError: 1")).evidence()
    last = Logs(8).fail(6, 2000, Fault(None, "PYTHON", "ValueError", "ValueError: 2")).evidence()
    diagnosis = judge(both(as_run(earlier, 1, 0), as_run(last, 2, DAY)))
    assert named(diagnosis) == 6


def elsewhere(evidence: Evidence) -> Evidence:
    """The same logs in other folders."""

    def moved(process: Process) -> Process:
        return process._replace(worker="x" + process.worker)

    files = (file._replace(process=moved(file.process), file="x" + file.file) for file in evidence.files)
    events = (
        event._replace(process=moved(event.process), place=event.place._replace(file="x" + event.place.file))
        for event in evidence.events
    )
    return Evidence(tuple(files), tuple(events))


def test_a_successful_job_in_another_folder_is_another_one() -> None:
    """It ran on the same cards, and is larger than the one that failed."""
    healthy = as_run(Logs(16).evidence(), 2, DAY)
    diagnosis = judge(both(as_run(exception().evidence(), 1, 0), elsewhere(healthy)))
    assert named(diagnosis) == 2
    assert diagnosis.silent == ()
    assert "16 processes of other runs left out, of 1970-01-02 00:16:40 to 00:16:50" in diagnosis.notes


def test_a_job_whose_ranks_were_ended_is_not_joined_with_a_successful_one() -> None:
    """Of the server of rank 5 only its launcher left a log; that of the other rank 5 was taken for its own."""
    logs = Logs(8, without=range(4, 8))
    for rank in range(4):
        logs.say(rank, 2000, Fault(None, "PYTHON", "SignalException", "SignalException: 15", is_symptom=True))
    ended = as_run(logs.evidence(), 1, 0)
    seen = Event(
        Process("node-1", None), Place("node-1/torchrun.log", 60), 2000, True, Exited(5, 1, None, is_first=True)
    )
    job = Evidence(ended.files, (*ended.events, seen))
    diagnosis = judge(both(job, elsewhere(as_run(Logs(8).evidence(), 2, 0))))
    assert diagnosis.first_fault is None
    assert [suspect.rank for suspect in diagnosis.silent] == [*range(4, 8)]


def text_of(evidence: Evidence) -> str:
    return as_text(judge(evidence))


def test_a_verdict_on_logs_of_two_jobs_shows_their_dates_and_is_not_certain() -> None:
    """The error is that of the old job: the last one had none, since it hangs."""
    text = text_of(both(as_run(exception().evidence(), 1, 0), as_run(Logs(8).evidence(), 2, DAY)))
    assert "first fault:  rank 2 (10.1.0.0, card 2), 1970-01-01 00:18:30: " in text
    assert "last line:    1970-01-02 00:16:50" in text
    assert "nothing contradicts" not in text
    assert (
        "likely:       the first fault is a direct cause; against it: logs of more than one job seem to lie together"
        " (1970-01-01 00:16:40 to 00:49:06 and 1970-01-02 00:16:40 to 00:16:50): pass those of one job alone"
    ) in text


@pytest.mark.parametrize("start", [DAY, 3 * 3600.0])
def test_two_jobs_without_communicators_are_told_apart_by_their_times(start: float) -> None:
    """Logs of errors alone: nothing but pids and times differ."""

    def errors(evidence: Evidence) -> Evidence:
        return evidence._replace(events=tuple(one for one in evidence.events if one.is_error))

    logs = [errors(as_run(exception().evidence(), number, start * number)) for number in (1, 2)]
    assert "more than one job" in text_of(both(*logs))
    assert "more than one job" not in text_of(logs[0])


def test_a_job_that_was_silent_for_days_is_one_job() -> None:
    fault = Fault(None, "PYTHON", "KeyError", "KeyError: 1")
    diagnosis = judge(Logs(8).fail(2, 5 * DAY, fault).evidence())
    assert (diagnosis.certainty, diagnosis.contradicts) == ("certain", ())


def test_tls_is_not_compared_with_a_job_that_did_not_fail() -> None:
    """That ran on other cards, and is larger, so that nothing else tells the two apart."""
    other = as_run(Logs(16).evidence(), 2, 0)
    moved = tuple(
        event._replace(
            process=event.process._replace(worker="x" + event.process.worker),
            fact=event.fact._replace(server="9.9.9.9") if isinstance(event.fact, Joined) else event.fact,
        )
        for event in other.events
    )
    on = tuple(event._replace(fact=Tls(True)) for event in moved if isinstance(event.fact, Joined))
    diagnosis = judge(both(as_run(tls().evidence(), 1, 0), Evidence((), (*moved, *on))))
    assert fault_of(diagnosis).suspect.device == 2
    assert fault_of(diagnosis).kind == "has TLS on, unlike 7 others"


@pytest.mark.parametrize(
    ("folder", "has_failed", "server"),
    [("replica-0", False, "replica-0"), ("replica-0", True, "10.0.0.9"), ("replica-1", False, "10.0.0.9")],
)
def test_plogs_beside_an_output_name_its_host_if_they_are_of_its_run(
    tmp_path: Path, folder: str, has_failed: bool, server: str
) -> None:
    """Plogs of another replica, in which nothing failed, gave the rank that failed their host."""
    for rank in range(2):
        stamp = f"HCCL({70 + rank},python3):2025-06-15-10:00:00.500.000 [op_base.cc:12] [{70 + rank}]"
        root = "rootinfo: host ip[10.0.0.9] port[60000] identifier[10.0.0.9%eth0_60000_0_1750000000123456]"
        text = f"[INFO] {stamp}Entry-HcclCommInitRootInfoInner:ranks[2], rank[{rank}], {root}, deviceLogicId[{rank}]\n"
        where = f"server[10.0.0.9%eth0], logicDevId[{rank}]"
        text += f"[INFO] {stamp}[HCCL_TRACE]SetupAgent rankNum[2], rank[{rank}], {where}\n"
        if has_failed and rank == 0:
            late = stamp.replace("10:00:00", "10:02:01")
            text += f"[ERROR] {late}wait socket establish timeout, role[1] rank[{rank}] timeout[120 s]\n"
        path = tmp_path / "replica-1" / f"plog-{70 + rank}_20250615100000000.log"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    output = tmp_path / folder / "train.log"
    output.parent.mkdir(exist_ok=True)
    output.write_text("[rank1]: Traceback (most recent call last):\n[rank1]: ValueError: no\n")
    first = diagnose([tmp_path]).first_fault
    assert first is not None
    assert (first.suspect.rank, first.suspect.server) == (1, server)
