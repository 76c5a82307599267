"""Lines of programs around HCCL: libraries, launchers, Ray, vLLM, MindIE, MindSpore; and which line of a log counts."""

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.diagnosis.answer_text import as_page
from hccl_kit.diagnosis.errors.table import ROWS
from hccl_kit.diagnosis.known_lines import Explanation, explain_lines
from hccl_kit.diagnosis.lookup import explain

PLOG = "[ERROR] HCCL(4711,train):2026-02-03-04:05:06.007.008 [some_file.cc:12] [4712]"
NEEDS = (
    "HCCL_BUFFSIZE is too SMALL, maxBs = 64, h = 1024, k = 4, NEEDED_HCCL_BUFFSIZE(((maxBs * 3) + 3MB) * 2) ="
    " 811MB, HCCL_BUFFSIZE=300MB.[FUNC:Tiling][FILE:a_tiling.cc][LINE:9]"
)


def told(found: Explanation) -> str:
    return "; ".join(sentence for answer in found.answers for sentence in answer.says)


@pytest.mark.parametrize(
    ("log", "line"),
    [
        # What a call returned says less than the message below it.
        (
            "NPU function error: aclrtGetDeviceCount(&n), error code is 207004\n"
            "EE1001: Reason: set ASCEND_RT_VISIBLE_DEVICES:2,0 error, it must be configured in ascending order",
            2,
        ),
        (
            "NPU function error: SetDevice(id), error code is 507033\n[Error]: Failed to start the device.\n"
            "EL0003: [PID: 7] The argument is invalid.\nFailed to open device, retCode=0x7020014, deviceId=0.",
            4,
        ),
        ("EL0001: Device not found or invalid.\nruntime result = 507010\nDevice[3] lost heartbeat.", 3),
        (
            "NPU error, error code is 107020.\nEI0002: The wait execution of the Notify register times out. Reason: The"
            " Notify register has not received the Notify record from remote rank [2]. tag[AllReduce_g]",
            2,
        ),
        (
            "SetDevice(id), error code is 107002, npu\nEE1001: x.Reason: rtGetDevMsg execute failed, reason=[context"
            " pointer null]",
            1,
        ),
        ("retcode: 507011 npu\nDump node (Default/GetNext-op18) task error input data to: ./node_dump", 2),
        ("AclSetCompileopt(x), error code is 500001\n[FUNC:A][FILE:b][LINE:1]\nGEInitialize failed.", 3),
        # A warning, a helper whose parent has ended and torch_npu's heading say less than any error.
        ("Warning: 0Failed to find function aclrtX (function f)\nEZ3003: x, optype [PoolX].", 2),
        ("TBE Subprocess[x] raise error[], main process disappeared!\nERR99999 UNKNOWN applicaiton exception", 2),
        ("ERR99999 UNKNOWN applicaiton exception\nNo module named 'tbe'", 2),
        ("OPS function error: PoolX, error code is 500002\nOp PoolX does not has any binary", 2),
        ("current working operator name is aclnnPoolX\nnot implemented for DT_DOUBLE", 2),
        ("aclrtSetDevice(id) failed: 507033\nMemory_Allocation_Failure(EL0004): x\nopen device 2 failed, npu", 2),
        # A name says more than a heading.
        (
            "there are(is) 1 abnormal device(s):\nCluster Exception Location[IP/ID]:[10.1.1.1/6], Arrival Time:[x],"
            " ExceptionType:[Stuck Occurred], Possible Reason:1. x",
            2,
        ),
        (
            f'{PLOG}topo exchange server get socket timeout! timeout[9 s]\n{PLOG}"Failed to connect agent[1,3,]"',
            2,
        ),
        ("RuntimeError: ACL stream synchronize failed.\nchipId:3, hccl fftsplus task timeout occurred, npu", 2),
        (f"TraceBack (most recent call last):\n        {NEEDS}", 2),
        ("[OpRetryConnection][R] Recv unmatched ack [1]\nOpRetry used port range [60000-60015]", 2),
        # The same row: the first line counts, if both have values.
        ("OpRetry used port range [60000-60015]\nOpRetry used port range [61000-61015]", 1),
    ],
)
def test_the_line_that_tells_most_counts(log: str, line: int) -> None:
    found = explain_lines(log.split("\n"))
    assert found is not None and found.answers[0].line == line


