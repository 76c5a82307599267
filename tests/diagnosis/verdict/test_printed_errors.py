"""Program output without any plog, in the formats of torch_npu, vLLM and MindSpore; the values are invented."""

from pathlib import Path

import pytest

from hccl_kit import Card, Host, diagnose, generate_cluster
from hccl_kit.diagnosis.report.text import as_text
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis
from tests.diagnosis.answers import fault_of, named

FRAME = """\
Traceback (most recent call last):
  File "train.py", line 9, in <module>
    dist.all_reduce(x)
RuntimeError: create_config:build/compiler_depend.ts:102 HCCL function error: hcclCommInitRootInfo(n), error code is 7
[ERROR] 2026-03-02-10:00:{second} (PID:{pid}, Device:{rank}, RankID:-1) ERR02200 DIST call hccl api failed.
"""
PORT = "EJ0003: [PID: 500] 2026-03-02-10:00:01.816.428 Failed to bind the IP port. Reason: it has been bound already.\n"
LATE = (
    "EI0006: [PID: 501] 2026-03-02-10:02:09.444.436 Getting socket times out. Reason: Remote Rank did not send data.\n"
)
INNER = """\
EE9999: Inner Error!
EE9999: [PID: 500] 2026-03-02-10:00:01.269.791 get error: phyid:0 is err:0x7010003[FUNC:GetDeviceIndexByPhyId]
"""
ROOT = "Communication_Error_Ranktable_Detect(EI0015): Failed to collect cluster information of the communicator."
TABLE = """\
RuntimeError: Ascend collective communication initialization failed.
- Ascend Error Message:
EI0004: The ranktable is invalid,Reason:[The ranktable config devId is inconsistent with the local devId.].
"""
ARGUMENTS = (
    "EI0005: The arguments for collective communication are inconsistent between ranks: tag [HcomAllReduce_1_0], "
)


def frame(rank: int, second: str) -> str:
    return FRAME.format(second=second, pid=500 + rank, rank=rank)


def diagnosed(folder: Path, *texts: str) -> Diagnosis:
    for rank, text in enumerate(texts):
        (folder / f"rank_{rank}.log").write_text(text)
    return diagnose([folder])


def test_the_hccl_error_below_the_frame_of_torch_is_the_fault(tmp_path: Path) -> None:
    """The frame comes first and has the later time."""
    found = diagnosed(tmp_path, frame(0, "02") + PORT, frame(1, "59") + LATE)
    assert (named(found), fault_of(found).code) == (0, "EJ0003")
    assert found.evidence[0].line == 6
    assert "hccl-kit explain EJ0003" in found.fix


def test_the_text_of_an_internal_error_takes_precedence_over_its_code(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, frame(0, "02") + INNER, frame(1, "59") + LATE)
    assert named(found) == 0
    assert "does not find the physical card" in fault_of(found).kind
    assert "explain EE9999" not in found.fix


def test_a_frame_around_a_timeout_is_not_a_fault(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, *(frame(rank, "59") + LATE for rank in range(2)))
    assert (found.certainty, found.first_fault) == ("cannot_tell", None)
    assert found.reason.startswith("the errors of these logs are consequences of another one: ")
    assert found.fix.startswith("correct the far end; give late ranks time")


SETTING_UP = (
    "[1] is setting up HCCL communicator and retrieving hcclUniqueId from [0] via c10d key-value store by key '0': "
)


@pytest.mark.parametrize("prefix", ["", SETTING_UP])
def test_a_lost_store_is_not_a_fault(tmp_path: Path, prefix: str) -> None:
    found = diagnosed(
        tmp_path, f"Traceback (most recent call last):\nRuntimeError: {prefix}failed to recv, got 0 bytes\n"
    )
    assert (found.certainty, found.first_fault) == ("cannot_tell", None)


def test_a_frame_far_above_an_error_is_another_message(tmp_path: Path) -> None:
    """The rank had given up waiting before, so later errors may be consequences."""
    found = diagnosed(tmp_path, frame(0, "02") + "still there\n" * 40 + "EL0004: Failed to allocate memory.\n")
    assert found.first_fault is None


