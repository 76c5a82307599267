"""The output of jobs as launchers, containers and terminals leave it: the forms are public, the values are invented."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hccl_kit import diagnose
from hccl_kit.diagnosis.most_telling import most_telling
from tests.diagnosis.answers import fault_of, named

FRAMES = 'Traceback (most recent call last):\n  File "/job/{file}", line 4, in step\n    loss = net(batch)\n'
SHAPE, MISSING = "ValueError: 12 values do not fit", "FileNotFoundError: [Errno 2] No such file: '/ckpt/last.pt'"
FAILED = FRAMES.format(file="train.py") + SHAPE + "\n"
STEP = "{{'loss': 2.31, 'learning_rate': 5e-05, 'epoch': {}}}\n"
CUT = "srun: error: n1: task 0: Terminated\n"


def traceback(error: str, rank: int | None = None) -> str:
    prefix = "" if rank is None else f"[rank{rank}]: "
    text = FRAMES.format(file="train.py") + error
    return "".join(f"{prefix}{line}\n" for line in text.split("\n"))


def summary(rank: int, *, code: int = 1, local: int = 0, host: str = "n1", hour: int = 10) -> str:
    """What torchrun prints at its end."""
    failed = f"failed (exitcode: {code}) local_rank: {local} (pid: 4711) of binary: /usr/bin/python3"
    return f"""\
E1103 {hour}:11:45.500000 28 torch/distributed/elastic/multiprocessing/api.py:874] {failed}
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2025-11-03_{hour}:11:45
  host      : {host}
  rank      : {rank} (local_rank: {local})
  exitcode  : {code} (pid: 4711)
