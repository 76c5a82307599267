"""One test for each cause, and for the conditions that prevent a guess."""

from __future__ import annotations

from typing import Literal

import pytest

import hccl_kit
from hccl_kit.diagnosis.facts import (
    ArgumentMismatch,
    Card,
    Connected,
    ErrorCqe,
    Event,
    Evidence,
    Exited,
    Fact,
    Fault,
    Joined,
    JoinFailed,
    ListenFailed,
    Located,
    LogFile,
    NeverConnected,
    OperatorTimedOut,
    Place,
    Process,
    Progress,
    RootSilent,
    RootUnreachable,
    Setting,
    Tls,
    Unreachable,
    VersionMismatch,
)
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis
from hccl_kit.diagnosis.verdict.judge import judge
from tests.diagnosis.answers import fault_of, named
from tests.diagnosis.verdict.jobs import (
    GAVE_UP,
    GROUP,
    JOINED,
    START,
    STUCK,
    Logs,
    absent,
    address,
    another_algorithm,
    behind,
    cut_off,
    exception,
    heard,
    host,
    late,
    lost,
    never_entered,
    packets_lost,
    port_taken,
    stuck,
    unlinked,
)

ERROR = Fault(None, "PYTHON", "ValueError", "ValueError: no")


def of(logs: Logs) -> Diagnosis:
    return judge(logs.evidence())


def test_names_a_rank_whose_port_is_in_use() -> None:
    diagnosis = of(port_taken())
    assert (fault_of(diagnosis).code, fault_of(diagnosis).kind) == (
        "EI0020",
        "could not listen on port 16666, it is taken",
    )
    assert diagnosis.certainty == "certain"
    assert (wait := diagnosis.cascade[1]).waits_for is not None
    assert (wait.suspect.rank, wait.waits_for.rank, wait.code) == (4, 5, "EI0006")
    assert "16666" in diagnosis.fix


def test_names_a_rank_whose_host_port_is_in_use() -> None:
    logs = Logs(4, joined=False).fail(2, START + 1, ListenFailed("host", host(2), 60002))
    logs.fail(2, START + 2, JoinFailed(None, 2, 4)).fail(0, GAVE_UP, NeverConnected((2,)))
    diagnosis = of(logs)
    assert named(diagnosis) == 2
    assert "HCCL_IF_BASE_PORT" in diagnosis.fix


def test_a_fault_of_a_rank_that_gave_up_before_is_a_consequence() -> None:
    logs = never_entered().fail(4, GAVE_UP + 3, ERROR)
    assert named(of(logs)) == 6


def test_two_faults_with_unsynchronised_clocks_are_undecided() -> None:
    logs = Logs(8, joined=False).fail(1, 1500, ERROR).fail(5, 1400, ERROR)
    diagnosis = of(logs)
    assert diagnosis.certainty == "cannot_tell"
    assert {one.rank for one in diagnosis.suspects} == {1, 5}
    assert "the logs do not show which was first" in diagnosis.reason
    assert named(of(Logs(8).fail(1, 1500, ERROR).fail(5, 1400, ERROR))) == 5


def test_two_faults_with_logs_in_one_folder_are_undecided() -> None:
    evidence = Logs(8, joined=False).fail(1, 1500, ERROR).fail(5, 1400, ERROR).evidence()
    events = tuple(event._replace(process=event.process._replace(worker="logs")) for event in evidence.events)
    assert judge(evidence._replace(files=(), events=events)).certainty == "cannot_tell"


def test_the_program_is_to_blame_for_its_own_exception_and_a_card_for_its_own_fault() -> None:
    broken = Fault(None, "RUNTIME", "the memory of the card has errors", "HBM multi-bit ECC", of_card=True)
    of_disk = Fault(None, "PYTHON", "OSError", "OSError: [Errno 5] Input/output error")
    for fault, blame in ((ERROR, "program"), (broken, "card"), (of_disk, None)):
        assert of(Logs(4).fail(2, 1500, fault)).blame == blame
    assert of(port_taken()).blame is None
    undecided = of(Logs(8, joined=False).fail(1, 1500, ERROR).fail(5, 1400, ERROR))
    assert (undecided.first_fault, undecided.blame) == (None, "program")
    different = ERROR._replace(text="ValueError: another")
    assert of(Logs(8, joined=False).fail(1, 1500, ERROR).fail(5, 1400, different)).blame is None


def test_if_most_logs_are_missing_an_error_is_the_answer_only_if_others_wait() -> None:
    logs = Logs(8, without=range(2, 8)).fail(0, JOINED + 100, ERROR)
    diagnosis = of(logs)
    assert diagnosis.reason.startswith("rank 0 (10.1.0.0, card 0) has failed by itself (ValueError: no), but ")
    assert diagnosis.fix.startswith("collect the logs of ranks 2,")
    diagnosis = of(logs.fail(1, STUCK, stuck(8, 1)))
    assert (named(diagnosis), diagnosis.certainty) == (0, "likely")
    assert diagnosis.contradicts[0].startswith("logs of ranks 2, 3")


def test_a_silent_rank_that_others_wait_for_may_have_failed_before() -> None:
    logs = Logs(8, without=(5,)).fail(2, 1500, ERROR)
    for rank in (0, 1, 3, 4, 6, 7):
        logs.fail(rank, STUCK, stuck(8, rank, 5))
    assert of(logs).reason.endswith("but rank 5 may have failed before")