def test_the_ranks_that_never_came_are_named(tmp_path: Path) -> None:
    texts = [f'{frame(rank, "59")}{ROOT} List of unconnected ranks: "[2,5,]".\n' for rank in (0, 1)]
    found = diagnosed(tmp_path, texts[0])
    assert [one.rank for one in found.suspects] == [2, 5]
    assert fault_of(found).code == "EI0015"
    assert "the root, has not heard from ranks 2, 5" in found.supports[0]
    (tmp_path / "rank_0.log").unlink()
    (tmp_path / "rank_1.log").write_text(texts[1])
    assert diagnose([tmp_path]).supports[0].startswith("as rank 1 ")


def test_arguments_that_differ_are_named(tmp_path: Path) -> None:
    told = [f"parameter [count], local [{own}], remote [{other}]\n" for own, other in ((16, 32), (32, 16))]
    found = diagnosed(tmp_path, *(ARGUMENTS + text for text in told))
    assert (fault_of(found).code, fault_of(found).kind) == (
        "EI0005",
        "called an operator with another count than the others",
    )


VERSIONS = (
    "The HCCL versions are inconsistent: tag [AllReduce_g], local_version [{}], remote_version [{}]",
    "The HCCL versions are inconsistent. The local version is {}, while the remote version is {}.",
    "Inconsistent HCCL Versions. local_version {}, remote_version {}.",
    "The Toolkit (cann-hcomm) versions are inconsistent. The local version is {} (version file: $ASCEND_HOME_PATH/share"
    "/info/hccl/version.info), while the remote version is {}.",
)


def test_ranks_with_another_release_are_named_with_it(tmp_path: Path) -> None:
    head = "EI0008: 2025-08-05-18:15:21.270.506 "
    for text in VERSIONS:
        found = diagnosed(
            tmp_path, *(f"{head}{text.format(*pair)}\n" for pair in (("8.5.0", "9.0.0"), ("9.0.0", "8.5.0")))
        )
        assert fault_of(found).kind == "run different releases of HCCL: 8.5.0 and 9.0.0"
        assert found.where == "all"


def test_a_table_error_on_all_ranks_is_attributed_to_the_table(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, TABLE, TABLE)
    assert (found.where, "so the rank table is the cause" in fault_of(found).kind) == ("all", True)
    assert found.fix.startswith("check the table: hccl-check TABLE")


def test_an_unknown_exception_is_shown_with_its_text(tmp_path: Path) -> None:
    found = diagnosed(
        tmp_path, "Traceback (most recent call last):\nRuntimeError: Tensors must be \x1b[2Jcontiguous\n", ""
    )
    assert fault_of(found).kind == "RuntimeError: Tensors must be \x1b[2Jcontiguous"
    assert "RuntimeError: Tensors must be " in as_text(found)
    assert "\x1b" not in as_text(found)


@pytest.mark.parametrize("text", ["RuntimeError: NPU out of memory. Tried to allocate 22.00 MiB (NPU 0)\n", PORT])
def test_a_log_that_names_no_rank_is_one_process(tmp_path: Path, text: str) -> None:
    (tmp_path / "train.log").write_text(text)
    found = diagnose([tmp_path])
    assert (fault_of(found).suspect.rank, found.certainty) == (None, "likely")


ENTRY = (
    "[INFO] HCCL({pid},python3):2026-03-02-10:00:00.000.000 [op_base.cc:12] [{pid}]Entry-HcclCommInitRootInfoInner:"
    "ranks[2], rank[{rank}], rootinfo: host ip[10.0.0.1] port[60000] nicDeploy[1] identifier[10.0.0.1%eth0_60000_0_"
    "1750000000123456], deviceLogicId[{rank}]\n"
)


def test_of_a_line_without_a_process_its_card_tells_the_rank(tmp_path: Path) -> None:
    """By the plogs of that server, or by the table of a job on one server."""
    text = "RuntimeError: NPU out of memory. Tried to allocate 22.00 MiB (NPU 1; 60.97 GiB total capacity)\n"
    (tmp_path / "train.log").write_text(text)
    table = generate_cluster(
        [Host("10.0.0.1", {card: Card(ip=f"192.168.1.{card}") for card in range(2)})], version="1.0"
    )
    for by_table in (True, False):
        for rank in () if by_table else (0, 1):
            plog = tmp_path / f"run/plog/plog-{500 + rank}_20260302100000000.log"
            plog.parent.mkdir(parents=True, exist_ok=True)
            plog.write_text(ENTRY.format(pid=500 + rank, rank=rank))
        found = diagnose([tmp_path], table if by_table else None)
        assert named(found) == 1