def test_a_table_of_torchrun_is_read_as_one_line() -> None:
    table = "Root Cause (first observed failure):\n[0]:\n  time : x\n  host : n7\n  rank : 3 (local_rank: 1)\n"
    ended = explain(f"ChildFailedError: \n====\nx FAILED\n{table}  exitcode : 1 (pid: 7)\n=====\n")
    assert (ended.answers[0].line, ended.notes) == (4, ())
    assert told(ended).startswith("rank 3 on n7 ended first; its exit code is 1:")
    killed = explain(f"{table}  exitcode : -9 (pid: 7)\n")
    assert killed.answers[0].row.role == "pointer"
    assert told(killed) == "it is rank 3 on n7; process 7"
    assert told(explain(f"{table}=====\nexitcode : -9 (pid: 7)")) == "rank 3 on n7 ended first"


def test_torchrun_summary_is_less_than_an_error_of_hccl() -> None:
    found = explain(f"Root Cause (first observed failure):\nrank : 3 (local_rank: 1)\n====\n{PLOG}hcclRet -> 9")
    assert found.answers[0].code == "HcclResult 9"


def test_a_log_inside_json_is_read_line_by_line() -> None:
    found = explain(
        r'{"detail": "error code is 507033, npu\nE30006: Failed to verify the OPP\n  tsd client wait response fail"}'
    )
    assert (found.answers[0].code, found.answers[0].text) == ("E30006", "E30006: Failed to verify the OPP")


def test_the_page_of_a_message_without_a_code_has_none() -> None:
    assert explain("tsd client wait response fail, device response code[1]").answers[0].code is None


OUT = (
    "RuntimeError: NPU out of memory. Tried to allocate 90.00 MiB (NPU 1; 60.00 GiB total capacity; {0} already"
    " allocated; {0} current active; 20.00 MiB free; {0} reserved in total by PyTorch) If"
)


@pytest.mark.parametrize(
    ("reserved", "first"),
    [
        ("4.00 GiB", "another process holds about 56.0 GiB of the card: of 60.00 GiB this one has 4.00 GiB"),
        ("59.00 GiB", "this process itself has 59.00 GiB of 60.00 GiB"),
    ],
)
def test_who_holds_the_memory_of_a_card_comes_first(reserved: str, first: str) -> None:
    assert told(explain(OUT.format(reserved))).startswith(first)


def test_memory_of_unknown_size_has_no_owner() -> None:
    assert told(explain("NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; no)")) == "it asked for 2.00 GiB"


def joined(*ranks: int) -> str:
    return f"{PLOG}connected rankinfo[LINE 0]: {','.join(f'[{rank:016}]' for rank in ranks)};"


def test_the_gaps_in_the_ranks_that_joined_are_named() -> None:
    found = explain("\n".join([joined(0, 1, 2), joined(4, 6)]))
    assert found.notes == ("the list of ranks that joined lacks 3, 5 (and perhaps ranks after 6): read their logs",)
    needed = f"{joined(0, 1, 2)}\n{PLOG}need connect rankNum is [5]"
    assert explain(needed).notes == ("the list of ranks that joined lacks 3, 4: read their logs",)
    assert explain(joined(0, 1, 2)).notes == ()
    assert explain("\n".join([joined(0, 2), joined(0, 3)])).notes == ()
    assert "..." in explain(joined(0, 500)).notes[0]


def test_an_explained_line_is_not_noted_as_an_error_of_the_program() -> None:
    known = "RuntimeError: x HCCL function error: HcclAllReduce(x), error code is 6"
    assert explain(f"{known}\n{PLOG}wait socket establish timeout, role[1] rank[1] timeout[9]").notes == ()


def test_the_page_of_a_code_with_many_rules_shows_the_frequent_ones() -> None:
    page = as_page(explain("EI0014"))
    assert "the most frequent of 37 rules" in page and "docs/errors.md has all" in page
    assert page.count("\nHK") == 11 and len(page.split("\n")) < 45


def test_no_fix_refers_to_a_line_that_is_not_shown() -> None:
    vague = ("correct what that line names", "correct what they name", "follow that error")
    assert [row.what for row in ROWS if row.fix in vague] == []


def test_an_unknown_line_is_still_unknown() -> None:
    with pytest.raises(KitError):
        explain("all is well\\nand quiet")
