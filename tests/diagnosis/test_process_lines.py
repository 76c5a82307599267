"""Lines of programs around HCCL: libraries, launchers, Ray, vLLM, MindIE, MindSpore; and which line of a log counts."""

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.diagnosis.answer_text import as_page
from hccl_kit.diagnosis.errors.table import ROWS
from hccl_kit.diagnosis.explanation import Explanation
from hccl_kit.diagnosis.known_lines import explain_lines
from hccl_kit.diagnosis.lookup import explain

PLOG = "[ERROR] HCCL(4711,train):2026-02-03-04:05:06.007.008 [some_file.cc:12] [4712]"
NEEDS = (
    "HCCL_BUFFSIZE is too SMALL, maxBs = 64, h = 1024, k = 4, NEEDED_HCCL_BUFFSIZE(((maxBs * 3) + 3MB) * 2) ="
    " 811MB, HCCL_BUFFSIZE=300MB.[FUNC:Tiling][FILE:a_tiling.cc][LINE:9]"
)
LINES = (
    (
        "EH9999: [PID: 7] [Init][PlatformInfo]init runtime platform info failed, SocVersion = Ascend910B2[FUNC:A]",
        "cause",
        "CANN has no description of the chip",
        "the chip is Ascend910B2",
    ),
    (
        "RuntimeError: [3] is setting up HCCL communicator and retrieving hcclUniqueId from [0] via c10d key-value"
        " store by key '0', but store->get('0') got error: failed to recv, got 0 bytes",
        "symptom",
        "torch's store: the connection to the process that holds it",
        "rank 3 of the group waits for rank 0 of it: failed to recv, got 0 bytes",
    ),
    (
        'Enqueue:526: "[PTA]:"Inner error happened with CAN_EXIT status, detail: the current working operator name is'
        ' HcclAllGather""',
        "frame",
        "torch_npu's watchdog ends the process",
        "the operator is HcclAllGather",
    ),
    (
        "halGetDeviceInfo get device type version failed , ret:87[FUNC:Init][FILE:config_manager.cpp][LINE:61]",
        "cause",
        "the card is used by another container",
        "the result is 87",
    ),
    (
        "EE1001: The argument is invalid.Reason: rtGetDevMsg execute failed, reason=[context pointer null]",
        "frame",
        "the runtime had no context",
        "",
    ),
    (
        "RuntimeError: Environment variables RANK_ID has not been exported, please export variables 'RANK_ID'.",
        "cause",
        "MindSpore got no role",
        "",
    ),
    (
        "(W pid=7) ERROR KV transfer task failed: [link] failed, error code is LLMStatusCode.LLM_LINK_FAILED, {4: 0}.",
        "symptom",
        "the transfer engine could not connect",
        "the result is LLM_LINK_FAILED",
    ),
    (
        "I0331 02:49:30.6 8 transfer_engine_py.cpp:454] Sync batch data transfer timeout after 33061142969ns",
        "symptom",
        "the transfer engine could not connect",
        "had not ended after 33061142969 ns",
    ),
    (
        'Exception: Error setting ASCEND_RT_VISIBLE_DEVICES: local range: [4, 8) base value: "0,1,2,3"',
        "cause",
        "fewer cards than ranks of vLLM",
        "places 4 up to, not including, 8 of 0,1,2,3",
    ),
    (
        "Compile op[Slice] failed, oppath[/x/slice.py], optype[Slice], taskID[9].",
        "cause",
        "an operator could not be compiled",
        "operator Slice",
    ),
    (
        "/hisi_logs/device-2/1/bbox/kbox.txt:2020[2454.8] {6}[Hardware Error]  error_type: 3, multi-bit ECC",
        "cause",
        "the memory of the card has errors",
        "",
    ),
    (
        "ImportError: libascend_hal.so: cannot open shared object file: No such file or directory",
        "cause",
        "a library of the driver",
        "it is libascend_hal.so",
    ),
    (
        "ImportError: libhccl.so: cannot open shared object file: No such file or directory",
        "cause",
        "a library of CANN is not found",
        "it is libhccl.so",
    ),
    (
        "ImportError: ascend_transport.so: cannot open shared object file: No such file or directory",
        "cause",
        "a library of Mooncake",
        "it is ascend_transport.so",
    ),
    (
        "error = /opt/Ascend/cann-9/opp/built-in/libops_x.so: undefined symbol: _ZN2ge5ShapeEv",
        "cause",
        "a library of CANN needs a function",
        "libops_x.so needs _ZN2ge5ShapeEv",
    ),
    ("RuntimeError: Failed to find function HcclCommSuspend", "cause", "CANN lacks a function", "HcclCommSuspend"),
    (
        "[W utility.cc:57 Init] CANN version mismatch. The build version is 8.1.0, but the current environment version"
        " is 8.3.2.",
        "cause",
        "built with another CANN",
        "built with 8.1.0; here is 8.3.2",
    ),
    ("  link status: DOWN", "cause", "the network port of a card has no link", "they use RoCE"),
    (
        "[2026-02-03 04:05:06.007+08:00] [7] [ERROR] [http_server.cpp:1] : [MIE04E02041C] [endpoint] Failed to listen"
        " 10.9.8.7:1025, please check if business ip and port are legal.",
        "cause",
        "MindIE could not listen",
        "address 10.9.8.7, port 1025",
    ),
    (
        "[ERROR] [endpoint.cpp:4] : [MIE04E02011C] [endpoint] Failed to init engine! Please check",
        "result",
        "MindIE stops",
        "failed to init engine",
    ),
    (
        "ValueError: Free memory on device npu:3 (3.1/60.9 GiB) on startup is less than desired GPU memory utilization",
        "cause",
        "less free memory than vLLM",
        "3.1 of 60.9 GiB",
    ),
    (
        "AssertionError: local_world_size (4) must be less than or equal to the number of visible devices (2).",
        "cause",
        "fewer cards than ranks of vLLM",
        "4 ranks are to run on 2 visible cards",
    ),
    (
        "The task (name=W, pid=7, memory used=9.50GB) was running was 95.00GB / 99.00GB (0.96), which exceeds",
        "cause",
        "Ray ended a process",
        "uses 95.00GB of 99.00GB, this process 9.50GB",
    ),
    (
        "(raylet) node_manager.cc:1: 3 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed",
        "cause",
        "Ray ended a process",
        "3 processes",
    ),
    (
        "(raylet) A worker died or was killed while executing a task by an unexpected system error. RayTask ID: 7"
        " Worker IP address: 10.9.8.7 Worker port: 10005 Worker PID: 4711 Worker exit type: SYSTEM_ERROR",
        "pointer",
        "a process of Ray ended",
        "process 4711 on 10.9.8.7",
    ),
    (
        "ValueError: Current node has no NPU available. current_node_resource={'CPU': 8.0, 'GPU': 4.0}. vLLM engine",
        "cause",
        "Ray knows no NPU",
        "GPU: 4.0",
    ),
    ("RuntimeError: Gloo connectFullMesh failed with [pair.cc:144] no error", "symptom", "(gloo)", "pair.cc:144"),
    (
        "ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable WORLD_SIZE"
        " expected, but not set",
        "cause",
        "not started by a launcher",
        "it is WORLD_SIZE",
    ),
    (
        "E torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 5 (pid: 4711) of binary: x",
        "pointer",
        "killed with signal 9",
        "local rank 5 of this host, process 4711",
    ),
    (
        "Failed to call bind, url: 10.9.8.7:8118 Address already in use",
        "cause",
        "scheduler could not listen",
        "10.9.8.7, port 8118",
    ),
    ("[ERROR] ME(7:8,Main): Time out nodes are ['3', '5']", "pointer", "stopped answering", "nodes '3', '5'"),
    ("[ERROR] ME(7:8,Main): Worker process 4711 exit with exception.", "pointer", "a worker of msrun", "4711"),
    (
        "[ERROR] ME(7:8,Main): Scheduler process 4711 exit with exception.",
        "symptom",
        "the scheduler of msrun ended",
        "4711",
    ),
    (
        "Root Cause (first observed failure): [0]: rank : 2 (local_rank: 2) exitcode : 1 (pid: 4711)",
        "result",
        "the summary of torchrun",
        "rank 2 ended first; its exit code is 1",
    ),
    # Rows of other tables.
    (NEEDS, "cause", "HCCL_BUFFSIZE", "needs 811 MB and has 300 MB: export HCCL_BUFFSIZE=811, or more, on all ranks"),
    (
        "HCCL_BUFFSIZE_EP is too SMALL, a = 1 = 9MB, HCCL_BUFFSIZE=2MB.",
        "cause",
        "HCCL_BUFFSIZE",
        "needs 9 MB and has 2",
    ),
    ("HCCL_BUFFSIZE is too SMALL, should larger than 77MB", "cause", "HCCL_BUFFSIZE", "it needs 77 MB: export"),
    ("EZ1008: Failed to execute operator X_1. Reason: Failed to tile.", "result", "could not be prepared", ""),
    (
        "[OpRetryConnection][Init] Connect to server failed, serverIp_[10.9.8.7] serverPort [60000]",
        "cause",
        "ports for retries",
        "the server is 10.9.8.7, port 60000",
    ),
    ("OpRetry used port range [61000-61015]", "cause", "ports for retries", "61000-61015"),
    (
        "EI0005: The arguments for collective communication are inconsistent between ranks:tag[HcomX_1],"
        " parameter[count], local[12], remote [8]",
        "cause",
        "different operators",
        "count is 12 here and 8 at the far end",
    ),
    (
        "EE1001: The argument is invalid.Reason: set ASCEND_RT_VISIBLE_DEVICES:3,1 error, it must be configured in"
        " ascending order",
        "cause",
        "ascending order",
        "it is 3,1",
    ),
    ("Failed to open device, retCode=0x7020014, deviceId=6.[FUNC:I]", "cause", "did not open a card", "the card is 6"),
    ("RuntimeError: x NPU function error: f, error code is 107027", "cause", "a graph is captured", ""),
    ("RuntimeError\N{FULLWIDTH COLON}x NPU function error:f,error code is 107027", "cause", "a graph is captured", ""),
    ("NPU function error: call aclnnX failed, error code is 561002", "result", "the tiling of an operator", ""),
    ("dcmi model initialized failed, because the device is used. ret is -8020", "cause", "another container", "-8020"),
    (
        "EE9999: The error from device(chipId:3, dieId:0), serial number is 1, event wait timeout occurred during task"
        " execution, stream_id:1, event_id=7, timeout=1980.",
        "symptom",
        "a wait of a stream for an event",
        "card 3; the limit was 1980 s",
    ),
    (
        "ErrorNo: 103901() [GE][MODULE]Failed to transfer sync, channel_id:10.0.0.5:20000, operation:read, op_descs"
        " size:1160, timeout:10000 ms.",
        "symptom",
        "a transfer between prefill and decode",
        "read, the other end is 10.0.0.5:20000, within 10000 ms",
    ),
    (
        "RuntimeError: CANN error: The argument is invalid.Reason: Set device failed, invalid device, set drv"
        " device=100, valid device range is [0, 8) Solution: 1.Check the input parameter range of the function.",
        "cause",
        "a process asks for a card",
        "it asks for card 100; there are 8",
    ),
    ("command terminated with exit code 137", "pointer", "killed with signal 9", ""),
    ("RuntimeError: worker 3 exited with code -9", "pointer", "killed with signal 9", ""),
    (
        "[W1 socket.cpp:929] [c10d] The server socket on [::ffff:198.18.0.7]:4711 has timed out, will retry.",
        "symptom",
        "198.18.0.0/15",
        "it is 198.18.0.7, port 4711",
    ),
)