def test_a_card_without_a_log_that_heartbeats_call_lost_may_have_failed_before() -> None:
    """No line tells which rank that card has: the logs of its server are lost."""
    logs = Logs(8, without=range(4)).fail(5, JOINED + 160, ERROR)
    for rank in (4, 5, 6, 7):
        logs.say(rank, JOINED + 140, heard(2)).say(rank, JOINED + 140, heard(5))
    assert of(logs).certainty == "cannot_tell"
    assert of(logs).reason.endswith("but card 2 of 10.1.0.0 may have failed before")


def launched(logs: Logs, *exits: Exited) -> Diagnosis:
    """The logs with the events of a launcher."""
    evidence = logs.evidence()
    own = Process("node-0", None)
    events = [Event(own, Place("node-0/launcher.log", n), 1600.0 + n, True, one) for n, one in enumerate(exits, 1)]
    files = (*evidence.files, LogFile(own, "node-0/launcher.log", 1, 1600.0, 1700.0))
    return judge(evidence._replace(files=files, events=(*evidence.events, *events)))


def test_errors_without_a_time_are_ordered_by_the_ends_that_launchers_saw() -> None:
    """The clock of the second server is 1,000 s ahead; a launcher looks every few seconds, so near ends are equal."""
    for seconds, first in ((60, 5), (-60, 1), (10, None)):
        logs = Logs(8, joined=False)
        for rank in range(8):
            logs.say(rank, JOINED + 1000 * (rank >= 4), logs.joining(rank, complete=True))
        evidence = logs.fail(1, None, ERROR).fail(5, None, ERROR._replace(text="ValueError: another")).evidence()
        ends = [
            Event(Process(node, None), Place(f"{node}/launcher.log", 1), time, True, Exited(rank, 1, None))
            for node, rank, time in (("node-0", 1, 1500.0 + seconds), ("node-1", 5, 2500.0))
        ]
        files = [LogFile(event.process, event.place.file, 1, event.time, event.time) for event in ends]
        both = evidence._replace(files=(*evidence.files, *files), events=(*evidence.events, *ends))
        assert named(judge(both)) == first, seconds


def test_of_a_process_without_a_rank_the_waits_tell_whether_it_was_first() -> None:
    """The root has heard of all but rank 3, which fails; then an error in a log that names no rank does not count."""
    for waits in (True, False):
        logs = absent() if waits else Logs(8, joined=False, without=[3])
        evidence = logs.say(3, START, Joined(None, 3)).fail(3, START + 1, ERROR).evidence()
        nameless = Process("node-0", 999)
        name = "node-0/debug/plog/plog-999_20260101.log"
        event = Event(nameless, Place(name, 1), START + 1, True, ERROR._replace(text="ValueError: another"))
        files = (*evidence.files, LogFile(nameless, name, 1, START + 1, START + 1))
        assert named(judge(evidence._replace(files=files, events=(*evidence.events, event)))) == (3 if waits else None)


def test_ranks_without_a_log_that_a_launcher_saw_end_later_did_not_fail_before() -> None:
    for later, first in ((range(1, 4), 0), ((), None)):
        logs = Logs(4, without=range(1, 4)).fail(0, JOINED + 100, ERROR)
        exits = [Exited(0, 1, None, is_first=True), *(Exited(rank, None, 15) for rank in later)]
        assert named(launched(logs, *exits)) == first


def test_names_a_rank_whose_launcher_reports_a_kill() -> None:
    diagnosis = launched(Logs(4), Exited(3, None, 9), Exited(1, 1, None))
    assert named(diagnosis) == 3
    assert fault_of(diagnosis).kind == "was killed by SIGKILL (perhaps by the out-of-memory killer)"


def test_the_first_exit_may_be_that_of_a_victim() -> None:
    assert named(launched(never_entered(), Exited(4, 1, None))) == 6
    assert launched(Logs(4), Exited(1, None, 15)).first_fault is None
    assert launched(Logs(4), Exited(1, 1, None, by_launcher=True)).first_fault is None


UNKNOWN = Fault(None, "DRV", "an error of DRV", "ioctl failed, ret=-1", is_unknown=True)


def test_an_error_after_which_a_rank_joined_or_trained_is_not_the_cause() -> None:
    """Some installations log errors at every start; a known one that was survived is none either."""
    for survived in (UNKNOWN, Fault(None, "RUNTIME", "out of device memory", "out of memory")):
        logs = never_entered()
        logs.fail(2, START + 1, survived)
        assert named(of(logs)) == 6
    logs = never_entered().fail(2, JOINED + 20, UNKNOWN).say(2, None, Progress(7, JOINED + 30))
    assert named(of(logs)) == 6


def test_an_unknown_error_counts_only_at_the_end_of_its_process() -> None:
    logs = Logs(4, joined=False)
    for rank in (0, 1, 3):
        logs.fail(rank, GAVE_UP, RootSilent())
    assert named(of(logs.fail(2, START + 1, UNKNOWN))) == 2
    assert of(logs.say(2, START + 90, Setting("HCCL_ALGO", "x"))).first_fault is None


def test_a_known_error_goes_before_one_that_no_row_knows() -> None:
    logs = Logs(4).fail(1, 1400, UNKNOWN).fail(2, 1500, ERROR)
    assert named(of(logs)) == 2