FINGERPRINT = (
    "CollectiveFingerPrint(SequenceNumber=7, OpType=ALLREDUCE, TensorShape=[25], TensorDtypes={},"
    " TensorDeviceTypes=TensorOptions(dtype=float (default), device=npu, pinned_memory=false (default)))"
)


def test_the_rank_is_named_whose_type_differs_as_torch_prints_it(tmp_path: Path) -> None:
    texts = []
    for rank in range(4):
        (own, other), peer = (("Half", "Float"), 0) if rank == 2 else (("Float", "Half"), 2)
        sides = [
            f"Rank {one} is running collective: {FINGERPRINT.format(of)}" for one, of in ((rank, own), (peer, other))
        ]
        error = f"RuntimeError: Detected mismatch between collectives on ranks. {sides[0]}, but {sides[1]}."
        texts.append(f'Traceback (most recent call last):\n  File "a.py", line 9, in f\n{error}\n')
    found = diagnosed(tmp_path, *texts)
    assert (named(found), [one.rank for one in found.suspects]) == (2, [2])
    assert "TensorDtypes" in fault_of(found).kind


SLOW = """\
Traceback (most recent call last):
  File "train.py", line 9, in <module>
RuntimeError: Sync stream error!
E39999: Inner Error, Please contact support engineer!
E39999  Aicpu kernel execute failed, device_id=0, stream_id=116, task_id=2, fault so_name=libaicpu_kernels.so, fault \
kernel_name=GetNext, fault op_name=, extend_info=.[FUNC:GetError]
        rtStreamSynchronize execute failed, reason=[the model stream execute failed][FUNC:FuncErrorReason]
[ERROR] DEVICE(500,fffe06ff,python):2026-03-02-10:00:32.886.561 [a.cc:761] Task fail infos retcode: 507011
"""


def test_a_card_that_got_no_data_in_time_is_not_at_fault(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, SLOW)
    assert (named(found), found.blame) == (0, None)
    assert "got no batch of data in time" in fault_of(found).kind
    assert "num_parallel_workers" in found.fix


def test_logs_of_several_folders_that_name_no_rank_are_suspects(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.log").write_text(
            "RuntimeError: NPU out of memory. Tried to allocate 22 MiB (NPU 0)\n"
        )
    found = diagnose([tmp_path])
    assert found.where == "all"
    assert [one.server for one in found.suspects] == ["a", "b"]


def test_a_rank_without_a_log_that_others_waited_for_is_named(tmp_path: Path) -> None:
    head = "[ERROR] HCCL(700,python):2026-03-02-10:02:09.706.530 [hccl_socket_manager.cc:582] [701]"
    row = "   |  10.20.0.29(27)  |  16666  |  10.20.0.2(0)  |  344835272  |  server  | time out |  DISABLE  | LinkInfo"
    found = diagnosed(tmp_path, f"{head}{row}\n")
    assert found.reason == "there is no log of rank 27, for which others waited"
    assert [one.rank for one in found.suspects] == [27]


NO_HCCL = """\
Traceback (most recent call last):
ImportError: libhccl.so: cannot open shared object file: No such file or directory
"""
KNOWN_FIX = "source /usr/local/Ascend/ascend-toolkit/set_env.sh in the shell"


def test_a_known_error_has_its_fix(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, NO_HCCL, "")
    assert fault_of(found).code is None
    assert found.fix.startswith(KNOWN_FIX)
    (tmp_path / "rank_0.log").write_text(PORT)
    assert diagnose([tmp_path]).fix.endswith("; see `hccl-kit explain EJ0003`")


def test_a_known_error_of_every_rank_has_its_fix(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, NO_HCCL, NO_HCCL)
    kind = "failed with the same error: ImportError: a library of CANN is not found: it is libhccl.so"
    assert (found.where, fault_of(found).kind) == ("all", kind)
    assert found.fix.startswith(KNOWN_FIX)
    assert found.fix.endswith("; every rank has this error")