============================================================
"""


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))
    return path


def docker(line: str) -> str:
    return json.dumps({"log": f"{line}\n", "stream": "stderr"}, separators=(",", ":"))


@pytest.mark.parametrize(
    "form",
    [
        docker,
        "2025-11-03T10:11:45.123456789+08:00 stderr F {}".format,
        "Nov 03 10:11:45 n1 torchrun[4100]: {}".format,
        "3: {}".format,
    ],
)
def test_what_is_written_around_a_line_hides_no_traceback(tmp_path: Path, form: object) -> None:
    assert callable(form)
    lines = traceback(SHAPE, 1).splitlines()
    found = diagnose([write(tmp_path / "job.log", "".join(f"{form(line)}\n" for line in lines))])
    assert (named(found), fault_of(found).kind) == (1, f"{SHAPE} (at train.py:4)")


def test_a_line_of_docker_that_is_cut_is_no_error(tmp_path: Path) -> None:
    text = "".join(f"{docker(line)}\n" for line in traceback(SHAPE, 1).splitlines())
    deep = '{"log":"","a":' + "[" * 9000 + "\n"  # and one that nests without end
    found = diagnose([write(tmp_path / "job.log", deep + text + '{"log":"')])
    assert named(found) == 1


@pytest.mark.parametrize("where", ["above", "below"])
def test_a_progress_bar_is_no_part_of_an_error(tmp_path: Path, where: str) -> None:
    bar = "".join(f"\r{done}%|##   | {done}/100" for done in range(9))
    text = traceback(SHAPE, 1).rstrip("\n")
    found = diagnose([write(tmp_path / "job.log", f"{bar}{text}\n" if where == "above" else text + bar)])
    assert fault_of(found).kind == f"{SHAPE} (at train.py:4)"


def test_chinese_text_in_gbk_is_read(tmp_path: Path) -> None:
    text = "开始训练\n" + traceback("ValueError: 批大小必须是卡数的整数倍", 1)
    found = diagnose([write(tmp_path / "job.log", text, "gbk")])
    assert "批大小必须是卡数的整数倍" in fault_of(found).kind


def test_of_several_runs_in_one_file_the_last_counts(tmp_path: Path) -> None:
    first = traceback(SHAPE, 1) + summary(1, local=1)
    again = traceback(MISSING, 0) + summary(0, hour=12)
    log = write(tmp_path / "nohup.out", first + again)
    found = diagnose([log])
    assert (named(found), "FileNotFoundError" in fault_of(found).kind) == (0, True)
    lines = first.count("\n") - 1
    assert found.notes == (f"{log} has the output of several runs: its first {lines} lines are of earlier ones",)


@pytest.mark.parametrize("host", ["n2", "n1"])  # n1: as seen of two servers whose names have one address
def test_the_summaries_of_two_servers_are_of_one_run(tmp_path: Path, host: str) -> None:
    text = traceback(SHAPE, 1) + summary(1, local=1) + "no error\n" + summary(9, local=1, host=host)
    found = diagnose([write(tmp_path / "job.log", text)])
    assert (named(found), found.notes) == (1, ())


def test_the_last_attempt_of_torchrun_counts(tmp_path: Path) -> None:
    run = tmp_path / "none_x"
    for attempt, rank, error in ((0, 1, SHAPE), (1, 0, MISSING)):
        for local in range(2):
            text = traceback(error, rank) if local == rank else ""
            write(run / f"attempt_{attempt}/{local}/stderr.log", text)
    found = diagnose([tmp_path])
    assert (named(found), "FileNotFoundError" in fault_of(found).kind) == (0, True)
    assert found.notes == ("3 processes of other runs left out",)


def test_the_folders_of_two_agents_are_one_run(tmp_path: Path) -> None:
    """Both hosts write below one folder, each with its own name and two attempts."""
    for attempt, failing in enumerate(((1, 2), (0, 3))):
        for rank in range(4):
            text = traceback(SHAPE, rank) if rank in failing else ""
            write(tmp_path / f"none_{rank // 2}/attempt_{attempt}/{rank % 2}/stderr.log", text)
    assert {suspect.rank for suspect in diagnose([tmp_path]).suspects} == {0, 3}


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("out/1/rank.2/stderr", 2),
        ("out/rank.12/stdout", 12),
        ("out/rank.2/notes.log", None),
        ("attempt_0/2/a.log", None),
    ],
)
def test_the_folder_of_mpirun_names_the_rank(tmp_path: Path, name: str, rank: int | None) -> None:
    write(tmp_path / name, FAILED)
    assert named(diagnose([tmp_path])) == rank


@pytest.mark.parametrize(
    ("end", "rank"),
    [
        (summary(9, local=1), 9),
        ("srun: error: n2: task 2: Exited with exit code 1\n" + CUT, 2),
        (summary(9, local=1) + "srun: error: n2: task 1: Exited with exit code 1\n", 9),
        (summary(9, local=1).replace(": 1 (pid", ": -9 (pid"), 9),
        ("srun: error: n2: task 2: Exited with exit code 1\nsrun: error: n2: task 3: Exited with exit code 1\n", None),
    ],
)
def test_an_exception_that_names_no_rank_is_of_the_rank_that_ended_first(
    tmp_path: Path, end: str, rank: int | None
) -> None:
    assert named(diagnose([write(tmp_path / "job.out", FAILED + end)])) == rank


def test_the_rank_of_a_process_that_torchrun_saw_killed_is_named(tmp_path: Path) -> None:
    found = diagnose([write(tmp_path / "job.out", summary(9, code=-9, local=1))])
    assert (named(found), fault_of(found).kind) == (9, "local rank 1 was killed by SIGKILL")


@pytest.mark.parametrize("file", ["vllm/entrypoints/openai/serving_chat.py", "uvicorn/protocols/http/h11_impl.py"])
def test_the_error_of_a_request_is_not_that_of_the_server(tmp_path: Path, file: str) -> None:
    request = FRAMES.format(file=file) + "ValueError: the prompt is too long\n"
    found = diagnose([write(tmp_path / "server.log", STEP.format(1) + request)])
    assert found.first_fault is None
    found = diagnose([write(tmp_path / "server.log", request + traceback(SHAPE, 3))])
    assert (named(found), SHAPE in fault_of(found).kind) == (3, True)


@pytest.mark.parametrize(
    ("error", "headline"),
    [
        ("torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError", "torch's store"),
        ("torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The store has failed.", "torch's store"),
        ("RuntimeError: [gloo/rendezvous/context.cc:113] Connect timeout [10.0.0.2]:34567", "gloo could not connect"),
        ("SignalException: Process 28 got signal: 1", "the job was ended from outside"),
    ],
)
def test_who_waited_or_was_ended_is_no_first_fault(tmp_path: Path, error: str, headline: str) -> None:
    log = write(tmp_path / "n1.log", traceback(error))
    assert diagnose([log]).first_fault is None
    line = most_telling([log])
    assert line is not None
    assert line.explanation.answers[0].row.headline.startswith(headline)


def test_the_lines_of_a_message_of_torch_npu_are_of_the_process_that_its_first_line_names(tmp_path: Path) -> None:
    text = """\
