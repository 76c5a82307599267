"""Lines in the grammar of HCCL's logs: the explanation of each, with its values and its code."""

import pytest

from hccl_kit.diagnosis.answer_text import as_page
from hccl_kit.diagnosis.explanation import Explanation
from hccl_kit.diagnosis.known_lines import explain_lines
from hccl_kit.diagnosis.lookup import explain

HEAD = "[ERROR] HCCL(4711,train):2026-02-03-04:05:06.007.008 [some_file.cc:12] [4712]"
INFO = HEAD.replace("ERROR", "INFO")


def told(found: Explanation) -> str:
    return "; ".join(sentence for answer in found.answers for sentence in answer.says)


@pytest.mark.parametrize(
    ("line", "code", "role", "words"),
    [
        # The host's network.
        (
            f'{HEAD}[InitGroupStage]fault_info["Failed to connect agent[2,5,9,]"]',
            "EI0015",
            "pointer",
            "ranks 2,5,9 never joined",
        ),
        (f"{HEAD}connectFailedAgentIdList[3,7,]", "EI0015", "pointer", "ranks 3,7 never joined"),
        (f"{HEAD}topo exchange server get socket timeout! timeout[240 s]", "EI0015", "pointer", "waited 240 s"),
        (
            f"{HEAD}TopoExchangeAgent: connect server[10.1.2.3 : 60017] failed",
            "EI0015",
            "pointer",
            "root at 10.1.2.3, port 60017",
        ),
        (
            f"{HEAD}connected rankinfo[LINE 0]: [0000000000000003],[0000000000000004];",
            "EI0015",
            "pointer",
            "0000000000000003",
        ),
        (f"{HEAD}need connect rankNum is [32]", "EI0015", "pointer", "32 ranks are needed"),
        (
            f"{HEAD}socket type[2], listen on ip[10.1.2.3%eth7] and specific port[60003] fail.",
            "EI0019",
            "cause",
            "10.1.2.3%eth7, port 60003",
        ),
        (
            f"{HEAD}set ifname to [ib0] by HCCL_SOCKET_IFNAME, but not found in the environment",
            "EI0001",
            "cause",
            "asks for ib0",
        ),
        (
            "EI0001: Value 9 for environment variable HCCL_RDMA_SL is invalid. Expected value: range[0, 7].",
            "EI0001",
            "cause",
            "value is 9",
        ),
        # The cards' network.
        (
            f"{HEAD}socket type[1], listen on ip[192.168.7.8] and specific port[16670] fail.",
            "EI0020",
            "cause",
            "192.168.7.8, port 16670",
        ),
        (
            f"{HEAD}wait socket establish timeout, role[0] rank[27] timeout[300 s]",
            "EI0006",
            "symptom",
            "rank 27 is this process, and it waited 300 s",
        ),
        (
            f"{HEAD}   |  10.20.0.2(0)   |  16666  |   10.20.0.9(27)   |  0  |  client  | time out |   DISABLE  |"
            f" LinkInfo",
            "EI0006",
            "pointer",
            "rank 27 (10.20.0.9) waits for rank 0 (10.20.0.2), as client: time out; the port of the far end is 16666;"
            " TLS of this card: DISABLE",
        ),
        (
            f"{HEAD}| 10.20.0.2(0) | 10.20.0.9(27) | server | no connect |",
            "EI0006",
            "pointer",
            "rank 27 (10.20.0.9) waits for rank 0",
        ),
        (
            f"{HEAD}Transport init error! createLink para:rank[1]-localUserrank[5]-localIpAddr[10.1.1.1/5],"
            " remoteRank[0]-remoteUserrank[4]-remoteIpAddr[10.1.1.2/4], isUsedRdma[1], tag[AllGather_g]",
            "EI0009",
            "pointer",
            "rank 5 (host/card 10.1.1.1/5) waits for rank 4 (host/card 10.1.1.2/4); the operator is AllGather_g",
        ),
        (
            f"{HEAD}[Wait][P2PConnected]connected p2p timeout, timeout:130 s. local logicDevid:3, remote physic id:6.",
            "EI0006",
            "pointer",
            "(its card 3) waited 130 s for physical card 6",
        ),
        (
            f"{HEAD}detects that srcRank (server 10.1.1.1, device ID 2) fails to connect to dstRank (server"
            f" fd00::7, device ID 3)",
            "EI0006",
            "pointer",
            "card 2 of 10.1.1.1 waits for card 3 of fd00::7",
        ),
        (
            f"{HEAD}CMD information cmdType check fail. local[2], remote[6]",
            "EI0005",
            "cause",
            "2 (AllReduce) here and 6 (AllGather)",
        ),
        (f"{HEAD}CMD information count check fail. local[8], remote[9]", "EI0005", "cause", "count is 8 here and 9"),
        (
            f"{HEAD}local rank information: nicType[VNIC_TYPE], logicSuperPodId[a], phySuperPodId[3]",
            "EI0006",
            "fact",
            "physical super pod is 3",
        ),
        (
            "EI0008: The HCCL versions are inconsistent. The local version is 8.1, while the remote version is 8.3.",
            "EI0008",
            "cause",
            "here 8.1, at the far end 8.3",
        ),
        (
            "EI0009: Device 3 transport init error. Reason: The network port is down.",
            "EI0009",
            "cause",
            "the card is 3",
        ),
        (
            f"{HEAD}client : device[3] rank[7] get scoket timeout, total[1]",
            "EI0006",
            "symptom",
            "rank 7 is this process, on card 3",
        ),
        # Operators.
        (
            "EI0002: The wait execution of the Notify register times out. Reason: The Notify register has not"
            " received the"
            " Notify record from remote rank: [3]. base information: [streamID:[7], tag[AllReduce_g], x]. group"
            " information: [group:[g], rankSize[8], rankId[6].]",
            "EI0002",
            "symptom",
            "this is rank 6 of 8; it waits for rank 3",
        ),
        (
            f"{HEAD}Task run failed, base information is streamID:[7], taskID[3], tag[Broadcast_g], index[41], x",
            "EI0002",
            "symptom",
            "operator is Broadcast_g; it is operator number 41",
        ),
        (
            f"{HEAD}Task run failed, para information is notify id:[1], stage:[0], remote rank:[4294967295]",
            "EI0002",
            "symptom",
            "does not name (4294967295)",
        ),
        (
            f"{HEAD}Task run failed, para information is notify id:[1], stage:[0], remote rank:[local]",
            "EI0002",
            "symptom",
            "waits for a task of its own card",
        ),
        (
            "EI9999: The error from device(chipId:5, dieId:0), hccl fftsplus task timeout occurred, stuck notify num:3,"
            " timeout:1836.",
            "EI0002",
            "symptom",
            "card 5; 3 waits are stuck; the limit was 1836",
        ),
        (
            "[ERROR] ROCE(7,x):2026-02-03-04:05:06.007.008 [a.c:1]handle(1) : error cqe status: 0x15",
            "EI0013",
            "pointer",
            "status is 0x15",
        ),
        (
            "Execution_Error_ROCE_CQE(EI0013): An error CQE occurred during operator execution. Local"
            " information: server"
            " 10.1.1.1, device ID 3, device IP 10.2.2.1. Peer information: server 10.1.1.9, device ID 4, device"
            " IP 10.2.2.9.",
            "EI0013",
            "pointer",
            "card 3 of 10.1.1.1 (10.2.2.1) sent to card 4 of 10.1.1.9 (10.2.2.9): look at 10.1.1.9 first",
        ),
        # Heartbeats.
        (
            "Cluster Exception Location[IP/ID]:[10.1.1.1/6], Arrival Time:[Tue Feb 3 04:05:06 2026],"
            " Discoverer:[10.1.1.1/2],"
            " ExceptionType:[Heartbeat Lost Occurred], Possible Reason:1. x",
            None,
            "pointer",
            "is 10.1.1.1/6; seen by 10.1.1.1/2; at Tue Feb 3 04:05:06 2026",
        ),
        (
            f"{INFO}local rank [10.1.1.1/0]: crimer rank [10.1.1.2/7] status[STUCK] by informer rank [10.1.1.3/1]",
            None,
            "pointer",
            "card 10.1.1.2/7 (host/number) is named",
        ),
        ("server:10.1.1.1/5, server:10.1.1.1/1, Heartbeat Lost Occurred", None, "pointer", "10.1.1.1/5"),
        # Around HCCL.
        (
            "EE1001: The argument is invalid.Reason: set ASCEND_RT_VISIBLE_DEVICES:6 error, input data rang[0-4)",
            "EE1001",
            "cause",
            "ASCEND_RT_VISIBLE_DEVICES=6",
        ),
        (
            "RuntimeError: NPU function error: aclrtSynchronizeStream, error code is 507046",
            "507046",
            "symptom",
            "aclrtSynchronizeStream returned 507046",
        ),
        (
            "E1 5793 ascend_direct_transport.cpp:820] Failed to connect to target: 10.1.1.1:25482, status: 103900",
            None,
            "symptom",
            "the other end is 10.1.1.1:25482",
        ),
        (f"{INFO}Entry-HcclCommPrepare:comm[10.1.1.1:203_10.1.1.2:210], timeout[3 s]", None, "fact", "within 3 s"),
        (f"{HEAD}[Prepare] Prepare failed. commIdentifier[10.1.1.1:203_10.1.1.2:210]", None, "symptom", "10.1.1.2:210"),
        ("        Device[3] lost heartbeat.[FUNC:SyncTask][FILE:engine.cc][LINE:4]", "507010", "cause", "card is 3"),
        ("dcmi module initialize failed. ret is -8005", None, "cause", "-8005"),
        (
            "[Error] The error from device(chipId:5, dieId:0), serial number is 7, there is an exception of aivec"
            " error, core id is 40, error code = 0",
            "EZ9999",
            "cause",
            "aivec error; on the chip 5",
        ),
        (
            "The extend info: errcode:(0, 0x8000, 0) errorStr: The address of the instruction is out of range. fsmId:1",
            "EZ9999",
            "cause",
            "the card says: The address of the instruction is out of range",
        ),
        (
            "Aicpu kernel execute failed, device_id=0, soName=libtf_kernels.so, kernelName=MatMul, errorCode=0x2a.",
            "EZ9999",
            "cause",
            "the kernel is MatMul",
        ),
        (
            "[TSDaemon] checksum aicpu package failed, ret=103, [tsd_common.cpp:2242:S]17",
            "E39999",
            "cause",
            "returned 103",
        ),
        (
            "EC0010: Failed to import Python module [ModuleNotFoundError: No module named 'tbe'.].",
            "EC0010",
            "cause",
            "",
        ),
        (
            "[W socket.cpp:436] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already"
            " in use).",
            None,
            "cause",
            "it is port 29500 of ::",
        ),
        (
            "RuntimeError: [enforce fail at gloo/transport/tcp/device.cc:83] ifa != nullptr. Unable to find address"
            " for: eth0",
            None,
            "cause",
            "it looks for eth0",
        ),
        # Frameworks.
        (
            "RuntimeError: x HCCL function error: HcclGetRootInfo(&id), error code is 11",
            "HcclResult 11",
            "result",
            "HcclGetRootInfo returned 11",
        ),
        (
            "[rank3]:[E1] [Rank 3] Watchdog caught collective operation timeout: WorkHCCL(SeqNum=41, OpType=BROADCAST,"
            " Timeout(ms)=1800000) ran for 1800041 milliseconds before timing out.",
            None,
            "symptom",
            "rank 3, operator number 41: BROADCAST",
        ),
        (
            "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 6/8 clients joined.",
            None,
            "symptom",
            "6 of 8 processes joined within 1801 s",
        ),
        (
            "RuntimeError: Ascend kernel runtime initialization failed, device id: 3. The details refer to",
            None,
            "frame",
            "card is 3",
        ),
        (
            "Call aclrtSetDevice failed, ret[107001]. Got device count[8] and device id[9], please check",
            "107001",
            "cause",
            "asks for card 9; there are 8",
        ),
        (
            "(EngineCore_DP0 pid=7) INFO 12-12 No available shared memory broadcast block found in 60 seconds.",
            None,
            "fact",
            "60 s",
        ),
        # Facts and values.
        (
            f"{INFO}Entry-HcclCommInitRootInfoInner:ranks[4], rank[3], rootinfo: host ip[10.1.1.1] port[60000]"
            f" nicDeploy[1] identifier[g], deviceLogicId[3]",
            None,
            "fact",
            "rank 3 of 4; the group is g",
        ),
        (
            f"{INFO}[HCCL_ENV] HCCL_CONNECT_TIMEOUT set by environment to [600]s",
            None,
            "value",
            "HCCL_CONNECT_TIMEOUT is 600, set by environment",
        ),
        ("[INFO] HCCP(7,hccp_service.bin): x : TLS SWITCH (1)", None, "value", "the switch is 1"),
        (
            f"{INFO}[LocalRank Key Info]userRank[6] hostIp[10.1.1.1] devicePhyId[2] server[s] deviceIp[10.2.2.2]",
            None,
            "fact",
            "physical card 2",
        ),
    ],
)
def test_a_line_is_explained_with_its_values(line: str, code: str | None, role: str, words: str) -> None:
    found = explain(line)
    assert (found.answers[0].code, found.answers[0].row.role) == (code, role)
    assert words in told(found)