def test_names_the_rank_with_another_release() -> None:
    logs = Logs(4)
    for rank in range(4):
        own, other = ("8.0", "8.1") if rank == 2 else ("8.1", "8.0")
        logs.fail(rank, JOINED + 1, VersionMismatch(own, other))
    assert named(of(logs)) == 2
    one_end = of(Logs(2).fail(0, JOINED, VersionMismatch("1", "2")))
    assert (fault_of(one_end).kind, one_end.where) == ("run different releases of HCCL: 1 and 2", "all")


def test_ranks_without_a_log_have_the_release_that_all_others_report_of_their_peers() -> None:
    logs = Logs(12, without=range(4))
    for rank in range(4, 12):
        logs.fail(rank, JOINED + 1, VersionMismatch("9.0.0", "8.5.0"))
    diagnosis = of(logs)
    assert fault_of(diagnosis).kind == "runs HCCL 8.5.0, unlike 8 others with 9.0.0, or only some of them do"
    assert [suspect.rank for suspect in diagnosis.suspects] == [0, 1, 2, 3]


def test_names_the_rank_with_other_arguments() -> None:
    logs = Logs(4)
    for rank in (0, 1, 3):
        logs.fail(rank, JOINED + 1, ArgumentMismatch("count", "8", "4", 2))
        logs.fail(2, JOINED + 1, ArgumentMismatch("count", "4", "8", rank))
    diagnosis = of(logs)
    assert named(diagnosis) == 2
    assert "count" in diagnosis.fix + diagnosis.supports[0]


def test_two_ranks_with_equal_arguments_are_not_the_ones_that_differ() -> None:
    """The line of the third rank, which differs from both, is lost."""
    logs = Logs(4)
    for rank in (0, 1):
        logs.fail(rank, JOINED + 1, ArgumentMismatch("count", "8", "4"))
    assert of(logs).certainty == "cannot_tell"
    both = of(
        Logs(2)
        .fail(0, JOINED, ArgumentMismatch("count", "8", "4"))
        .fail(1, JOINED, ArgumentMismatch("count", "4", "8"))
    )
    assert [one.rank for one in both.suspects] == [0, 1]
    assert both.certainty == "likely"


def test_of_several_arguments_that_differ_the_same_rank_has_all_of_them() -> None:
    logs = Logs(4)
    for rank in (0, 1, 3):
        for field, usual, odd in (("count", "8", "4"), ("dataType", "float16", "float32")):
            logs.fail(rank, JOINED + 1, ArgumentMismatch(field, usual, odd))
            logs.fail(2, JOINED + 1, ArgumentMismatch(field, odd, usual))
    assert named(of(logs)) == 2


def test_the_rank_whose_value_is_one_side_of_every_difference_is_named() -> None:
    """The others call the operator with counts of their own."""
    logs = Logs(4)
    for rank in (0, 1, 3):
        logs.fail(rank, JOINED + 1, ArgumentMismatch("counts", f"{rank}", "none"))
    logs.fail(2, JOINED + 1, ArgumentMismatch("counts", "none", "0"))
    assert named(of(logs)) == 2


@pytest.mark.parametrize(("lost", "odd"), [((3,), 3), ((2, 3), None)])
def test_the_only_rank_that_left_no_line_has_the_argument_that_no_other_has(
    lost: tuple[int, ...], odd: int | None
) -> None:
    logs = Logs(4, without=lost)
    for rank in set(range(4)) - set(lost):
        logs.fail(rank, JOINED + 1, ArgumentMismatch("count", "8", "4"))
    assert named(of(logs)) == odd


def test_a_number_in_another_communicator_is_not_a_rank_of_the_job() -> None:
    """The log of rank 5 is cut before it joins the job; in its group of four it is rank 1."""
    logs = Logs(8, joined=False, without=[5])
    logs.say(5, START, Located(host(5), 1, 1)).fail(5, STUCK - 1, stuck(4, 1)._replace(group="g", tag="AllReduce_g"))
    for rank in (0, 1, 2, 3, 4, 6, 7):
        logs.say(rank, JOINED, Joined("g", rank % 4, 4))
    diagnosis = of(logs)
    assert (5, host(5), 1) in [one.suspect for one in diagnosis.ranks]  # the only one that is left for it
    assert len(diagnosis.ranks) == 8


def test_the_pid_in_the_summary_of_a_launcher_tells_the_rank_of_a_process() -> None:
    """And the server of a process is that of the others of its worker."""
    logs = Logs(8, without=[5]).say(5, START, Located(None, 1)).fail(5, JOINED + 100, ERROR)
    evidence = Logs(8, without=[5, 6]).evidence()
    lines = [event for event in logs.evidence().events if event.process.pid == 105]
    end = Event(lines[0].process, Place("node-1/torchrun.log", 9), JOINED + 101, True, Exited(5, 1, None))
    file = LogFile(lines[0].process, lines[0].place.file, 1, START, JOINED + 100)
    job = evidence._replace(files=(*evidence.files, file), events=(*evidence.events, *lines, end))
    assert (5, host(5), 1) in [one.suspect for one in judge(job).ranks]


@pytest.mark.parametrize(("waiters", "end"), [((4, 5, 7), 6), ((4, 5), None)])
def test_of_several_ends_the_one_that_many_ranks_wait_for_is_named(waiters: tuple[int, ...], end: int | None) -> None:
    """Ranks 1 and 3 wait for ranks whose timeouts are in cut logs."""
    logs = Logs(8)
    for rank in waiters:
        unlinked(logs, rank, [6])
    unlinked(unlinked(logs, 3, [2]), 1, [0])
    assert named(of(logs.cut(0, 2))) == end


