"""The text format of a diagnosis."""

from hypothesis import given

from hccl_kit.diagnosis.report.text import MAX_NOTES, as_text, wait_groups
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis, Suspect, Wait
from tests.diagnosis.report.diagnoses import cannot_tell, diagnoses, hostile, port_taken, suspect


def test_the_first_line_is_the_fault_and_the_last_its_certainty() -> None:
    assert as_text(port_taken()).split("\n") == [
        "first fault:  rank 27 (10.0.0.4, card 3), 2025-11-20 21:37:51: could not listen on port 16666, it is taken"
        " [HK701 EI0019]",
        "fix:          end process 4711 on 10.0.0.4, or HCCL_NPU_SOCKET_PORT_RANGE=auto on all ranks",
        "cascade:      27 ranks wait for others: 24-26,28-31 -> 27 [EI0006]",
        "              1-7 -> 0",
        "              9-15 -> 8, and 1 more",
        "no log from:  rank 19 (10.0.0.3, card 3)",
        "clocks:       10.0.0.3 is 41 s behind (estimated from 12 links)",
        "evidence:     10.0.0.4/debug/plog/plog-4727_20251120213751000.log:812, "
        "10.0.0.1/debug/plog/plog-4700_20251120213751000.log:1033",
        "last line:    2025-11-20 21:39:51",
        "certain:      the first fault is a direct cause; nothing contradicts it",
    ]


def test_an_uncertain_verdict_has_a_reason_and_suspects() -> None:
    text = as_text(cannot_tell()).split("\n")
    assert text[:5] == [
        "first fault:  cannot tell, because logs of 10.0.0.4 are missing",
        "fix:          collect the logs of 10.0.0.4",
        "suspects:     rank 0 (10.0.0.1, card 0), rank 8 (10.0.0.2, card 0)",
        "cascade:      2 ranks wait for others: 0 -> 8 [EI0002]",
        "              8 -> 0",
    ]
    assert text[-2:] == [
        "facts:        the operators of both are equal",
        "note:         a/b.log could not be read: permission denied",
    ]


def test_equal_suspects_and_doubts_are_named() -> None:
    doubted = port_taken()._replace(
        certainty="likely",
        suspects=(Suspect(27, "10.0.0.4", 3), Suspect(3, None, None)),
        contradicts=("rank 3 is late",),
    )
    text = as_text(doubted)
    assert "\nor:           rank 3\n" in text
    assert text.endswith("\nlikely:       the first fault is a direct cause; against it: rank 3 is late")


def test_a_process_without_a_known_rank_is_named_by_card_or_server() -> None:
    fault = port_taken().first_fault
    assert fault
    names = [(None, "10.0.0.1", 3), (None, "10.0.0.1", None), (None, None, None), (4, None, 1)]
    shown = [
        as_text(port_taken()._replace(first_fault=fault._replace(suspect=Suspect(*name), time=None))).split(": ")[1]
        for name in names
    ]
    assert [one.strip() for one in shown] == [
        "card 3 of 10.0.0.1",
        "a rank of 10.0.0.1",
        "an unknown rank",
        "rank 4 (card 1)",
    ]


def test_chains_are_shown_once() -> None:
    waits = [(1, 0), (2, 0), (3, 0), *((rank, rank - 8) for rank in range(8, 64)), (70, 12)]
    cascade = tuple(Wait(suspect(rank), suspect(awaited), None, None, None) for rank, awaited in waits)
    assert wait_groups(port_taken()._replace(cascade=cascade)) == [
        "1-3,8 -> 0",
        "20,70 -> 12",
        "9-19 -> 1-11",
        "21-63 -> 13-55",
    ]


def test_many_silent_ranks_are_shown_as_ranges() -> None:
    text = as_text(port_taken()._replace(silent=tuple(map(suspect, [0, 1, 2, 3, 9, 16, 17]))))
    assert "\nno log from:  ranks 0-3, 9, 16-17\n" in text


def test_many_notes_are_counted() -> None:
    text = as_text(port_taken()._replace(notes=("x",) * (MAX_NOTES + 3)))
    assert text.endswith("note:         3 more notes in the JSON form")


def test_control_characters_of_a_log_are_replaced() -> None:
    assert all(char.isprintable() or char == "\n" for char in as_text(hostile()))


@given(diagnoses)
def test_any_diagnosis_can_be_shown(diagnosis: Diagnosis) -> None:
    text = as_text(diagnosis)
    assert text.startswith("first fault:  ")
    assert all(char.isprintable() or char == "\n" for char in text)