RuntimeError: [ERROR] HCCL error in: torch_npu/csrc/distributed/ProcessGroupHCCL.cpp:64
[ERROR] 2024-05-21-11:57:54 (PID:4711, Device:3, RankID:3) ERR02200 DIST call hccl api failed.
EJ0001: 2024-05-21-11:57:54.100.200 Failed to initialize the HCCP process. Reason: Maybe the last process is running.
"""
    assert named(diagnose([write(tmp_path / "job.log", text)])) == 3
    for between in ("loading the weights\n", "[rank5]: "):
        other = diagnose([write(tmp_path / "job.log", text.replace("EJ0001", f"{between}EJ0001"))])
        assert named(other) == (None if between.endswith("\n") else 5)


def test_a_root_error_in_the_stack_trace_of_cann_is_a_first_fault(tmp_path: Path) -> None:
    line = "tsd client wait response fail, device response code[1]. unknown device error."
    trace = f"EI9999: Inner Error!\n        {line}[FUNC:WaitRsp][FILE:manager.cpp][LINE:290]\n"
    found = diagnose([write(tmp_path / "job.log", trace)])
    assert "refused to start a helper process" in fault_of(found).kind


def test_of_ranks_that_torchrun_saw_end_in_one_second_none_is_the_first(tmp_path: Path) -> None:
    text = summary(1, local=1)
    block = text[text.index("[0]:") : text.index("====")].replace(": 1 (local_rank: 1)", ": 12 (local_rank: 12)")
    found = diagnose([write(tmp_path / "job.log", f"Failures:\n{block}{text}")])
    assert (found.first_fault, {suspect.rank for suspect in found.suspects}) == (None, {1, 12})
    assert "ranks 1, 12 ended in the same second" in found.reason


def test_a_rank_that_a_group_counts_is_named_with_the_group(tmp_path: Path) -> None:
    text = """\
[ERROR] 2025-10-11-15:09:34 (PID:4711, Device:0, RankID:101) ERR00100 PTA call acl api failed.
EI0002: [PID: 4711] 2025-10-11-15:09:34.700.300 The wait execution of the Notify register times out. Reason: The \
Notify register has not received the Notify record from remote rank: [24]. base information: [streamID:[109], \
taskType[Notify Wait], tag[AllReduce_group_name_7NHRAllReduceComm_device]]. group information: \
[group:[group_name_7], rankSize[32], rankId[25 24]]
"""
    found = diagnose([write(tmp_path / "job.log", text)])
    assert (found.first_fault, "wait for rank 24 of the group group_name_7" in found.reason) == (None, True)


def test_a_process_that_deepspeed_saw_killed_is_named_by_its_local_rank(tmp_path: Path) -> None:
    text = """\