@pytest.mark.parametrize(("lost", "is_cut", "first"), [((4, 5), False, 6), ((4, 5), True, None), ((6,), False, 6)])
def test_a_rank_that_gave_no_sign_is_named_although_logs_are_lost_if_the_others_are_whole(
    lost: tuple[int, ...], is_cut: bool, first: int | None
) -> None:
    """It would have given up as the others of its server did; or it is the only one without a log."""
    logs = Logs(8, without=lost)
    for rank in set(range(8)) - {6, *lost}:
        logs.fail(rank, STUCK, stuck(8, rank))
    assert named(of(logs.cut(0) if is_cut else logs)) == first


def test_a_rank_whose_cut_log_may_have_lost_its_release_is_named() -> None:
    """Ranks 4 to 6 found another release at rank 7, which has a later error."""
    logs = Logs(8).fail(7, STUCK, stuck(8, 7))
    for rank in (4, 5, 6):
        logs.fail(rank, JOINED + 1, VersionMismatch("8.5", "8.3"))
    assert [suspect.rank for suspect in of(logs.cut(7)).suspects] == [7]


@pytest.mark.parametrize(("seconds", "first"), [(30, None), (90, 1)])
def test_a_rank_that_its_launcher_saw_end_before_may_have_failed_first(seconds: float, first: int | None) -> None:
    """The log of rank 5 is cut."""
    evidence = Logs(8).fail(1, JOINED + 60, ERROR).cut(5).evidence()
    launcher = Process("node-1", None)
    end = Event(launcher, Place("node-1/launcher.log", 1), JOINED + seconds, True, Exited(5, 1, None, is_first=True))
    files = (*evidence.files, LogFile(launcher, end.place.file, 1, end.time, end.time))
    assert named(judge(evidence._replace(files=files, events=(*evidence.events, end)))) == first


@pytest.mark.parametrize(("lost", "first"), [((4, 5, 6, 7), None), ((5, 6, 7), 1)])
def test_an_end_on_a_server_without_logs_may_be_the_first_if_half_of_the_job_is_lost(
    lost: tuple[int, ...], first: int | None
) -> None:
    """The clocks of both servers cannot be compared."""
    logs = Logs(8, without=lost).fail(1, JOINED + 60, ERROR)
    launcher = Process("node-1", None)
    end = Event(launcher, Place("node-1/torchrun.log", 1), JOINED + 900, True, Exited(5, 1, None, is_first=True))
    evidence = logs.evidence()
    files = (*evidence.files, LogFile(launcher, end.place.file, 1, end.time, end.time))
    diagnosis = judge(evidence._replace(files=files, events=(*evidence.events, end)))
    assert named(diagnosis) == first
    assert {suspect.rank for suspect in diagnosis.suspects} == ({1, 5} if first is None else {1})


def test_an_exit_code_without_an_error_is_never_certain() -> None:
    """The output that had the reason is not among the logs, and neither may be that of another rank."""
    assert launched(Logs(4), Exited(3, None, 9)).certainty == "certain"
    assert launched(Logs(4), Exited(3, 1, None)).certainty == "likely"


def test_an_unknown_error_counts_if_a_launcher_saw_the_process_end_soon_after_it() -> None:
    assert named(launched(Logs(4).fail(2, 1590, UNKNOWN), Exited(2, 1, None, is_first=True))) == 2


def test_all_lost_cards_of_a_host_without_logs_are_that_host() -> None:
    logs = Logs(8, without=range(4, 8))
    for rank in range(4):
        logs.say(rank, JOINED + 140, heard(4)).say(rank, JOINED + 140, heard(5)).fail(rank, STUCK, stuck(8, rank))
    diagnosis = of(logs)
    assert fault_of(diagnosis).suspect.server == host(4)
    assert {one.server for one in diagnosis.suspects} == {host(4)}


def test_a_fault_in_a_log_without_order_may_be_the_first() -> None:
    """Rank 1 waited before it failed by its lines, after it by its times."""
    logs = Logs(4).fail(0, GAVE_UP, ERROR)
    earlier = Logs(4).fail(0, GAVE_UP, ERROR).fail(1, GAVE_UP, stuck(4, 1)).fail(1, GAVE_UP - 9, ERROR)
    later = Logs(4).fail(0, GAVE_UP, ERROR).fail(1, GAVE_UP + 9, stuck(4, 1)).fail(1, GAVE_UP + 5, ERROR)
    assert (named(of(logs)), of(logs).certainty) == (0, "certain")
    assert of(earlier).certainty == "cannot_tell"
    assert {one.rank for one in of(earlier).suspects} == {0, 1}
    assert "rank 1 is not in the order" in of(earlier).reason
    assert (named(of(later)), of(later).certainty) == (0, "likely")


@pytest.mark.parametrize(("has_error", "certainty"), [(False, "likely"), (True, "cannot_tell")])
def test_a_rank_whose_screen_ends_within_an_error_is_not_without_one(has_error: bool, certainty: str) -> None:
    """Its log is lost, and of what it printed the last line is `EI0002: 2026-01-22-00:04:38.150.300 The wait exe`."""
    logs = Logs(4)
    for rank in range(3):
        logs.fail(rank, GAVE_UP, Fault("EI0002", "HCCL", "waited", "EI0002", is_symptom=True))
        logs.fail(rank, GAVE_UP, stuck(4, rank))
    evidence = logs.evidence()
    screen = Process("node-0", None, 3)
    file = LogFile(screen, "node-0/rank_3.log", 45, None, None, "its last line has no end", has_error)
    event = Event(screen, Place(file.file, 1), None, False, Joined(None, 3))
    diagnosis = judge(evidence._replace(files=(*evidence.files, file), events=(*evidence.events, event)))
    assert diagnosis.certainty == certainty