def told(found: Explanation) -> str:
    return "; ".join(sentence for answer in found.answers for sentence in answer.says)


@pytest.mark.parametrize(("line", "role", "what", "words"), LINES)
def test_a_line_is_explained_with_its_values(line: str, role: str, what: str, words: str) -> None:
    found = explain_lines([line])
    assert found is not None
    assert found.answers[0].row.role == role
    assert what in found.answers[0].row.what
    assert words in told(found)


@pytest.mark.parametrize(
    "line",
    [
        "ImportError: libfoo.so: cannot open shared object file: No such file or directory",
        "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
        "/usr/lib/libfoo.so: undefined symbol: bar",
        "RuntimeError: Failed to find function main",
        "version mismatch. The build version is 1, but the current environment version is 2",
        "link status: UP",
        "eth0 link status: DOWN",
        "present : present",
        "buffer is too SMALL, NEEDED = 9MB, SIZE=2MB",
        "failed to listen 10.0.0.1:80",
        "AssertionError: Invalid device identifier",
        "(exitcode: -9)",
        "Worker 7 exit with exception",
        "Time out nodes are []",
        "CUDA out of memory. Tried to allocate 2.00 GiB",
        "Failed to connect to server, serverPort [60000]",
        "cannot bind, url: 10.0.0.1:80 Address already in use",
    ],
)
def test_similar_lines_of_other_programs_are_unknown(line: str) -> None:
    assert explain_lines([line]) is None


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
