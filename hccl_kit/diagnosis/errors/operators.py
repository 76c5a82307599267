"""Operators that run: waits that end in a timeout, copies that fail, arguments that are refused, memory."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import KnownError, in_stage

_STAGE = "an operator runs (HCCL_EXEC_TIMEOUT, 1836 s; older 1800 s)"
_WAITED = (
    "a rank of the group ended or failed before: its log has another error, or none at all",
    "the ranks called different operators, or one with other sizes, in this group",
    "a rank is more than HCCL_EXEC_TIMEOUT late: it saves, loads or compiles",
    "packets are lost between cards (error CQE)",
)
_APART = (
    'grep -rh "Cluster Exception Location" */debug/plog; then compare tag, index, count and dataType of the group over'
    " the ranks: the odd one, or the one with the lowest index, is behind"
)
_FIX = (
    "correct the rank that reports something else, or nothing; ranks that report the same are victims; only if one is"
    " late on purpose, raise HCCL_EXEC_TIMEOUT on all ranks"
)
_NOTIFY = (
    r"tag ?\[(?P<tag>[^\]\n]{1,200})\](?:[^\n]{0,800}?rankSize ?\[(?P<ranks>[0-9]{1,8})\], ?rankId ?\[(?P<rank>"
    r"[0-9 ]{1,16})\])?"
)
_MEMORY_FIX = "leave more memory free: batch size, share of the cache, HCCL_BUFFSIZE; end other processes on the card"

ROWS = in_stage(
    _STAGE,
    KnownError(
        "a rank timed out waiting for another in an operator. No rule of a table detects this: usually the other"
        " rank died before or runs another operator; see the earliest error of all ranks",
        role="symptom",
        codes=("EI0002",),
        causes=_WAITED,
        tells_apart=_APART,
        fix=_FIX,
    ),
    KnownError(
        "an operator waited for another rank until its timeout",
        role="symptom",
        codes=("EI0002",),
        patterns=(
            r"Notify (?:register|record)[^\n]{0,200}?remote rank:? ?\[(?P<peer>[^\]\n]{1,20})\][^\n]{0,160}?" + _NOTIFY,
            r"Notify register waits for execution[^\n]{0,60}?peer rank: ?\[?(?P<peer>[^\];\n]{1,20})\]?;[^\n]{0,300}?"
            + _NOTIFY,
            r"wait execution of the Notify register times out",
            r"Notify register waits for execution",
        ),
        says=(
            "the operator and its group are {tag}",
            "this is rank {rank} of {ranks}",
            "it waits for rank {peer}",
            "it waits for a rank that the line does not name ({untold})",
        ),
        causes=_WAITED,
        tells_apart=_APART,
        fix=_FIX,
    ),
    KnownError(
        "an operator did not finish: it waited for another rank, or a copy failed; this line names the operator",
        role="symptom",
        codes=("EI0002",),
        patterns=(
            r"Task run failed, ?base information is [^\n]{0,160}?" + r"tag ?\[(?P<tag>[^\]\n]{1,200})\]"
            r"(?:, ?index ?\[(?P<index>[0-9]{1,12})\])?",
            r"Task run failed, ?para information is [^\n]{0,200}?remote rank ?: ?\[?(?P<peer>[^\],\n]{1,20})",
            r"Task run failed, ?groupRank information is group:? ?\[(?P<group>[^\]\n]{0,200})\]"
            r"(?:[^\n]{0,160}?rankSize ?\[(?P<ranks>[0-9]{1,8})\], ?rankId ?\[(?P<rank>[0-9]{1,8})\])?",
            r"Task run failed, ?opData information is [^\n]{0,120}?deviceId ?\[(?P<card>[0-9]{1,6})\](?:, ?index ?"
            r"\[(?P<index>[0-9]{1,12})\])?(?:, ?count ?\[(?P<count>[0-9]{1,20})\])?(?:[^\n]{0,200}?dataType ?"
            r"\[(?P<type>\w{1,20})\])?",
            r"TaskExecStage\]\[(?:Timeout|RunFailed)\]",
            r"Task run failed\b",
            r"TaskExceptionHandler",
            r"FFTS\+ run failed",
        ),
        says=(
            "the operator is {tag}",
            "it waits for rank {peer}",
            "it waits for itself ({itself})",
            "it waits for a rank that the line does not name ({untold})",
            "this is rank {rank} of {ranks}, in the group {group}",
            "it is operator number {index} of its group",
            "on card {card}, with {count} elements of {type}",
        ),
        causes=_WAITED,
        tells_apart=_APART,
        fix=_FIX,
    ),
    KnownError(
        "the runtime ended an operator of HCCL that waited too long: the same as EI0002, seen from the card",
        role="symptom",
        codes=("EI0002",),
        patterns=(
            r"chipId ?: ?(?P<card>[0-9]{1,6})[^\n]{0,120}?hccl fftsplus task timeout occurred[^\n]{0,200}?stuck"
            r" notify num ?: ?(?P<stuck>[0-9]{1,8})(?:, ?timeout ?: ?(?P<limit>[0-9]{1,8}(?:s|min|ms)?))?",
            r"hccl fftsplus task timeout occurred[^\n]{0,200}?stuck notify num ?: ?(?P<stuck>[0-9]{1,8})(?:, ?timeout"
            r" ?: ?"
            r"(?P<limit>[0-9]{1,8}(?:s|min|ms)?))?",
            r"fftsplus (?:task )?time ?out",
            r"stuck notify wait context info",
        ),
        says=("card {card}", "{stuck} waits are stuck", "the limit was {limit} (seconds, unless it says min)"),
        causes=_WAITED,
        tells_apart=_APART,
        fix=_FIX,
    ),
    KnownError(
        "the runtime ended a wait of a stream for an event: what the event stands for, often an"
        " operator of HCCL, did not"
        " finish in time",
        role="symptom",
        patterns=(
            r"chipId ?: ?(?P<card>[0-9]{1,6})[^\n]{0,120}?event wait timeout occurred during task execution"
            r"(?:[^\n]{0,200}?timeout ?[:=] ?(?P<limit>[0-9]{1,8}))?",
        ),
        says=("card {card}", "the limit was {limit} s"),
        causes=_WAITED,
        tells_apart=_APART,
        fix=_FIX,
    ),
    KnownError(
        "an operator that runs on the card's own CPU (AICPU mode) did not finish: it waited, or a copy failed",
        role="symptom",
        codes=("EI0002",),
        patterns=(
            r"\[TaskException\]\[AICPU\]base information [^\n]{0,200}?type ?:? ?\[?(?P<type>[A-Z ]{2,20})\]?"
            r"[^\n]{0,200}?localRank ?:? ?\[?(?P<rank>[0-9]{1,8})\]?[^\n]{0,80}?remoteRank ?:? ?\[?"
            r"(?P<peer>[0-9]{1,10})\]?",
            r"\[TaskException\]\[AICPU\]",
            r"task sequence is [^\n]{0,300}?OP\(",
        ),
        says=("rank {rank} waits for rank {peer}; the task is {type}",),
        causes=_WAITED,
        tells_apart=_APART,
        fix=_FIX,
    ),
    KnownError(
        "an operator that runs on the vector cores (HCCL_OP_EXPANSION_MODE=AIV) failed",
        role="symptom",
        codes=("EI0002",),
        patterns=(
            r"fault kernel_name ?= ?(?P<kernel>(?:\w{0,40}_)?aiv_[\w*]{1,80})",
            r"fault kernel_name ?= ?(?P<kernel>hccl_aiv\w{0,60})",
        ),
        says=("the kernel is {kernel}",),
        causes=_WAITED,
        tells_apart=_APART,
        fix=_FIX,
    ),
    KnownError(
        "a copy inside the card or to a card of the same server (SDMA) failed while the job ran. No rule of a"
        " table detects this: see the earliest error of all ranks, and `npu-smi info`",
        codes=("EI0012",),
        causes=(
            "the communicator, or the memory, was freed while the operator still ran; or the buffer is too small",
            "the process at the other end ended before",
            "on A3: the link between the cards is broken",
        ),
        tells_apart='grep -rh "Entry-HcclCommDestroy" */run/plog: a time just before; npu-smi info -t health -i N',
        fix="wait for the stream before a group is destroyed or memory is freed; check count against the buffers",
    ),
    KnownError(
        "a copy between cards (SDMA) failed",
        codes=("EI0012",),
        in_output=True,
        patterns=(
            r"SDMA memory copy task exception occurred(?:[^\n]{0,20}?Remote rank: ?\[(?P<peer>[^\]\n]{1,20})\])?"
            r"(?:[^\n]{0,200}?tag ?\[(?P<tag>[^\]\n]{1,200})\])?(?:[^\n]{0,400}?link type: ?\[(?P<link>\w{1,20})"
            r"\])?",
            r"fftsplus sdma error",
            r"there is a sdma error",
            r"hwts sdma error",
            r"PrintSdmaErrorInfo",
            r"\bsdma (?:task )?(?:error|exception|fail)",
            r"Execution_Error_SDMA",
        ),
        says=("the other rank is {peer}", "the operator is {tag}", "the link is of type {link}"),
        causes=(
            "in a job of one card: its memory or page tables are used up (310P), or memory was freed too early",
            "the communicator, or the memory, was freed while the operator still ran; or the buffer is too small",
            "the process at the other end ended before",
            "on A3: the link between the cards is broken",
        ),
        tells_apart='grep -rh "Entry-HcclCommDestroy" */run/plog: a time just before; npu-smi info -t health -i N',
        fix="wait for the stream before a group is destroyed or memory is freed; check count against the buffers",
    ),
    KnownError(
        "a task of an operator failed on the card; the lines of HCCL below name the operator",
        role="symptom",
        codes=("507049",),
        patterns=(
            r"TaskFailCallBackForFftsPlusTask",
            r"fftsplus task (?:execute failed|exception)",
            r"PrintErrorInfoForDavinciTask",
            r"[Aa]icore kernel execute failed",
        ),
        causes=("a copy failed (sdma), a wait timed out, or a kernel failed: see err_type or the lines around",),
        tells_apart='grep -h "Task run failed\\|err_type" of the same process',
        fix="follow the first error of this process",
        needs_context=False,
    ),
    KnownError(
        "the buffer between cards (HCCL_BUFFSIZE) is too small for an operator of MoE (dispatch, combine)",
        in_output=True,
        patterns=(
            r"HCCL_BUFFSIZE\w{0,8} is too (?:SMALL|small)[^\n]{0,900}?= ?(?P<needed>[0-9]{1,9}) ?MB, ?(?:actual )?"
            r"[A-Z_]{0,4}CCL_BUFFSIZE\w{0,8} ?= ?(?P<has>[0-9]{1,9}) ?MB",
            r"HCCL_BUFFSIZE\w{0,8} is too (?:SMALL|small), should (?:be )?larger than (?P<needed>[0-9]{1,9}) ?MB",
            r"HCCL_BUFFSIZE\w{0,8} is too (?:SMALL|small)",
        ),
        says=(
            "it needs {needed} MB and has {has} MB: export HCCL_BUFFSIZE={needed}, or more, on all ranks",
            "it needs {needed} MB: export HCCL_BUFFSIZE={needed}, or more, on all ranks",
        ),
        causes=(
            "the need grows with the tokens of a step, the hidden size and the experts of a card;"
            " the default is 200 MB",
            "the framework sets the buffer of this group itself (hccl_buffer_size of the process group's options)",
        ),
        tells_apart="echo $HCCL_BUFFSIZE on all ranks; the framework's option for the most tokens of a step",
        fix="raise HCCL_BUFFSIZE on all ranks alike (each communicator takes twice as much memory of"
        " the card), or lower"
        " the tokens of a step (vLLM: --max-num-seqs, --max-num-batched-tokens)",
    ),
    KnownError(
        "a parameter of an operator is not valid, or RANK_ID of the process is not a number. No rule of a table"
        " detects this: `hccl-kit preflight` compares the variables with the table (HK612)",
        codes=("EI0003",),
        causes=(
            "count, data type or root of an operator is outside what HCCL accepts",
            "RANK_ID or RANK_SIZE is missing or not a number",
        ),
        tells_apart="hccl-kit preflight TABLE; HCCL_ENTRY_LOG_ENABLE=1 shows the arguments",
        fix="correct the argument that the message names",
    ),
    KnownError(
        "HCCL refused an argument of an operator",
        codes=("EI0003",),
        patterns=(
            r"(?:Failed to verify parameters of operator|In) (?P<operator>\S{1,60}?)[.,]? [Vv]alue "
            r"(?P<value>[^\n]{0,80}?) (?:for|of) parameter (?P<name>[^\n]{1,60}?) is invalid(?:[. ]{0,3}"
            r"(?:The expected value is|Expected value ?:) ?(?P<expected>[^\n]{1,120}))?",
            r"Invalid_Argument_Collective_Communication_Operator",
            r"\[TaskExecStage\]\[InvalidArgument\]",
        ),
        says=("{name} of {operator} is {value}", "HCCL expects: {expected}"),
        causes=("count, data type, root or a pointer is outside what HCCL accepts",),
        tells_apart="HCCL_ENTRY_LOG_ENABLE=1 shows the arguments of every call",
        fix="correct the argument",
    ),
    KnownError(
        "the operator, its data type or its mode is not supported on this product",
        codes=("HcclResult 5",),
        patterns=(r"\[TaskExecStage\]\[Not ?Supported?\]",),
        causes=("the chip or release lacks it: point-to-point groups on 310P, for example",),
        tells_apart="the list of operators of your product in HCCL's guide",
        fix="use another operator or data type; tensor instead of pipeline parallelism on 310P",
    ),
    KnownError(
        "the host or the card is out of memory or another resource. No rule of a table detects this: end other"
        " processes there, or reduce the batch size",
        codes=("EI0007",),
        causes=(
            "the memory of the card is full: the model, the cache, another process",
            "too many communicators or streams: notifies are used up",
        ),
        tells_apart="npu-smi info; free -h",
        fix=_MEMORY_FIX,
    ),
    KnownError(
        "HCCL could not allocate a resource",
        codes=("EI0007",),
        patterns=(
            r"Failed to allocate resource ?\[?(?P<resource>[^\]\n]{1,60}?)\]? with info ?\[?(?P<info>[^\]\n]{0,120}?)"
            r"\]?\. ?Reason",
            r"\[InitGroupStage\]\[Resource\]",
        ),
        says=("it is {resource}, {info}",),
        causes=(
            "the memory of the card is full: the model, the cache, another process",
            "too many communicators or streams: notifies are used up",
        ),
        tells_apart="npu-smi info; free -h",
        fix=_MEMORY_FIX,
    ),
    KnownError(
        "the memory of the card is used up",
        codes=("207001",),
        in_output=True,
        patterns=(
            r"NPU out of memory\.?(?: ?Tried to allocate (?P<size>[0-9.]{1,12} ?[KMG]i?B))?(?:[^\n]{0,20}?"
            r"(?P<total>[0-9.]{1,12} ?[KMGT]iB) total capacity;[^\n]{0,120}? (?P<free>[0-9.]{1,12} ?[KMG]iB) free; ?"
            r"(?P<reserved>[0-9.]{1,12} ?[KMG]iB) reserved)?",
            r"[Mm]alloc device memory failed",
            r"\bhalMemAlloc failed",
            r"drv\w{0,20} ?[Mm]alloc\w{0,20} fail\w{0,3}[^\n]{0,80}(?:out of memory|size)",
        ),
        says=(
            "another process holds about {outside} of the card: of {total} this one has {reserved}, and {free} are"
            " free; end that process, or take another card",
            "this process itself has {mostly} of {total}: its model, batch or cache is too large for one card",
            "it asked for {size}",
        ),
        causes=("the model or the cache takes all memory of the card", "another process holds memory of the card"),
        tells_apart="npu-smi info: memory and processes of the card",
        fix=_MEMORY_FIX,
    ),
    KnownError(
        "an error inside HCCL; the message and the lines around it show what failed",
        role="symptom",
        codes=("EI9999",),
        causes=(
            "with `fftsplus task timeout` or `notify`: an operator waited for another rank, as EI0002",
            "with `sdma`: a copy failed, as EI0012",
            "otherwise an error that HCCL has no code for",
        ),
        tells_apart="read the text after the code, and the first ERROR line of this process",
        fix="follow that line; if it does not help, collect all plogs (ASCEND_GLOBAL_LOG_LEVEL=1) for HCCL's"
        " maintainers",
        vague=True,
    ),
)