def test_names_a_rank_that_never_starts() -> None:
    diagnosis = of(absent())
    assert named(diagnosis) == 3
    assert diagnosis.certainty == "certain"
    assert [one.rank for one in diagnosis.silent] == [3]


def test_if_no_rank_connected_to_the_root_the_verdict_is_undecided() -> None:
    logs = Logs(4, joined=False, without=[1, 2, 3]).fail(0, GAVE_UP, Connected((0,), 4))
    diagnosis = of(logs)
    assert diagnosis.certainty == "cannot_tell"
    assert diagnosis.reason.startswith("only the root joined")


def test_an_absent_rank_that_waits_for_another_one_is_a_victim() -> None:
    logs = Logs(8).fail(0, GAVE_UP + 200, NeverConnected((4,)))
    for rank in (4, 5, 7):
        unlinked(logs, rank, [6])
    assert named(of(logs)) == 6


def test_names_a_rank_that_does_not_reach_the_root() -> None:
    logs = Logs(4, joined=False).fail(2, GAVE_UP, RootUnreachable(host(0)))
    logs.fail(0, GAVE_UP, NeverConnected((2,)))
    diagnosis = of(logs)
    assert named(diagnosis) == 2
    assert "HCCL_SOCKET_IFNAME" in diagnosis.fix


def test_names_a_lost_rank() -> None:
    diagnosis = of(lost())
    assert named(diagnosis) == 1
    assert diagnosis.certainty == "certain"


@pytest.mark.parametrize(("seconds", "first"), [(1, None), (60, 1)])
def test_of_two_ranks_that_are_lost_soon_after_each_other_none_is_the_first(seconds: float, first: int | None) -> None:
    """HCCL's conclusion names one of them."""
    logs = Logs(8)
    for rank in (0, 2, 3, 4, 5, 7):
        logs.say(rank, JOINED + 140, heard(1)).say(rank, JOINED + 140 + seconds, heard(6))
        logs.fail(rank, STUCK, stuck(8, rank))
        logs.fail(rank, STUCK + 1, heard(1)._replace(is_verdict=True, arrival=JOINED + 140))
    assert named(of(logs)) == first


@pytest.mark.parametrize("seconds", [1, 60, 3600])
def test_a_rank_lost_after_the_first_failure_is_a_consequence(seconds: float) -> None:
    logs = never_entered().say(0, GAVE_UP + seconds, heard(5)).say(1, GAVE_UP + seconds, heard(5))
    assert named(of(logs)) == 6


def test_ranks_that_blame_each_other_are_undecided() -> None:
    logs = Logs(2)
    for rank in (0, 1):
        logs.say(rank, JOINED + 50, heard(1 - rank)).fail(rank, STUCK, stuck(2, rank))
    diagnosis = of(logs)
    assert diagnosis.certainty == "cannot_tell"
    assert "the network between them" in diagnosis.reason


def test_names_a_rank_that_loses_packets() -> None:
    diagnosis = of(packets_lost())
    assert (named(diagnosis), [one.rank for one in diagnosis.suspects]) == (1, [1, 5])
    assert diagnosis.certainty == "likely"
    logs = Logs(8).fail(1, JOINED, ErrorCqe(Card(address="203.0.113.9")))
    assert of(logs).certainty == "cannot_tell"
    for rank in (1, 2, 3):
        logs.fail(rank, JOINED, ErrorCqe(Card(address=address(5))))
    assert named(of(logs)) == 5


def test_tls_that_differs_on_half_of_the_cards_is_of_all_ranks() -> None:
    logs = Logs(4)
    for rank in range(4):
        logs.say(rank, JOINED, Tls(rank < 2))
    for rank in range(4):
        unlinked(logs, rank, [(rank + 2) % 4])
    diagnosis = of(logs)
    assert (diagnosis.where, diagnosis.certainty) == ("all", "likely")
    assert "tls" in diagnosis.fix


def test_a_variable_that_differs_is_named_with_both_values() -> None:
    diagnosis = of(another_algorithm())
    assert fault_of(diagnosis).kind == "has HCCL_ALGO level0:NA;level1:ring, unlike 8 others with unset"
    assert "env TABLE --check" in diagnosis.fix


def test_a_broken_link_between_ranks_with_equal_variables_excludes_the_variables() -> None:
    logs = another_algorithm()
    unlinked(unlinked(logs, 1, [9]), 9, [1])
    diagnosis = of(logs)
    assert diagnosis.certainty == "cannot_tell"
    assert "wait for each other" in diagnosis.reason


def test_a_variable_that_differs_on_half_of_the_ranks_is_undecided() -> None:
    logs = Logs(4)
    for rank in range(4):
        logs.say(rank, START, Setting("HCCL_BUFFSIZE", "200" if rank < 2 else "400"))
    for rank in range(4):
        unlinked(logs, rank, [(rank + 2) % 4])
    diagnosis = of(logs)
    assert diagnosis.certainty == "cannot_tell"
    assert diagnosis.reason == "HCCL_BUFFSIZE is 200 on ranks 0, 1 and 400 on the others"