[2023-09-10 11:45:59,207] [INFO] [launch.py:428:sigkill_handler] Killing subprocess 6293
[2023-09-10 11:46:00,001] [ERROR] [launch.py:434:sigkill_handler] ['/bin/python', '-u', 'train.py', \
'--local_rank=3', '--model', 'm'] exits with return code = -9
"""
    found = diagnose([write(tmp_path / "job.log", text)])
    assert fault_of(found).kind == "local rank 3 was killed by SIGKILL"


INNER = 'Traceback (most recent call last):\n  File "/job/data.py", line 12, in read\n    open(path)\n' + MISSING
RULES = "\n" + "-" * 66 + "\n- {}: \n" + "-" * 66 + "\n"
PASSED_ON = {
    "DataLoader": f"FileNotFoundError: Caught FileNotFoundError in DataLoader worker process 0.\nOriginal {INNER}",
    "spawn": "torch.multiprocessing.spawn.ProcessRaisedException: \n\n"
    f"-- Process 1 terminated with the following error:\n{INNER}",
    "MindSpore": "RuntimeError: Exception thrown from user defined Python function in dataset. \n"
    + RULES.format("Python Call Stack")
    + INNER
    + RULES.format("Dataset Pipeline Error Message")
    + "[ERROR] Execute user Python code failed, check 'Python Call Stack' above.\n",
}


@pytest.mark.parametrize("form", PASSED_ON)
def test_an_exception_that_passes_on_another_is_that_one(tmp_path: Path, form: str) -> None:
    found = diagnose([write(tmp_path / "job.log", traceback(PASSED_ON[form], 1))])
    assert (named(found), fault_of(found).kind) == (1, f"{MISSING} (at data.py:12)")


@pytest.mark.parametrize("form", PASSED_ON)
def test_an_exception_that_passes_on_a_cut_one_is_an_error(tmp_path: Path, form: str) -> None:
    found = diagnose([write(tmp_path / "job.log", traceback(PASSED_ON[form].partition(MISSING)[0], 1))])
    assert (named(found), "(at " in fault_of(found).kind) == (1, True)


def test_the_step_of_a_data_pipeline_that_failed_is_named(tmp_path: Path) -> None:
    """As MindSpore 2.10 prints it for an image that is cut; its record of the same error is in `lines.txt`."""
    text = "RuntimeError: Exception thrown from dataset pipeline. Refer to 'Dataset Pipeline Error Message'. \n"
    text += RULES.format("Dataset Pipeline Error Message") + "[ERROR] map operation: [Decode] failed.\n"
    found = diagnose([write(tmp_path / "job.log", traceback(text, 1))])
    assert fault_of(found).kind == "RuntimeError: map operation: [Decode] failed. (at train.py:4)"


def test_the_frames_in_a_box_are_read(tmp_path: Path) -> None:
    """As rich 15 prints a traceback, here in 40 columns; paths that are too long go on in the next line."""
    box = """\
╭── Traceback (most recent call last) ─╮
│ /home/user/job/training/train.py:7 i │
│ n <module>                           │
│                                      │
│   6 │   step(torch.ones(3, 5))       │
│ ❱ 7 main()                           │
│                                      │
│ /home/user/job/training/network_mode │
│ l.py:40 in forward                   │
│                                      │
│ ❱ 40 │   return net(batch)           │
│                                      │
│ /usr/lib/python3/site-packages/n.py: │
│ 3 in call                            │
╰──────────────────────────────────────╯
"""
    found = diagnose([write(tmp_path / "job.log", "".join(f"[rank1]: {line}\n" for line in (box + SHAPE).split("\n")))])
    assert (named(found), fault_of(found).kind) == (1, f"{SHAPE} (at network_model.py:40)")


def test_an_exception_with_the_name_of_its_module_keeps_its_message(tmp_path: Path) -> None:
    log = write(tmp_path / "job.log", traceback("omegaconf.errors.ConfigKeyError: Key 'lrr' is not in struct", 1))
    assert fault_of(diagnose([log])).kind == "ConfigKeyError: Key 'lrr' is not in struct (at train.py:4)"


def test_an_error_of_syntax_has_no_first_line(tmp_path: Path) -> None:
    text = "  File \"/job/train.py\", line 3\n    x = (\n        ^\nSyntaxError: '(' was never closed\n"
    found = diagnose([write(tmp_path / "job.log", "".join(f"[rank0]: {line}\n" for line in text.splitlines()))])
    assert (named(found), fault_of(found).kind) == (0, "SyntaxError: '(' was never closed (at train.py:3)")


def test_a_known_error_on_all_ranks_is_of_all_though_its_numbers_differ(tmp_path: Path) -> None:
    error = "RuntimeError: NPU out of memory. Tried to allocate 2.5{0} GiB (NPU {0}; 60.97 GiB total capacity; \
58.1{0} GiB already allocated; 58.1{0} GiB current active; 1.66 GiB free; 58.95 GiB reserved in total by PyTorch)"
    ranks = [traceback(error.format(rank), rank) for rank in range(3)]
    found = diagnose([write(tmp_path / "job.log", "".join(ranks))])
    assert (found.where, len(found.suspects)) == ("all", 3)
    assert fault_of(found).kind.startswith(
        "failed with the same error: RuntimeError: the memory of the card is used up"
    )
    other = diagnose([write(tmp_path / "job.log", "".join([*ranks, traceback(SHAPE, 3)]))])
    assert other.first_fault is None


def test_a_message_that_goes_on_in_the_next_line_is_whole(tmp_path: Path) -> None:
    text = "RuntimeError: The operation failed in the interpreter:\nno kernel for dtype 7\n"
    found = diagnose([write(tmp_path / "job.log", traceback(text, 1))])
    kind = "RuntimeError: The operation failed in the interpreter: no kernel for dtype 7 (at train.py:4)"
    assert fault_of(found).kind == kind


def test_of_ranks_under_gloo_the_one_without_a_timeout_is_named(tmp_path: Path) -> None:
    waited = "RuntimeError: [/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 8000ms for recv operation to"
    waited += " complete"
    for rank in range(4):
        text = "step 2\n" if rank == 1 else traceback(waited, rank)
        write(tmp_path / f"rank_{rank}.log", text)
    found = diagnose([tmp_path])
    assert (named(found), fault_of(found).kind) == (1, "reports no error, all others a timeout")


REFUSED = "dcmi module initialize failed. ret is -8005\n"


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        (REFUSED, True),
        (REFUSED + "E1 ascend_direct_transport.cpp:487] Register mem ret:207000\n", True),  # a number tells less
        (REFUSED + "ascend_transport.so: cannot open shared object file\n", False),
        (f"WARNING 11-03 10:11:45 {REFUSED}", False),
        (REFUSED + STEP.format(1), False),
    ],
)
def test_the_only_root_error_that_explain_knows_is_the_first_fault(tmp_path: Path, text: str, is_named: bool) -> None:
    found = diagnose([write(tmp_path / "job.log", text)])
    assert (found.first_fault is not None and "the result is -8005" in found.first_fault.kind) == is_named
    assert found.first_fault is None or found.certainty == "likely"


def test_the_lines_below_a_message_of_cann_are_of_the_process_that_it_names(tmp_path: Path) -> None:
    text = """\
