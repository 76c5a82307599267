"""One line has one meaning: `explain` and `diagnose` read it by the same row."""

from __future__ import annotations

import pytest

from hccl_kit.diagnosis.errors.answers import answer_of, candidates
from hccl_kit.diagnosis.errors.table import BY_CODE, ROWS
from hccl_kit.diagnosis.facts import ArgumentMismatch, Fault, Heartbeat, VersionMismatch
from hccl_kit.diagnosis.known_lines import explain_lines
from tests.diagnosis.logs.lines import facts_of, plog


def test_a_root_error_is_one_for_both_commands_with_its_values() -> None:
    for row in ROWS:
        if not (row.in_output and row.role == "cause"):
            continue
        answer = answer_of(row.example, candidates(row.example), of_ascend=True)
        assert answer is not None, row.what
        (fault,) = (fact for fact in facts_of(f"{row.example}\n") if isinstance(fact, Fault))
        assert (fault.role, fault.is_symptom, fault.fix) == (answer.row.role, False, answer.row.fix), row.what
        assert all(sentence in fault.kind for sentence in answer.says if answer.row is row), row.what


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (plog("this package does not support hrtRaAiQpX for device, please change new package"), "hrtRaAiQpX"),
        (plog("x.cc:5,BatchPut, Error: ret=1 [BatchPut] AICPU launch failed, code: 3"), "BatchPut, the result 3"),
        (plog("drv report: HBM multi bit ecc error, devid 3", module="DRV"), "HBM ECC"),
        (plog("hdc send msg failed, ret 25", module="DRV"), "connection to the card was lost"),
    ],
)
def test_a_root_error_of_a_module_has_the_values_of_its_line(line: str, words: str) -> None:
    (fault,) = (fact for fact in facts_of(line) if isinstance(fact, Fault))
    assert (fault.role, fault.is_symptom) == ("cause", False)
    assert words in fault.kind


@pytest.mark.parametrize(
    "text",
    [
        "The HCCL versions are inconsistent: tag [g_1], local_version [7.1], remote_version [8.2]",
        "The HCCL versions are inconsistent. The local version is 7.1, while the remote version is 8.2.",
        "The Toolkit (cann-hcomm) versions are inconsistent. The local version is 7.1 (version file:"
        " $ASCEND_HOME_PATH/share/info/hccl/version.info), while the remote version is 8.2.",
        "[InitChannelStage] Inconsistent HCCL Versions. local_version 7.1, remote_version 8.2.",
        "[InitChannelStage] Inconsistent Toolkit (cann-hcomm) Versions. The local 7.1, while the remote 8.2.",
    ],
)
def test_each_form_of_ei0008_names_both_versions(text: str) -> None:
    assert VersionMismatch("7.1", "8.2") in facts_of(plog(text))
    found = explain_lines([plog(text).strip()])
    assert found is not None
    assert found.answers[0].code == "EI0008"
    assert found.answers[0].says[0].startswith("here 7.1")
    assert found.answers[0].says[0].endswith("at the far end 8.2")


def test_both_packages_of_a_rank_are_named() -> None:
    text = (
        "The Toolkit (cann-hcomm) and ops (cann-hccl) versions are inconsistent. The local Toolkit (cann-hcomm) version"
        " is 9.1 and ops (cann-hccl) version is 9.0, while the remote Toolkit (cann-hcomm) version is 9.2 and ops"
        " (cann-hccl) version is 9.3."
    )
    (own,) = (fact for fact in facts_of(plog(text)) if isinstance(fact, VersionMismatch))
    assert own.own == "Toolkit (cann-hcomm) version is 9.1 and ops (cann-hccl) version is 9.0"
    assert own.other == "Toolkit (cann-hcomm) version is 9.2 and ops (cann-hccl) version is 9.3"


def test_operators_that_heartbeats_find_to_differ_are_no_lost_card() -> None:
    line = plog("[Heartbeat]check opinfo inconsistent. identifier[g] index[4], local(AllReduce,8); remote(Broadcast,8)")
    assert facts_of(line) == [ArgumentMismatch("operator 4", "AllReduce,8", "Broadcast,8")]
    verdict = (
        "Cluster Exception Location[IP/ID]:[10.0.0.1/3], Arrival Time:[x], ExceptionType:[Op Inconsistent Occurred]"
    )
    assert not [fact for fact in facts_of(plog(verdict)) if isinstance(fact, Heartbeat)]


@pytest.mark.parametrize(
    ("number", "words", "role"),
    [
        ("107022", "being aborted", "symptom"),
        ("207002", "could not be freed", "result"),
        ("207003", "overflow", "cause"),
        ("507008", "SOC version", "cause"),
        ("507013", "system DMA", "cause"),
        ("507012", "report did not come", "symptom"),
        ("507904", "could not repeat", "pointer"),
        ("207008", "no streams", "cause"),
    ],
)
def test_a_number_means_what_the_header_of_the_runtime_says(number: str, words: str, role: str) -> None:
    assert words in BY_CODE[number].what
    assert BY_CODE[number].role == role