@pytest.mark.parametrize(("seconds", "is_cause"), [("120", True), ("7200", False)])
def test_only_a_shorter_timeout_breaks_a_link(seconds: str, is_cause: bool) -> None:
    logs = Logs(8)
    for rank in range(8):
        logs.say(rank, START, Setting("HCCL_CONNECT_TIMEOUT", seconds if rank == 6 else "600"))
    for rank in (2, 6):
        unlinked(logs, rank, [8 - rank])
    diagnosis = of(logs)
    assert (diagnosis.first_fault is not None and "CONNECT_TIMEOUT" in diagnosis.first_fault.kind) == is_cause


def test_the_detector_names_a_card() -> None:
    logs = Logs(8)
    for rank in (0, 1, 2):
        unlinked(logs, rank, [5])
        logs.fail(rank, GAVE_UP, Unreachable(Card(host(rank), rank), Card(host(5), 1)))
    assert named(of(logs)) == 5


def test_the_detector_names_pairs_that_have_nothing_in_common() -> None:
    logs = Logs(12, without=[5])
    for one, other in ((0, 4), (4, 0), (8, 5)):
        logs.fail(one, GAVE_UP, Unreachable(Card(host(one), one % 4), Card(host(other), other % 4)))
    assert of(logs).certainty == "cannot_tell"


def test_a_rank_that_did_not_reach_a_root_which_others_reached_is_named() -> None:
    logs = Logs(8, joined=False, without=[0]).fail(5, GAVE_UP + 20, RootUnreachable(host(0)))
    for rank in (1, 2, 3, 4, 6, 7):
        logs.fail(rank, GAVE_UP, RootSilent())
    assert (named(of(logs)), of(logs).certainty) == (5, "likely")


def test_ranks_of_one_server_are_of_one_even_if_a_log_does_not_name_it() -> None:
    logs = Logs(8, joined=False, without=[4])
    for rank in (1, 2, 3):
        logs.fail(rank, GAVE_UP, RootSilent())
    for rank in (5, 6, 7):
        logs.fail(rank, GAVE_UP + 20, RootUnreachable(host(0)))
    evidence = logs.evidence()
    process = Process("node-1", 104)
    name = "node-1/debug/plog/plog-104_20260101.log"
    facts: tuple[Fact, ...] = (Joined(GROUP, 4), RootUnreachable(host(0)))
    events = [Event(process, Place(name, n), GAVE_UP + 20, n > 1, fact) for n, fact in enumerate(facts, 1)]
    files = (*evidence.files, LogFile(process, name, 1, GAVE_UP, GAVE_UP + 20))
    diagnosis = judge(evidence._replace(files=files, events=(*evidence.events, *events)))
    assert (diagnosis.certainty, [one.rank for one in diagnosis.suspects]) == ("likely", [4, 5, 6, 7])


def test_a_log_without_a_server_name_does_not_count_as_a_server() -> None:
    assert of(cut_off().cut(5)).certainty == "cannot_tell"
    assert of(cut_off()).certainty == "likely"


def test_of_two_servers_with_broken_links_between_them_both_are_named() -> None:
    logs = Logs(8)
    for rank in range(8):
        unlinked(logs, rank, [(rank + 4) % 8])
    diagnosis = of(logs)
    assert diagnosis.where == "all"
    assert fault_of(diagnosis).kind.endswith("one of 10.1.0.0 and 10.1.0.1 is cut off from the network")


def test_a_host_with_an_address_that_no_other_one_reaches_is_named() -> None:
    logs = Logs(8, joined=False)
    for rank in range(4):
        logs.fail(rank, GAVE_UP, RootSilent() if rank else NeverConnected((4, 5, 6, 7)))
    for rank in range(4, 8):
        logs.say(rank, START + 1, logs.joining(rank, complete=False)._replace(server="172.17.0.1"))
        logs.fail(rank, GAVE_UP, RootUnreachable(host(0)))
    diagnosis = of(logs)
    assert (diagnosis.where, {one.rank for one in diagnosis.suspects}) == ("host", {4, 5, 6, 7})
    assert "HCCL_SOCKET_IFNAME" in diagnosis.fix


def test_a_host_none_of_whose_ranks_waits_is_named() -> None:
    logs = Logs(8)
    for rank in range(4):
        logs.fail(rank, STUCK, stuck(8, rank, rank + 4))
    diagnosis = of(logs)
    assert (diagnosis.where, fault_of(diagnosis).suspect.server, diagnosis.certainty) == ("host", host(4), "likely")


@pytest.mark.parametrize("seconds, late", [(2, True), (125, False)])
def test_a_late_rank_is_told_from_one_that_does_not_reach_the_root_by_its_own_clock(seconds: float, late: bool) -> None:
    logs = Logs(8, joined=False, without=[5]).fail(0, GAVE_UP, NeverConnected((5,)))
    logs.say(5, START, logs.joining(5, complete=False))
    logs.fail(5, START + seconds, RootUnreachable(host(0)))
    fault = of(logs).first_fault
    assert fault is not None
    assert (fault.suspect.rank, fault.kind.startswith("joined too late")) == (5, late)