@pytest.mark.parametrize(
    "prefix",
    [
        "[rank1]: ",
        "(Worker_TP11 pid=15618) ERROR 10-11 11:32:59 [model_runner_v1.py:3556] ",
        "(TaskRunner pid=7) ",
        "worker-1: ",
        "run/plog/plog-7_2026.log:14:",
        "        ",
    ],
)
def test_the_prefix_of_a_framework_does_not_change_the_explanation(prefix: str) -> None:
    line = f"{HEAD}socket type[1], listen on ip[192.168.7.8] and specific port[16670] fail."
    assert explain(prefix + line).answers[0]._replace(text="") == explain(line).answers[0]._replace(text="")


LOG = f"""\
some program starts
{INFO}Entry-HcclCommInitRootInfoInner:ranks[4], rank[3], rootinfo: host ip[10.1.1.1] identifier[g], deviceLogicId[3]
{HEAD}socket type[1], listen on ip[192.168.7.8] and specific port[16670] fail.
{HEAD}call trace: hcclRet -> 19
{HEAD}wait socket establish timeout, role[1] rank[12] timeout[120]
RuntimeError: HCCL function error: HcclAllReduce(x), error code is 7
"""


def test_the_root_error_of_a_log_is_explained_with_its_line_number() -> None:
    found = explain(LOG)
    assert (found.answers[0].line, found.answers[0].code) == (3, "EI0020")
    assert "line:        3: [ERROR] HCCL(4711,train)" in as_page(found, 500)