@pytest.mark.parametrize(("server", "is_answer"), [("n1", True), ("n2", False)])
def test_a_rank_that_was_ended_before_it_came_to_the_error_of_all_others_does_not_matter(
    tmp_path: Path, server: str, is_answer: bool
) -> None:
    """On a server where nobody has the error, the program may be well."""
    ends = "100 exited 0 1 0 n1\n100 ending rank 0 1\n100 exited 1 1 1 n1\n"
    (tmp_path / "launcher_0").write_text(f"{ends}100 exited 2 143 2 {server}\n")
    found = diagnosed(tmp_path, NO_HCCL, NO_HCCL, "")
    assert (found.first_fault is not None) == is_answer
    if found.first_fault:
        assert fault_of(found).kind.startswith("failed with the same error as rank 1: ImportError")
        assert found.fix.endswith("; the other ranks were ended before they came to it")


UNKNOWN = "[ERROR] GE(500,python):2026-03-02-10:00:01.000.000 [a.cc:1]500 Do:[X]something nobody knows\n"


def test_an_error_that_is_not_known_is_no_cause_by_itself(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, UNKNOWN)
    assert (found.certainty, found.first_fault) == ("cannot_tell", None)
    assert "an error of GE that is not known: Do:[X]something nobody knows" in found.reason
    assert found.fix == f"read {tmp_path / 'rank_0.log'} from line 1 on"


def test_the_first_failure_of_torchrun_is_not_the_first_in_its_list(tmp_path: Path) -> None:
    block = "  rank      : {rank} (local_rank: {rank})\n  exitcode  : 1 (pid: {rank}1)\n"
    text = f"Failures:\n{block.format(rank=3)}Root Cause (first observed failure):\n{block.format(rank=1)}"
    (tmp_path / "train.log").write_text(text)
    found = diagnose([tmp_path])
    assert named(found) == 1


def test_the_exception_of_torchrun_itself_is_no_error_of_a_rank(tmp_path: Path) -> None:
    """With --redirects 3, what torchrun prints of the ranks is only how they ended."""
    block = "  time      : 2026-03-02_10:00:0{second}\n  rank      : {rank} (local_rank: {rank})\n"
    block += "  exitcode  : {code} (pid: {rank}1)\n"
    text = 'Traceback (most recent call last):\n  File "/opt/torchrun", line 8, in <module>\n    sys.exit(main())\n'
    text += "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n====\na.py FAILED\n----\nFailures:\n"
    text += block.format(second=2, rank=0, code="-15") + "Root Cause (first observed failure):\n"
    (tmp_path / "train.log").write_text(text + block.format(second=1, rank=1, code="1"))
    found = diagnose([tmp_path])
    assert (named(found), fault_of(found).kind) == (1, "ended with exit code 1")


LOST = """\
[rank{rank}]: Traceback (most recent call last):
[rank{rank}]:   File "/x/a.py", line 9, in <module>
[rank{rank}]: RuntimeError: [/x/gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:1179: Connection reset by peer
"""
NOTICED = """\
--------------------------------------------------------------------------
prterun noticed that process rank 1 with PID 10019 on node n1 exited on
signal 9 (Killed).
"""
DETECTED = """\
prterun detected that one or more processes exited with non-zero status,
thus causing the job to be terminated. The first process to do so was:

   Process name: [prterun-n1-10057@1,1]
   Exit code:    7
"""
ELASTIC = """\
Root Cause (first observed failure):
[0]:
  rank      : 1 (local_rank: 1)
  exitcode  : 7 (pid: 10775)
"""
WATCHDOG = (
    "[rank2]:[E1122 10:00:00.1 ProcessGroupNCCL.cpp:616] [Rank 2] Watchdog caught collective operation timeout:"
    " WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600029 milliseconds\n"
)


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        (NOTICED, "was killed by SIGKILL (perhaps by the out-of-memory killer)"),
        (DETECTED, "ended with exit code 7"),
        (ELASTIC, "ended with exit code 7"),
    ],
)
def test_a_rank_that_ends_without_a_word_is_named_if_the_screen_has_the_words_of_others(
    end: str, kind: str, tmp_path: Path
) -> None:
    (tmp_path / "train.log").write_text(LOST.format(rank=0) + LOST.format(rank=2) + end)
    found = diagnose([tmp_path])
    assert (named(found), fault_of(found).kind) == (1, kind)