def test_two_stages_of_a_pipeline_that_both_receive_are_named_and_other_stages_are_not_compared() -> None:
    def receiving(rank: int, awaited: int, position: int) -> OperatorTimedOut:
        return stuck(4, rank, awaited)._replace(tag=f"Receive_{GROUP}", position=position)

    logs = Logs(4)
    for rank, awaited in ((0, 1), (1, 2), (2, 1), (3, 2)):
        logs.fail(rank, STUCK, receiving(rank, awaited, 10 + rank))
    diagnosis = of(logs)
    assert (diagnosis.where, [one.rank for one in diagnosis.suspects]) == ("pair", [1, 2])
    assert "Receive" in fault_of(diagnosis).kind


@pytest.mark.parametrize("awaited", [None, "local"])
def test_a_wait_for_a_task_of_its_own_card_proves_nothing(awaited: Literal["local"] | None) -> None:
    """HCCL prints it where the awaited task has no rank: another one of the card, which may itself wait for a rank."""
    logs = Logs(4)
    for rank in range(4):
        logs.fail(rank, STUCK, stuck(4, rank, rank + 1 if rank in (0, 2) else None))
    logs.fail(3, STUCK + 1, stuck(4, 3)._replace(awaited=awaited))
    assert of(logs).certainty == "cannot_tell"


def test_a_wait_for_a_task_of_its_own_card_is_the_end_of_all_waits() -> None:
    logs = Logs(3).fail(0, STUCK, stuck(3, 0, 1)).fail(1, STUCK, stuck(3, 1, 2))
    logs.fail(2, STUCK, stuck(3, 2)._replace(awaited="local"))
    diagnosis = of(logs)
    assert (named(diagnosis), diagnosis.certainty) == (2, "likely")


def test_names_a_rank_that_is_behind() -> None:
    diagnosis = of(behind())
    assert fault_of(diagnosis).kind.startswith("is behind the others: at number ")


def test_names_the_rank_with_another_element_count() -> None:
    logs = Logs(4)
    for rank in range(4):
        logs.fail(rank, STUCK, stuck(4, rank, count=32 if rank == 3 else 64))
    assert named(of(logs)) == 3


def test_a_cycle_in_one_operator_is_undecided() -> None:
    logs = Logs(3)
    for rank in range(3):
        logs.fail(rank, STUCK, stuck(3, rank, (rank + 1) % 3))
    diagnosis = of(logs)
    assert diagnosis.certainty == "cannot_tell"
    assert diagnosis.first_fault is None
    assert diagnosis.reason.startswith("ranks 0, 1, 2 wait for each other")


def test_names_a_late_rank() -> None:
    diagnosis = of(late())
    assert named(diagnosis) == 7
    assert "started to connect 150 s after the first rank" in (
        diagnosis.first_fault.kind if diagnosis.first_fault else ""
    )


def test_a_rank_without_a_log_is_not_named_beside_a_late_one() -> None:
    """Ranks 4 and 5 wait for rank 1, which waited for rank 0 as well: its log is lost. Rank 0 comes late."""
    logs = Logs(8, without=[1])
    for rank, peer in ((2, 0), (3, 0), (4, 1), (5, 1), (6, 2)):
        unlinked(logs, rank, [peer])
    diagnosis = of(unlinked(logs, 0, [1, 2, 3], GAVE_UP + 150))
    assert named(diagnosis) == 0
    assert "logs of rank 1 are missing" in diagnosis.contradicts
    other = unlinked(Logs(8, without=[1]), 0, [2], GAVE_UP + 150)  # nothing tells whether it waited for rank 1
    for rank in range(2, 8):
        unlinked(other, rank, [1])
    assert of(other).certainty == "cannot_tell"


def test_a_host_without_logs_is_not_named_if_a_rank_that_nothing_identifies_is_awaited() -> None:
    logs = Logs(8, without=range(4, 8))
    for rank in range(4):
        logs.fail(rank, STUCK, stuck(8, rank))
    cards = [{card: hccl_kit.Card(ip=address(first + card)) for card in range(4)} for first in (0, 4)]
    table = hccl_kit.generate_cluster([*map(hccl_kit.Host, (host(0), host(4)), cards)], version="1.0")
    assert named(judge(logs.evidence(), table)) == 4
    logs.fail(1, STUCK, stuck(8, 1, 2)._replace(rank=6, group="another"))
    assert judge(logs.evidence(), table).certainty == "cannot_tell"


def test_a_rank_that_only_the_late_one_waits_for_may_have_lost_its_error() -> None:
    logs = Logs(8)
    for rank in (0, 1, 2, 3, 5, 6):
        unlinked(logs, rank, [7])
    assert named(of(unlinked(logs, 7, [4, 5], GAVE_UP + 150))) == 7


def test_uses_the_timeout_that_was_set() -> None:
    logs = late()
    for rank in range(8):
        logs.say(rank, START, Setting("HCCL_CONNECT_TIMEOUT", "600"))
    assert of(logs).certainty == "cannot_tell"


def test_names_the_rank_at_the_end_of_all_chains() -> None:
    diagnosis = of(never_entered())
    assert fault_of(diagnosis).kind == "never entered the operator that all others wait in"
    assert "--pid 106" in diagnosis.fix
    assert len(diagnosis.cascade) == 7


def test_a_cut_log_is_the_end_only_if_all_wait_for_it_directly() -> None:
    for logs, named_rank in ((Logs(4), 3), (never_entered(), None)):
        end = 3 if named_rank else 6
        if named_rank:
            for rank in range(3):
                unlinked(logs, rank, [end])
        assert named(of(logs.cut(end))) == named_rank