@pytest.mark.parametrize(("without", "line"), [((2,), 5), ((2, 4), 4), ((2, 3, 4, 5), 2)])
def test_a_consequence_is_preferred_to_a_result_and_a_result_to_a_fact(without: tuple[int, ...], line: int) -> None:
    kept = ["-" if number in without else each for number, each in enumerate(LOG.split("\n"))]
    assert explain("\n".join(kept)).answers[0].line == line


def test_a_note_points_at_a_program_error_above_a_timeout() -> None:
    found = explain(
        f"Traceback\nValueError: no such key\n{HEAD}wait socket establish timeout, role[1] rank[1] timeout[9]"
    )
    assert found.answers[0].line == 3
    assert found.notes == ("line 2 has an earlier error of the program itself; read it first: ValueError: no such key",)


@pytest.mark.parametrize(
    "line",
    [
        "KeyError: 3",
        "my.own.StopException",
        "KeyboardInterrupt",
        "Segmentation fault (core dumped)",
        "timeout: the monitored command dumped core, core dumped",
        "Killed",
        "Out of memory: Killed process 7 (python)",
        "oom-kill:constraint=CONSTRAINT_MEMCG",
        "OSError: [Errno 28] No space left on device",
        "Bus error",
    ],
)
def test_a_program_error_far_above_a_timeout_is_found_too(line: str) -> None:
    """Other lines of its part of the log need not be known."""
    log = [line, *["step"] * 1000, f"{HEAD}wait socket establish timeout, role[1] rank[1] timeout[9]"]
    found = explain_lines(log)
    assert found is not None
    assert any(line in text for text in (*found.notes, found.answers[0].text))


def test_the_value_of_a_message_is_found_far_from_known_lines() -> None:
    found = explain_lines([*["step"] * 1000, "Value 9 for ranktable variable new_name is invalid."])
    assert found is not None
    assert (found.answers[0].line, found.answers[0].code) == (1001, "EI0014")


def test_values_are_bounded() -> None:
    found = explain(
        f"EI0001: Value {'9' * 100} for environment variable HCCL_RDMA_SL is invalid. Expected: {'x' * 9_000}"
    )
    assert max(map(len, told(found).split("; "))) < 200


def test_a_page_is_wrapped() -> None:
    for width in (60, 80, 120):
        lines = as_page(explain("EI0006"), width).split("\n")
        assert max(map(len, lines)) <= width
        assert lines[0].startswith("EI0006: a rank timed out")
