"""How MindSpore, vLLM and the transfer engines wrap the errors of HCCL, and what CANN prints below them."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.pytorch import ABOVE
from hccl_kit.diagnosis.errors.row import KnownError

_LINK = (
    "the other end is not reachable: address, port, TLS, or the card network between prefill and decode",
    "the other end ended, or is not ready yet; the timeout is short (1 s by default)",
    "prefill and decode share a host and its ports: Mooncake takes 20000 and up, by 1000 (newer: 100) for each card",
)
_LINK_APART = (
    "the plog of both ends at this second: EI0006, EI0009 or a listen that failed; hccn_tool -i N -ping -g address PEER"
)
_LINK_FIX = (
    "correct what the plog names; ASCEND_CONNECT_TIMEOUT for slow ends; HCCL_INTRA_ROCE_ENABLE=1 on one A2"
    " host; the same TLS setting at both ends"
)

ROWS: tuple[KnownError, ...] = (
    KnownError(
        "MindSpore could not set up the card or the communication; the blocks below it name the reason",
        role="frame",
        patterns=(
            r"Ascend collective communication initialization failed",
            r"Ascend kernel runtime initialization failed(?:, ?device id: ?(?P<device>[0-9]{1,6}))?",
            r"[Ii]nit (?:hccl|HCCL|communication|collective)[^\n]{0,60}failed",
            r"(?:Distributed|distributed) (?:communication|collective|module)?\w{0,20} ?init\w{0,10} failed",
            r"(?:hccl|hcom|HCCL) init failed",
            r"InitHccl",
            r"hccl_adapter",
            r"Ascend Error Message",
            r"Failed to init(?:ialize)? (?:collective|communication|hccl|HCCL)",
        ),
        example="RuntimeError: Ascend kernel runtime initialization failed, device id: 3. The details refer to",
        says=("the card is {device}",),
        causes=(
            "EJ0001: a process of an earlier job still holds the card",
            "107001: the card number does not exist here",
            "EI0004 or EI0014: the rank table is refused",
            "the memory of the card is in use by others",
        ),
        tells_apart="read the block `Ascend Error Message` below it; npu-smi info",
        fix="follow the code of that block",
        needs_context=True,
    ),
    KnownError(
        "MindSpore's processes did not find each other: the scheduler or a worker is missing; HCCL has not started",
        role="symptom",
        patterns=(
            r"MS_(?:SCHED|WORKER|ROLE)[^\n]{0,120}(?:[Tt]imed? ?out|exited|disconnected|failed)",
            r"meta server[^\n]{0,120}(?:[Tt]imed? ?out|exited|disconnected|failed)",
            r"Failed to build the cluster",
            r"cluster_context\.cc[^\n]{0,120}(?:[Tt]imed? ?out|failed)",
            r"DNS resolution failed: [^\n]{1,120}correct host name",
            r"Failed to (?:register|connect)[^\n]{0,60}(?:meta server|MS_SCHED)",
            r"Total number of timed[ -]out node",
            r"The total number of timed out node is (?P<count>[0-9]{1,6})",
        ),
        example="[ERROR] DISTRIBUTED(77,python3):2025-06-15-15:06:40.500.000 Failed to build the cluster:"
        " MS_WORKER_NUM is 8",
        says=("{count} processes are missing",),
        causes=(
            "a worker ended with its own error: see its worker_N.log",
            "MS_SCHED_HOST or MS_SCHED_PORT is not reachable, or differs",
            "fewer workers were started than MS_WORKER_NUM",
        ),
        tells_apart="grep -l ERROR worker_*.log scheduler.log; the earliest one",
        fix="correct that worker; set MS_SCHED_HOST and MS_SCHED_PORT to the same values on all",
    ),
    KnownError(
        "the card got no batch of data in time (GetNext)",
        patterns=(
            r"Dump node \((?P<node>[^()\n]{0,160}GetNext-op[0-9]{1,9})\) task error",
            r"GetNext error may be caused by slow data processing",
            r"might result `GetNext` timeout problem",
            r"Aicpu kernel execute failed[^\n]{0,160}fault (?:kernel|op)_name=(?P<node>\w{0,80}GetNext)",
        ),
        in_output=True,
        example="[ERROR] DEVICE(77,fffe,python):2023-11-20-15:34:32.887.652 [a.cc:770] DumpTaskExceptionInfo] Dump node"
        " (Default/GetNext-op18) task error input/output data to: ./rank_0/node_dump",
        says=("the node is {node}",),
        causes=(
            "reading or augmenting a batch takes more than 20 s: a slow disk, too few workers",
            "the dataset raised an error, or a worker of it was killed, above",
            "the sizes of the data do not fit the network",
        ),
        tells_apart="run the dataset alone (create_dict_iterator) and time a batch; the first ERROR above",
        fix="more num_parallel_workers, data on a local disk, or less work for each sample",
    ),
    KnownError(
        "vLLM only waits: its workers have not answered for a minute. It is not an error by itself",
        role="fact",
        patterns=(r"No available shared memory broadcast block found(?: in (?P<seconds>[0-9]{1,6}) seconds)?",),
        example="(EngineCore_DP0 pid=7) INFO 12-12 No available shared memory broadcast block found in 60 seconds.",
        says=("it waits {seconds} s at a time",),
        causes=(
            "a worker compiles, captures a graph or loads weights",
            "a worker hangs in an operator of HCCL, or ended: the message then repeats until a timeout",
        ),
        tells_apart="if it repeats for more than a few minutes: EI0002, EI0006, heartbeats in the plogs; py-spy dump",
        fix="wait, or follow the first error of a worker; VLLM_RINGBUFFER_WARNING_INTERVAL only silences it",
    ),
    KnownError(
        "vLLM ends because one of its workers failed; the first error of that worker has the cause",
        role="frame",
        patterns=(
            r"Worker(?:Proc)? (?:hit an exception|initialization failed|failed with error)",
            r"EngineCore (?:encountered a fatal error|failed to start)",
            r"Engine core initialization failed",
            r"Engine core proc \S{1,40} died unexpectedly",
            r"Parent process exited, terminating worker",
        ),
        example="(EngineCore pid=7) ERROR 12-12 torch_npu: EngineCore failed to start.",
        causes=("the first error of a worker, above: often a card out of memory, or an error of HCCL",),
        tells_apart="look upwards for the first line with ERROR of one worker",
        fix="run `hccl-kit explain` on that error",
        needs_context=True,
    ),
    KnownError(
        "the transfer engine could not connect to the other end, or lost it",
        role="symptom",
        patterns=(
            r"Failed to connect to (?:target|segment) ?: ?(?P<peer>[^\s,]{3,80}), ?status ?: ?(?P<status>[0-9]{6})",
            r"ascend_direct_transport[^\n]{0,40}Failed to connect to (?:target|segment) ?: ?(?P<peer>[^\s,]{3,80})",
            r"Connect timeout to ?: ?(?P<peer>[^\s,]{3,80})[^\n]{0,80}(?:ASCEND|timeout duration)",
            r"transfer failed and disconnect to ?: ?(?P<peer>[^\s,]{3,80})",
            r"Transfer slice failed with status ?: ?(?P<status>[0-9]{6})",
            r"Failed to (?:disconnect|initialize AdxlEngine|initialize Hixl)[^\n]{0,60}status ?: ?(?P<status>[0-9]{6})",
            r"Sync batch data transfer timeout after (?P<elapsed>[0-9]{1,15}) ?ns",
            r"error code is LLMStatusCode\.(?P<result>LLM_\w{1,40})",
            r"[Mm]ooncake transfer failed(?: for request (?P<request>[\w-]{1,80}))?",
            r"(?:HI|AD)XL\w{0,30}[^\n]{0,120}(?:connect|link)[^\n]{0,40}(?:fail|error|timeout)",
            r"(?:[Hh]i|[Aa]d)xl\w{0,30}[^\n]{0,120}(?:connect|link)[^\n]{0,40}(?:fail|error|timeout)",
        ),
        example="E1 5793 ascend_direct_transport.cpp:820] Failed to connect to target: 10.1.1.1:25482, status: 103900",
        says=(
            "the other end is {peer}",
            "the status is {status}: 103900 refused argument or link, 103901 timeout, 103902 not connected, 503900"
            " failed",
            "the transfer had not ended after {elapsed} ns",
            "the result is {result}",
        ),
        causes=_LINK,
        tells_apart=_LINK_APART,
        fix=_LINK_FIX,
        needs_context=False,
    ),
    KnownError(
        "an operator of HCCL failed inside a graph; the code near it has the reason",
        role="frame",
        patterns=(
            r"call hccl op ?: ?(?P<operator>\w{1,60})[^\n]{0,80}load task fail",
            r"(?P<operator>Hcom\w{3,40}) ?\w{0,20}[^\n]{0,60}(?:load task|execute|run) fail",
            r"errNo ?\[0x0{4,12}50[01]0{0,6}[0-9a-fA-F]{1,3}\] ?hcclComm (?P<operator>\w{1,40}) error, ?tag ?\["
            r"(?P<tag>[^\]\n]{1,200})\]",
        ),
        example="[ERROR] GE(77,python3):2025-06-15-15:06:40.500.000 call hccl op:HcomAllReduce of graph 1 load task"
        " fail",
        says=("the operator is {operator}", "its tag is {tag}"),
        causes=("the code or the first error line above it has the reason",),
        tells_apart=ABOVE,
        fix="run `hccl-kit explain` on that error",
    ),
    KnownError(
        "advice that CANN prints below an error; the lines above it describe the error",
        role="frame",
        patterns=(
            r"[Cc]heck the rank service processes with other errors or no errors",
            r"[Cc]heck other NPUs that are not reporting errors",
            r"[Cc]heck whether the peer process exits first",
            r"peer process exits (?:abnormally|unexpectedly) in advance",
            r"exception occurs during the execution on some NPU",
            r"execution speed on some NPU",
            r"number of training samples of each NPU",
            r"network between two devices is abnormal",
            r"insufficient NPU memory",
            r"Stop unnecessary processes and ensure the required memory",
            r"valid cluster configuration in the ranktable",
            r"after killing the last training process",
            r"Check the connectivity of the communication link between nodes",
            r"completion queue element \(CQE\) of the error",
        ),
        example="Solution: 1. Check the rank service processes with other errors or no errors in the cluster.",
        causes=("it is printed with every error of that code, whatever the cause",),
        tells_apart="the line with the code (EI...) above it",
        fix="run `hccl-kit explain` on that line, or on the whole text",
        vague=True,
    ),
    KnownError(
        "the heading of CANN's stack trace; the line with a code above it, or a line below it, names the error",
        role="frame",
        patterns=(r"TraceBack \(most recent call last\)",),
        example="TraceBack (most recent call last):",
        causes=("it is printed with every error",),
        tells_apart="the line with the code (EI, EE, EL, EZ) above it",
        fix="run `hccl-kit explain` on that line, or on the whole text",
        vague=True,
    ),
)