def test_two_ends_of_chains_are_both_suspects() -> None:
    logs = unlinked(unlinked(Logs(8), 0, [1]), 2, [3])
    diagnosis = of(logs)
    assert diagnosis.certainty == "cannot_tell"
    assert {one.rank for one in diagnosis.suspects} == {1, 3}


def test_a_log_that_ends_steps_before_those_of_others_is_cut() -> None:
    logs = Logs(4)
    for rank in (0, 1, 2):
        logs.say(rank, STUCK - 60, Progress(3061, STUCK - 60)).fail(rank, STUCK, stuck(4, rank))
    assert named(of(logs.say(3, STUCK - 60, Progress(3061, STUCK - 60)))) == 3
    logs = Logs(4)
    for rank in (0, 1, 2):
        logs.say(rank, STUCK - 60, Progress(3061, STUCK - 60)).fail(rank, STUCK, stuck(4, rank))
    diagnosis = of(logs.say(3, STUCK - 300, Progress(3055, STUCK - 300)))
    assert diagnosis.certainty == "cannot_tell"
    assert diagnosis.fix.startswith("collect the logs of rank 3 again")


def test_names_the_only_rank_without_an_error() -> None:
    logs = Logs(4)
    for rank in (0, 1, 2):
        logs.fail(rank, STUCK, stuck(4, rank))
    assert named(of(logs)) == 3
    gone = Logs(4, without=[2])
    for rank in (0, 1):
        gone.fail(rank, STUCK, stuck(4, rank))
    assert of(gone).certainty == "cannot_tell"


def test_settings_that_differ_are_noted() -> None:
    logs = (
        exception().say(1, START, Setting("HCCL_EXEC_TIMEOUT", "60")).say(2, START, Setting("HCCL_EXEC_TIMEOUT", "9"))
    )
    assert "HCCL_EXEC_TIMEOUT differs between ranks: 60, 9" in of(logs).notes


def test_logs_without_a_job_are_undecided() -> None:
    assert of(Logs(0)).reason == "no line of these logs is known as an error or as one of a rank"
    assert of(Logs(4)).reason == "no log has an error that shows a cause"


def test_an_error_that_is_not_known_is_the_cause_only_if_others_waited_for_its_rank() -> None:
    logs = Logs(4).fail(2, JOINED, Fault(None, "GE", "an error of GE", "something", is_unknown=True))
    assert of(logs).certainty == "cannot_tell"
    assert "an error of GE that is not known: something" in of(logs).reason
    for rank in (0, 1, 3):
        unlinked(logs, rank, [2])
    assert named(of(logs)) == 2


def test_a_program_that_fails_on_every_rank_is_named_instead_of_a_rank() -> None:
    """Such as a mistake in the first line: all ranks fail identically at almost the same time."""
    logs = Logs(4, joined=False)
    for rank in range(4):
        logs.fail(rank, START + 1, Fault(None, "PYTHON", "TypeError", "TypeError: f() takes 0 arguments"))
    found = judge(logs.evidence())
    assert (found.where, found.certainty, len(found.suspects)) == ("all", "likely", 4)
    assert fault_of(found).kind.endswith("so the program is the cause: TypeError: f() takes 0 arguments")
    assert "every rank has this error" in found.fix


def test_two_different_exceptions_are_not_a_common_program_error() -> None:
    logs = Logs(4, joined=False)
    for rank in range(4):
        logs.fail(rank, START + 1, Fault(None, "PYTHON", "TypeError", f"TypeError: {'abcd'[rank]}"))
    found = judge(logs.evidence())
    assert found.certainty == "cannot_tell"
    assert found.fix.startswith("read the error of each of them")


@pytest.mark.parametrize("has_error", [False, True])
def test_a_rank_with_an_unknown_error_is_not_the_one_without_an_error(has_error: bool) -> None:
    logs = Logs(4, joined=False)
    for rank in (0, 1, 3):
        logs.fail(rank, GAVE_UP, RootSilent())
    evidence = logs.evidence()
    files = tuple(file._replace(has_error=has_error) if file.process.pid == 102 else file for file in evidence.files)
    diagnosis = judge(evidence._replace(files=files))
    assert (diagnosis.first_fault is None) == has_error


def test_a_process_of_which_only_the_card_has_a_log_is_not_the_one_without_an_error() -> None:
    logs = Logs(4)
    for rank in (0, 1, 2):
        logs.fail(rank, STUCK, stuck(4, rank))
    evidence = logs.evidence()
    name = evidence.files[3].file
    of_card = "node-0/debug/device-3/device-103_20260101.log"
    files = tuple(file._replace(file=of_card) if file.file == name else file for file in evidence.files)
    events = tuple(
        event._replace(place=event.place._replace(file=of_card)) if event.place.file == name else event
        for event in evidence.events
    )
    assert named(of(logs)) == 3
    assert judge(Evidence(files, events)).certainty == "cannot_tell"


def test_what_cannot_be_told_says_whose_logs_to_collect() -> None:
    evidence = never_entered().evidence()
    kept = tuple(file for file in evidence.files if file.process.worker == evidence.files[0].process.worker)
    names = {file.file for file in kept}
    found = judge(Evidence(kept, tuple(event for event in evidence.events if event.place.file in names)))
    assert found.certainty == "cannot_tell"
    assert found.fix.startswith("collect the logs of ")