def test_a_rank_that_ends_without_a_word_while_others_wait_may_have_given_up(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(f"{LOST.format(rank=0)}{WATCHDOG}{ELASTIC}")
    assert diagnose([tmp_path]).certainty == "cannot_tell"


HEAD = "[{}] DISTRIBUTED({},7fb84259e6c0,python):2026-03-02-10:00:{}.182.000 [mindspore/ccsrc/cluster/topology/{}] "
SERVER = "meta_server_node.cc:548] UpdateTopoState"
SCHEDULER = (
    HEAD.format("ERROR", 5992, 31, SERVER)
    + "The node: 1 is timed out. It may exit with exception, please check this node's log.\n"
    + HEAD.format("ERROR", 5992, 32, SERVER)
    + "There are 1 abnormal compute graph nodes.\n"
    + 'Traceback (most recent call last):\n  File "/x/train.py", line 5, in <module>\n    init()\n'
    + "RuntimeError: The total number of timed out node is 1. Timed out node list is: [const vector]{1}, worker 1 is"
    + " the first one timed out, please check its log.\n"
)


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        (
            'Traceback (most recent call last):\n  File "/x/train.py", line 8, in <module>\nKeyError: 1\n',
            "KeyError: 1 (at train.py:8)",
        ),
        ("", "stopped answering MindSpore's scheduler"),
    ],
)
def test_a_rank_of_msrun_is_named_by_its_own_error_before_what_the_scheduler_saw(
    output: str, kind: str, tmp_path: Path
) -> None:
    """The scheduler is no rank, although it names one."""
    (tmp_path / "scheduler.log").write_text(SCHEDULER)
    for rank, text in enumerate(("", output)):
        head = HEAD.format("WARNING", 6001 + rank, "01", "cluster_context.cc:428] PostProcess")
        head += f"This node {rank} rank id: {rank}\n"
        (tmp_path / f"worker_{rank}.log").write_text(head + text)
    found = diagnose([tmp_path])
    assert (named(found), fault_of(found).kind) == (1, kind)


@pytest.mark.parametrize(("second", "rank"), [(8, 1), (7, None)])
def test_the_first_failure_of_torchrun_is_known_if_no_other_is_of_its_second(
    tmp_path: Path, second: int, rank: int | None
) -> None:
    """It takes the earliest of its times, which are whole seconds."""
    block = "  time      : 2026-03-02_10:00:0{second}\n  rank      : {rank} (local_rank: {rank})\n"
    block += "  exitcode  : 1 (pid: {rank}1)\n"
    text = f"Failures:\n{block.format(second=second, rank=3)}"
    text += f"Root Cause (first observed failure):\n{block.format(second=7, rank=1)}"
    (tmp_path / "train.log").write_text(text)
    found = diagnose([tmp_path])
    assert named(found) == rank


def test_the_rank_below_the_highest_that_the_root_has_not_heard_from_is_named(tmp_path: Path) -> None:
    """Without the size of the communicator."""
    head = "[ERROR] HCCL(500,python):2026-03-02-10:02:00.000.000 [a.cc:1] [9][DisplayConnectedRank]"
    text = f"{head}total connected num is [3],line num is [1]\n{head}connected rankinfo[LINE 0]: "
    text += ",".join(f"[{rank:016}]" for rank in (0, 1, 3)) + ";\n"
    found = diagnosed(tmp_path, text)
    assert (named(found), fault_of(found).code) == (2, "EI0015")


def test_the_reason_of_an_argument_that_is_not_valid_is_shown(tmp_path: Path) -> None:
    text = (
        "EE1001: [PID: 500] 2026-03-02-10:00:01.000.000 The argument is invalid.Reason: set"
        " ASCEND_RT_VISIBLE_DEVICES:1,0 error, it must be configured in ascending order\n"
    )
    found = diagnosed(tmp_path, text)
    assert fault_of(found).kind.endswith("VISIBLE_DEVICES:1,0 error, it must be configured in ascending order")


NO_CONTEXT = (
    "RecentErrMsg: [PID: 5] 2026-03-02-10:00:01.000.000 Invalid_Argument(EE1001): The argument is invalid.Reason:"
    " rtGetDevMsg execution failed, the context is a null pointer.\n"
)


