"""Verdicts from the records of the ranks: one fault of each kind, and cases that cannot be decided."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.diagnosis import facts
from hccl_kit.diagnosis.facts import Event, Evidence, Fact, LogFile, Place, Process
from hccl_kit.diagnosis.job import diagnose
from hccl_kit.diagnosis.report.text import as_text
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis
from hccl_kit.diagnosis.verdict.judge import judge
from hccl_kit.runtime.flight_recorder import recorder
from hccl_kit.runtime.worker_env import LOG_DIR
from tests.diagnosis.answers import fault_of, told

START = 1_000_000.0
OPERATORS = (("all_reduce", 4096), ("all_reduce", 8))
STEPS = 6
"""Steps that every rank has completed; the job is in the next one, STEPS."""


@dataclass
class Planted:
    """A rank that has completed STEPS steps of two collectives, one per second, and is in the next."""

    rank: int
    host: str = "n1"
    clock: float = 0.0
    entries: list[tuple[str, int, int]] = field(
        default_factory=lambda: [(name, size, step) for step in range(STEPS) for name, size in OPERATORS]
    )
    inside: tuple[str, int, int] | None = ("all_reduce", 4096, STEPS)
    doing: str | None = None
    silent_s: float = 0.0
    end: tuple[str, str] | None = None
    end_s: float = 0.0
    code: int | None = None

    def events(self, now: float, size: int) -> list[Event]:
        place = Place(f"run/facts_{self.rank}.jsonl", 1)
        found: list[tuple[float, Fact, Place]] = [
            (START, facts.Joined(None, self.rank, size, self.host), place),
            (now - self.silent_s, facts.Alive(self.rank, STEPS, self.doing, now - 9), place),
        ]
        number = 0
        for number, (name, count, step) in enumerate(self.entries, 1):
            entered = facts.Collective(self.rank, number, name, count, left=False, step=step)
            found += [(START + number, entered, place), (START + number + 0.1, entered._replace(left=True), place)]
        if self.inside:
            name, count, step = self.inside
            found.append((now - 9, facts.Collective(self.rank, number + 1, name, count, left=False, step=step), place))
        if self.end:
            found.append((now + self.end_s, facts.ProgramEnded(self.rank, *self.end), place))
        if self.code is not None:
            code = (None, self.code - 128) if self.code > 128 else (self.code, None)
            found.append((now, facts.Exited(self.rank, *code), Place("run/launcher_0", 1)))
        process = Process("run", None, self.rank)
        return [Event(process, where, time + self.clock, False, fact) for time, fact, where in found]


NOW = START + 100


def ranks(size: int) -> list[Planted]:
    return [Planted(rank) for rank in range(size)]


def judged(planted: list[Planted], *more: Fact, size: int = 0) -> Diagnosis:
    events = [event for one in planted for event in one.events(NOW, size or len(planted))]
    events += [Event(Process("run", None), Place("run/launcher_0", 2), NOW + 1, True, fact) for fact in more]
    return judge(Evidence((), tuple(events)))


LATE = "never entered all_reduce 13, where the others wait: it "
VICTIM = ("ConnectionResetError", "a peer has closed the connection")
CHANGES: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "kill": ({"code": 137, "inside": None, "silent_s": 0.5}, "was killed by SIGKILL", {"end": VICTIM, "code": 1}),
    "kill inside": ({"code": 137, "silent_s": 0.5}, "was killed by SIGKILL", {"end": VICTIM, "code": 1}),
    "stop": ({"inside": None, "silent_s": 9.0}, f"unresponsive since step {STEPS}", {}),
    "stop inside": ({"silent_s": 9.0}, f"unresponsive since step {STEPS}", {}),
    "starve": (
        {"inside": None, "doing": "data"},
        f"{LATE}waits for data since step {STEPS}",
        {},
    ),
    "delay": (
        {"inside": None},
        f"{LATE}is busy with its own code since step {STEPS}",
        {},
    ),
    "operator": (
        {"inside": ("all_gather", 4096, STEPS)},
        "entered all_gather of 4096 bytes where the others entered all_reduce of 4096 bytes, in step 6",
        {},
    ),
    "size": ({"inside": ("all_reduce", 4100, STEPS)}, "entered all_reduce of 4100 bytes where", {}),
    "skip": ({"inside": ("all_reduce", 8, STEPS)}, "entered all_reduce of 8 bytes where", {}),
    "raise": (
        {"inside": None, "end": ("ValueError", "no image"), "end_s": -0.1},
        "failed with ValueError",
        {"end": VICTIM},
    ),
    "exit": ({"inside": None, "code": 3}, "ended with exit code 3 in step 6", {"end": VICTIM, "code": 1}),
    "early": ({"inside": None, "end": ("done", ""), "code": 0}, "finished after step 6", {"end": VICTIM}),
    "full": (
        {"inside": None, "end": ("KitError", "cannot write x: [Errno 28] No space left on device")},
        "found the disk full, in step 6",
        {"end": VICTIM, "end_s": -1.0},
    ),
}


@pytest.mark.parametrize("kind", CHANGES)
@given(st.data())
def test_a_planted_fault_is_named(kind: str, data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 12))
    rank = data.draw(st.integers(0, size - 1))
    change, phrase, to_others = CHANGES[kind]
    job = [replace(one, **(change if one.rank == rank else to_others)) for one in ranks(size)]
    number, said = told(judged(job))
    assert number == rank
    assert said.startswith(phrase)


@pytest.mark.parametrize("kind", CHANGES)
@given(st.data())
def test_wrong_clocks_do_not_change_the_verdict(kind: str, data: st.DataObject) -> None:
    """Each rank is on its own host; the clocks differ by up to half an hour."""
    size = data.draw(st.integers(2, 6))
    rank = data.draw(st.integers(0, size - 1))
    change, phrase, to_others = CHANGES[kind]
    clocks = data.draw(st.lists(st.floats(-1800, 1800), min_size=size, max_size=size))
    job = [
        replace(one, host=f"n{one.rank}", clock=clocks[one.rank], **(change if one.rank == rank else to_others))
        for one in ranks(size)
    ]
    found = judged(job)
    assert (found.first_fault is None) or told(found)[0] == rank
    assert told(found)[1].startswith(phrase)
    for one in job:
        expected = clocks[one.rank] - clocks[0]
        if abs(expected) > 1.01:
            assert found.clock_offsets[one.host] == pytest.approx(expected, abs=0.01)


@given(st.data())
def test_if_the_records_of_a_rank_are_missing_no_other_is_blamed(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(CHANGES)))
    size = data.draw(st.integers(2, 8))
    rank, gone = (data.draw(st.integers(0, size - 1)) for _ in range(2))
    change, _, to_others = CHANGES[kind]
    job = [replace(one, **(change if one.rank == rank else to_others)) for one in ranks(size)]
    found = judged([one for one in job if one.rank != gone], size=size)
    assert found.first_fault is None or told(found)[0] in (rank, gone)
    assert [one.rank for one in found.silent] == [gone]


def test_if_most_records_are_missing_none_of_these_ranks_is_blamed() -> None:
    """A folder with the dump of one rank of a thousand: 999 others are no answer."""
    found = judged([ranks(8)[3]], size=8)
    assert found.first_fault is None
    assert "only of rank 3" in found.reason
    assert len(found.suspects) == 7
    assert told(judged(ranks(8)[:4], size=8))[1].startswith("left no record")


def cut(planted: list[Planted], number: int) -> Diagnosis:
    """The job if the record of a rank was cut, so that it lacks the last collectives of the rank."""
    job = [replace(one, inside=None, entries=one.entries[:-2]) if one.rank == number else one for one in planted]
    file = LogFile(Process("run", None, number), f"run/facts_{number}.jsonl", 1, None, None, "no end")
    events = [event for one in job for event in one.events(NOW, len(job))]
    return judge(Evidence((file,), tuple(events)))


def test_a_rank_whose_record_is_cut_may_have_entered_more() -> None:
    job = ranks(5)
    job[2] = replace(job[2], inside=("broadcast", 4096, STEPS))
    assert told(cut(job, 4))[0] == 2
    assert cut(ranks(5), 4).first_fault is None
    victim = [replace(one, end=VICTIM) for one in ranks(3)]
    assert cut(victim, 1).first_fault is None
    failed = [replace(one, end=("RuntimeError", "no")) if one.rank == 1 else one for one in ranks(3)]
    assert cut(failed, 1).first_fault is None


def test_a_rank_whose_record_is_cut_may_have_failed_or_ended() -> None:
    """What it has is used, but it and what follows from the others alone are not certain."""
    killed = [replace(one, **CHANGES["kill"][0]) if one.rank == 1 else one for one in ranks(4)]
    assert (told(cut(killed, 2))[0], cut(killed, 2).certainty) == (1, "likely")
    late = [replace(one, inside=None) if one.rank == 1 else one for one in ranks(4)]
    assert (told(cut(late, 2))[0], cut(late, 2).certainty) == (1, "likely")
    stopped = [replace(one, silent_s=9.0) if one.rank == 1 else one for one in ranks(4)]
    assert (told(cut(stopped, 2))[0], cut(stopped, 2).certainty) == (1, "likely")
    assert cut(stopped, 1).first_fault is None  # it may have ended
    left = [replace(one, end=("done", ""), inside=None, end_s=-20.0) if one.rank == 1 else one for one in ranks(3)]
    lost = [
        replace(one, end=("RuntimeError", "gloo: Connection closed by peer")) if one.rank == 0 else one for one in left
    ]
    assert cut([replace(one, inside=None, entries=[]) for one in lost], 2).first_fault is None


def test_a_record_without_its_first_line_is_a_record() -> None:
    events = [event for one in ranks(4) for event in one.events(NOW, 4)]
    events = [event for event in events if not (isinstance(event.fact, facts.Joined) and event.fact.rank == 2)]
    file = LogFile(Process("run", None, 2), "run/facts_2.jsonl", 1, None, None, "lines of it are missing")
    found = judge(Evidence((file,), tuple(events)))
    assert (found.first_fault, found.silent) == (None, ())


def test_a_failure_is_not_certain_if_another_rank_may_have_failed_before() -> None:
    job = [replace(one, **CHANGES["kill"][0]) if one.rank == 1 else one for one in ranks(4)]
    assert judged(job).certainty == "certain"
    assert judged(job[:3], size=4).certainty == "likely"
    assert told(judged(job[:3], size=4))[0] == 1


@pytest.mark.parametrize("differing", [1, 2, 3])
def test_names_a_rank_that_reports_another_configuration(differing: int) -> None:
    message = f"rank 1 on n1 has another configuration than rank 0 on n1 ({differing} of 4 ranks differ)"
    found = judged([replace(one, inside=None, end=("JointError", message)) for one in ranks(4)])
    odd = 0 if differing == 3 else 1
    assert told(found)[0] == odd
    assert told(found)[1].startswith(f"has another configuration than rank {1 - odd}")
    assert found.certainty == ("certain" if differing == 1 else "likely")


def of_two_hosts(**second: Any) -> list[Planted]:
    return [replace(one, host="n1") if one.rank < 2 else replace(one, host="n2", **second) for one in ranks(4)]


def test_names_a_server_without_power() -> None:
    found = judged(of_two_hosts(silent_s=9.0), facts.ServerLost("10.0.0.2", (2, 3)))
    assert told(found) == (2, "was lost with its server 10.0.0.2, in step 6")
    assert (fault_of(found).suspect.server, found.where) == ("n2", "host")
    assert found.certainty == "certain"


def test_a_rank_ended_by_its_script_is_not_the_cause_of_a_lost_server() -> None:
    job = of_two_hosts(silent_s=9.0)
    job[2] = replace(job[2], code=128 + signal.SIGTERM, end_s=1.0)
    found = judged(job, facts.ServerLost("10.0.0.2", (2, 3)))
    assert told(found) == (2, "was lost with its server 10.0.0.2, in step 6")


def test_without_a_lost_server_sigterm_comes_from_outside() -> None:
    job = of_two_hosts()
    job[2] = replace(job[2], code=128 + signal.SIGTERM, end_s=1.0)
    assert told(judged(job)) == (2, "was killed by SIGTERM in step 6")


def test_names_a_server_without_records() -> None:
    found = judged(of_two_hosts()[:2], facts.ServerLost("10.0.0.2", (2, 3)), size=4)
    assert told(found)[0] == 2
    assert [one.rank for one in found.suspects] == [2, 3]


def test_two_servers_that_lost_each_other_are_both_suspects() -> None:
    """Both are alive: it is unknown which one has lost its network."""
    found = judged(of_two_hosts(), facts.ServerLost("10.0.0.2", (2, 3)), facts.ServerLost("10.0.0.1", (0, 1)))
    assert found.first_fault is None


def test_one_stopped_rank_is_not_a_lost_server() -> None:
    job = of_two_hosts()
    job[3] = replace(job[3], silent_s=9.0, inside=None)
    assert told(judged(job, facts.JobEnding("hang", 3, 124))) == (
        3,
        "unresponsive since step 6: its process is stopped, frozen, or hangs in native code",
    )


def test_a_rank_that_was_stopped_is_the_cause_although_it_came_to_life_when_the_job_was_ended() -> None:
    job = ranks(4)
    job[2] = replace(job[2], end=VICTIM, end_s=2.0, inside=None)
    assert told(judged(job, facts.JobEnding("hang", 0, 124), facts.ProcessStopped(3))) == (
        3,
        "unresponsive since step 6: its process is stopped, as by SIGSTOP or a debugger",
    )
    assert told(judged(job, facts.JobEnding("rank", 2, 1), facts.ProcessStopped(3)))[0] == 2


def test_two_halves_that_diverge_without_history_are_both_suspects() -> None:
    """In the first collective of a job, it is unknown which half is right."""
    job = [replace(one, entries=[], inside=("all_reduce", 8 + one.rank, 0)) for one in ranks(2)]
    found = judged(job)
    assert found.certainty == "likely"
    assert [one.rank for one in found.suspects] == [0, 1]


@pytest.mark.parametrize("odd", [0, 1])
@pytest.mark.parametrize(
    ("past", "entered"),
    [
        pytest.param([("all_reduce", 16, STEPS - 1)], 12, id="neither two nor one like the last were before"),
        pytest.param([("all_reduce", 16, STEPS - 1), ("all_reduce", 4096, STEPS)], 16, id="one like the last was"),
    ],
)
def test_of_two_ranks_the_one_that_departs_from_the_history_is_named(
    odd: int, past: list[tuple[str, int, int]], entered: int
) -> None:
    """The previous two collectives, an evaluation and a step, have never followed each other before."""
    step = past[-1][2]
    job = [replace(one, entries=[*one.entries, *past], inside=("all_reduce", 8, step)) for one in ranks(2)]
    job[odd].inside = ("all_reduce", entered, step)
    found = judged(job)
    kind = f"entered all_reduce of {entered} bytes where the others entered all_reduce of 8 bytes, in step {step}"
    assert told(found) == (odd, kind)
    assert (found.certainty, [one.rank for one in found.suspects]) == ("certain", [odd])


def test_two_ranks_with_new_collectives_are_both_suspects() -> None:
    job = [replace(one, inside=("all_reduce", 12 + one.rank, STEPS)) for one in ranks(2)]
    found = judged(job)
    assert (found.certainty, [one.rank for one in found.suspects]) == ("likely", [0, 1])


def test_all_ranks_in_the_same_collective_is_undecided() -> None:
    found = judged(ranks(4))
    assert (found.certainty, found.first_fault) == ("cannot_tell", None)
    assert "no rank differs" in found.reason


def test_if_all_ranks_ended_normally_there_is_no_fault() -> None:
    job = [replace(one, inside=None, end=("done", "")) for one in ranks(4)]
    found = judged(job)
    assert (found.certainty, found.suspects) == ("cannot_tell", ())


def test_ranks_ended_by_the_launcher_are_not_blamed() -> None:
    job = [replace(one, inside=None) if one.rank == 1 else one for one in ranks(3)]
    exits = [facts.Exited(rank, None, 9, by_launcher=True) for rank in range(3)]
    assert told(judged(job, facts.JobEnding("hang", 0, 124), *exits))[0] == 1


def test_names_a_rank_that_ended_normally_before_all_others() -> None:
    """With torch, a rank has left a collective that failed, and a rank that ended normally leaves no recording."""
    lost = ("RuntimeError", "gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:8386")
    for done, wanted in ((-1.0, (2, "finished after step 6, while the others continued")), (1.0, None)):
        planted = [replace(one, inside=None, end=lost, code=1, end_s=0.0) for one in ranks(4)]
        planted[2] = replace(planted[2], end=("done", ""), code=0, end_s=done)
        found = told(judged(planted))
        assert found == wanted if wanted else found[0] != 2


def test_the_other_ranks_are_the_cascade() -> None:
    job = [replace(one, inside=None, doing="data") if one.rank == 1 else one for one in ranks(3)]
    found = judged(job)
    assert [(wait.suspect.rank, wait.waits_for and wait.waits_for.rank) for wait in found.cascade] == [(0, 1), (2, 1)]


def test_only_the_last_start_of_a_restarted_run_counts() -> None:
    first = [event for one in ranks(2) for event in replace(one, code=137).events(NOW, 2)]
    job = [replace(one, inside=None, doing="data") if one.rank == 1 else one for one in ranks(2)]
    second = [
        event._replace(place=event.place._replace(file=event.place.file.replace("run/", "run/restart_1/")))
        for one in job
        for event in one.events(NOW + 500, 2)
    ]
    found = judge(Evidence((), (*first, *second)))
    assert told(found)[1].endswith("it waits for data since step 6")


def test_of_two_runs_in_one_folder_the_last_one_counts(tmp_path: Path) -> None:
    """Their records are of the same ranks; the older run failed, and was started again before."""
    now = int(time.time())
    for folder, began in (("a/restart_1", now - 3 * 86400), ("b", now)):
        (tmp_path / folder).mkdir(parents=True)
        for rank in range(2):
            path = tmp_path / folder / f"facts_{rank}.jsonl"
            recorder({LOG_DIR: str(path.parent), "RANK": str(rank), "RANK_SIZE": "2"})
            text = path.read_text().replace('"start": ', f'"start": {began}, "was": ', 1)
            path.write_text(text.replace('"alive": ', f'"alive": {began + 60}, "was": ', 1))
    (tmp_path / "a/restart_1/launcher_0").write_text(f"{now - 3 * 86400} exited 0 1 5 n1\n")
    (tmp_path / "b/launcher_0").write_text(f"{now} exited 1 137 5 n1\n{now} ending rank 1 137\n")
    text = as_text(diagnose([tmp_path]))
    assert ": was killed by SIGKILL" in text
    assert "nothing contradicts" in text
    assert "of other runs left out, of " in text
    assert ": was killed by SIGKILL" in (alone := as_text(diagnose([tmp_path / "b"])))
    assert "other runs" not in alone