[ERROR] 2026-09-16-11:00:43 (PID:4711, Device:1, RankID:-1) ERR00100 PTA call acl api failed.
[PID: 4711] 2026-09-16-11:00:43.191.752 Execution_Error(EZ1008): Failed to execute operator M. Reason: No tiling.
TraceBack (most recent call last):
        HCCL_BUFFSIZE is too SMALL, NEEDED_HCCL_BUFFSIZE((h * 2)) = 600MB, HCCL_BUFFSIZE=256MB.[FUNC:Check][LINE:165]
"""
    found = diagnose([write(tmp_path / "job.log", text)])
    assert (fault_of(found).suspect.device, "it needs 600 MB" in fault_of(found).kind) == (1, True)


def test_the_line_to_which_torch_npu_appends_its_process_is_of_that_process(tmp_path: Path) -> None:
    text = """\
capture_begin:NPUGraph.cpp:230 NPU function error: c10_npu::acl::AclmdlRICaptureBegin(), error code is 207008
[ERROR] 2026-06-04-10:17:18 (PID:4711, Device:2, RankID:-1) ERR00100 PTA call acl api failed
"""
    found = diagnose([write(tmp_path / "job.log", text)])
    assert (fault_of(found).suspect.device, "no streams of the card" in fault_of(found).kind) == (2, True)


def test_a_kernel_that_did_not_finish_in_time_has_not_failed(tmp_path: Path) -> None:
    head = "EZ9999[PID: 4711] 2026-06-24-12:44:08.922.071 (EZ9999):  The error from device(chipId:1, dieId:0), "
    error = head + "there is an exception of aivec error, core id is 11\n"
    late = "       Kernel task happen error, retCode=0x30, [vector core timeout].[FUNC:Check][LINE:1729]\n"
    found = diagnose([write(tmp_path / "job.log", error)])
    assert fault_of(found).kind.startswith("a kernel of an operator failed on the card")
    found = diagnose([write(tmp_path / "job.log", error + late)])
    assert (found.first_fault, "a kernel of an operator did not finish in time" in found.reason) == (None, True)