@pytest.mark.parametrize(
    ("below", "kind"),
    [
        ("[Init][Version]init soc version failed, ret = 507008", "could not read from the driver which chip"),
        ("[drv api] halDeviceOpen failed. device_id=1, drvRetCode=7.", "did not open a card"),
        ("TsdOpen failed. devId=2, tdt error=34[FUNC:PrintfTsdError]", "the error of its process manager 34"),
        ("Set visible device failed, invalid device=1, input visible devices:1", "the mask of visible cards"),
    ],
)
def test_a_message_that_could_not_be_fetched_is_a_frame_of_the_error_below_it(
    tmp_path: Path, below: str, kind: str
) -> None:
    found = diagnosed(tmp_path, f"{NO_CONTEXT}        {below}\n")
    assert (kind in fault_of(found).kind, fault_of(found).code) == (True, None)
    assert diagnosed(tmp_path, NO_CONTEXT).first_fault is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            "E30006: Failed to verify the OPP\\n  Start aicpu executor failed\\n\n",
            "could not verify its package",
        ),
        (
            NO_HCCL.replace("libhccl.so: cannot open shared object", "Failed to find function HcclCommX"),
            "CANN lacks a function",
        ),
    ],
)
def test_the_row_of_a_root_error_counts_more_than_words_of_consequences(tmp_path: Path, text: str, kind: str) -> None:
    found = diagnosed(tmp_path, text)
    assert kind in fault_of(found).kind


HARMLESS = """\
[W compiler_depend.ts:7] Warning: 0Failed to find function aclrtX (function operator())
[ERROR] TBE Subprocess[task_distribute] raise error[], main process disappeared!
[ERROR] 2026-03-02-10:00:09 (PID:500, Device:0, RankID:-1) ERR99999 UNKNOWN applicaiton exception
a.py:224: UserWarning: resource_tracker: There appear to be 12 leaked semaphore objects to clean up at shutdown
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""


def test_lines_that_follow_an_error_are_no_first_fault(tmp_path: Path) -> None:
    assert diagnosed(tmp_path, HARMLESS).first_fault is None


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("EZ3003: No supported Ops kernel and engine are found for [PoolX1], optype [PoolX].", "the operator is PoolX"),
        (
            "AclNN_Parameter_Error(EZ1001): x not implemented for DT_DOUBLE, should be in dtype support list [DT_INT8]",
            "the data type DOUBLE is not supported",
        ),
        ("EC0010: Failed to import Python module [ModuleNotFoundError: No module named 'sympy'.].", "it is sympy"),
    ],
)
def test_the_error_below_a_call_that_failed_is_the_first_fault(tmp_path: Path, error: str, kind: str) -> None:
    call = FRAME.replace("HCCL function error: hcclCommInitRootInfo(n), error code is 7", "{call}").replace(
        "ERR02200 DIST call hccl api failed.", "ERR01100 OPS call acl api failed"
    )
    text = call.format(call="OPS function error: PoolX, error code is 500002", second="01", pid=500, rank=0)
    found = diagnosed(tmp_path, f"{text}{error}\n{HARMLESS}")
    assert found.first_fault is not None
    assert kind in found.first_fault.kind


def test_a_crash_under_open_mpi_is_a_fault_but_not_after_an_exception(tmp_path: Path) -> None:
    crash = "[n1:78] *** Process received signal ***\n[n1:78] Signal: Segmentation fault (11)\n"
    found = diagnosed(tmp_path, crash)
    assert "it is process 78 on n1: Segmentation fault" in fault_of(found).kind
    found = diagnosed(tmp_path, NO_HCCL + crash)
    assert "a library of CANN is not found" in fault_of(found).kind


def test_a_fault_in_a_single_log_does_not_name_its_folder_as_a_host(tmp_path: Path) -> None:
    text = "EJ0001: [PID: 500] 2026-03-02-10:00:01.000.000 Failed to initialize the HCCP process.\n"
    (tmp_path / "train.log").write_text(text)
    found = diagnose([tmp_path])
    assert tmp_path.name not in as_text(found).replace(str(tmp_path), "")
    assert "earlier jobs on its host" in found.fix


def test_a_process_killed_by_signal_9_points_to_the_kernel_log(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("failed (exitcode: -9) local_rank: 3 (pid: 7) of binary: /usr/bin/python\n")
    assert diagnose([tmp_path]).fix.startswith("look for the out-of-memory killer on its host: dmesg")
