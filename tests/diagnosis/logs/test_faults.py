"""Each kind of line is parsed to its facts, with all of their values."""

from __future__ import annotations

import pytest

from hccl_kit.diagnosis import facts
from tests.diagnosis.logs.lines import facts_of, info, plog


def test_a_fault_has_role_fix_and_values_of_the_row_of_its_message() -> None:
    (fault,) = facts_of("HCCL_BUFFSIZE_EP is too SMALL, NEEDED_BUFFSIZE = 600MB, HCCL_BUFFSIZE=256MB.\n")
    assert isinstance(fault, facts.Fault)
    assert (fault.role, "needs 600 MB and has 256 MB" in fault.kind) == ("cause", True)
    assert fault.fix.startswith("raise HCCL_BUFFSIZE")


def test_a_root_error_of_hccl_that_states_nothing_else_is_a_fault_and_an_echo_of_one_is_none() -> None:
    cause = plog("[Parse][ClusterInfo]ranktable config devId[1], but local devId[3]")
    (fault,) = facts_of(cause + plog("[Init]call trace: hcclRet -> 7"))
    assert isinstance(fault, facts.Fault)
    assert (fault.code, fault.role, fault.is_symptom) == ("EI0014", "cause", False)
    assert "the table has card 1 for this rank, but its process runs on card 3" in fault.kind
    assert fault.fix.startswith("start the rank on the card of the table")


def test_the_heading_of_a_message_goes_if_a_line_below_it_tells_more() -> None:
    heading = "[PID: 77] 2025-06-15-15:06:40.500.000 Invalid_Argument(EL0003): The argument is invalid.\n"
    kernel = (
        "        The error from device(chipId:4, dieId:0), there is an exception of fftsplus aicore error, core id 1\n"
    )
    (alone,) = facts_of(heading)
    (fault,) = facts_of(heading + kernel)
    assert isinstance(alone, facts.Fault)
    assert isinstance(fault, facts.Fault)
    assert (alone.code, alone.is_frame, alone.is_symptom) == ("EL0003", True, False)
    assert (fault.role, fault.kind) == (
        "cause",
        "a kernel of an operator failed on the card: fftsplus aicore error, on the chip 4",
    )


def test_codes_in_terminal_output() -> None:
    for text in ("EJ0001: [PID: 3] 2025-06-15-15:06:40.500.000 Failed", "Config_Error(EJ0001)", "EJ0001: Failed"):
        (fact,) = facts_of(text + "\n")
        assert isinstance(fact, facts.Fault)
        assert (fact.code, fact.is_symptom) == ("EJ0001", False)


def test_a_code_inside_a_plog_record_is_not_a_message() -> None:
    assert facts_of(plog("report error module_type=5, module_name=EZ9999", module="RUNTIME", thread="78 ")) == []


def test_recognises_differing_versions() -> None:
    line = plog("[InitChannelStage][VersionConflict]CMD information version check fail. local[8.0], remote[8.1]")
    assert facts_of(line) == [facts.VersionMismatch("8.0", "8.1")]


@pytest.mark.parametrize("value", ["9" * 5000, "-1", "1000000000000", "4294967295", "", "٣", "0x10"])
def test_ranks_that_are_not_valid_are_ignored(value: str) -> None:
    for fact in facts_of(
        info(f"[HCCL_TRACE]SetupAgent rankNum[8], rank[{value}], rootInfo identifier[x], server[a]")
        + plog(f"wait socket establish timeout, role[1] rank[{value}] timeout[120 s]")
        + plog(f"Failed to connect agent[{value},]")
        + plog(f"Task run failed, para information is notify id:[0x1], remote rank:[{value}].")
        + f"error: rank {value} on device 3 of n1 failed with exit code 1\n"
    ):
        assert not isinstance(fact, (facts.Joined, facts.NeverConnected, facts.Exited))
        assert getattr(fact, "rank", None) is None
        assert getattr(fact, "awaited", None) is None
