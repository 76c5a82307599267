"""Operators that fail: copies between cards, arguments that are refused, memory."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import in_stage, known
from hccl_kit.diagnosis.errors.waits import STAGE

CARD_FULL = "the memory of the card is used up"
TOO_MANY = ("too many communicators, streams, graphs or tasks in flight", "another process uses the card")
COUNT = "npu-smi info: processes on the card; the number of communicators and captured graphs"
FEWER = (
    "use fewer communicators, streams or captured graphs (vLLM: fewer cudagraph_capture_sizes); end other processes on"
    " the card"
)
_MEMORY_FIX = "leave more memory free: batch size, share of the cache, HCCL_BUFFSIZE; end other processes on the card"

ROWS = in_stage(
    STAGE,
    known("""cause EI0012
a copy inside the card or to a card of the same server (SDMA) failed while the job ran. No rule of a table detects this:
    see the earliest error of all ranks, and `npu-smi info`
cause: the communicator, or the memory, was freed while the operator still ran; or the buffer is too small
cause: the process at the other end ended before
cause: on A3: the link between the cards is broken
apart: grep -rh "Entry-HcclCommDestroy" */run/plog: a time just before; npu-smi info -t health -i N
fix: wait for the stream before a group is destroyed or memory is freed; check count against the buffers
"""),
    known(r"""cause EI0012 in_output
a copy between cards (SDMA) failed
line: SDMA memory copy task exception occurred(?:[^\n]{0,20}?Remote rank: ?\[(?P<peer>[^\]\n]{1,20})\])?(?:
    [^\n]{0,200}?tag ?\[(?P<tag>[^\]\n]{1,200})\])?(?:[^\n]{0,400}?link type: ?\[(?P<link>\w{1,20})\])?
line: fftsplus sdma error
line: there is a sdma error
line: hwts sdma error
line: PrintSdmaErrorInfo
line: \bsdma (?:task )?(?:error|exception|fail)
line: Execution_Error_SDMA
example: PrintSdmaErrorInfoForFftsPlusTask: err_type=4[fftsplus sdma error]
says: the other rank is {peer}
says: the operator is {tag}
says: the link is of type {link}
cause: in a job of one card: its memory or page tables are used up (310P), or memory was freed too early
cause: the communicator, or the memory, was freed while the operator still ran; or the buffer is too small
cause: the process at the other end ended before
cause: on A3: the link between the cards is broken
apart: grep -rh "Entry-HcclCommDestroy" */run/plog: a time just before; npu-smi info -t health -i N
fix: wait for the stream before a group is destroyed or memory is freed; check count against the buffers
"""),
    known(r"""symptom 507049
a task of an operator failed on the card; the lines of HCCL below name the operator
line: TaskFailCallBackForFftsPlusTask
line: fftsplus task (?:execute failed|exception)
line: PrintErrorInfoForDavinciTask
line: [Aa]icore kernel execute failed
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78]TaskFailCallBackForFftsPlusTask: the
    task failed
cause: a copy failed (sdma), a wait timed out, or a kernel failed: see err_type or the lines around
apart: grep -h "Task run failed\|err_type" of the same process
fix: follow the first error of this process
""")._replace(needs_context=False),
    known(r"""cause in_output
the buffer between cards (HCCL_BUFFSIZE) is too small for an operator of MoE (dispatch, combine)
line: HCCL_BUFFSIZE\w{0,8} is too (?:SMALL|small)[^\n]{0,900}?= ?(?P<needed>[0-9]{1,9}) ?MB, ?(?:actual )?[A-Z_]{0,4}CCL
    _BUFFSIZE\w{0,8} ?= ?(?P<has>[0-9]{1,9}) ?MB
line: HCCL_BUFFSIZE\w{0,8} is too (?:SMALL|small), should (?:be )?larger than (?P<needed>[0-9]{1,9}) ?MB
line: HCCL_BUFFSIZE\w{0,8} is too (?:SMALL|small)
example: HCCL_BUFFSIZE is too SMALL, maxBs = 64, h = 1024, k = 4, NEEDED_HCCL_BUFFSIZE(((maxBs * 3) + 3MB) * 2) = 811MB,
    HCCL_BUFFSIZE=300MB.
says: it needs {needed} MB and has {has} MB: export HCCL_BUFFSIZE={needed}, or more, on all ranks
says: it needs {needed} MB: export HCCL_BUFFSIZE={needed}, or more, on all ranks
cause: the need grows with the tokens of a step, the hidden size and the experts of a card; the default is 200 MB
cause: the framework sets the buffer of this group itself (hccl_buffer_size of the process group's options)
apart: echo $HCCL_BUFFSIZE on all ranks; the framework's option for the most tokens of a step
fix: raise HCCL_BUFFSIZE on all ranks alike (each communicator takes twice as much memory of the card), or lower the
    tokens of a step (vLLM: --max-num-seqs, --max-num-batched-tokens)
"""),
    known("""cause EI0003
a parameter of an operator is not valid, or RANK_ID of the process is not a number. No rule of a table detects this:
    `hccl-kit preflight` compares the variables with the table (HK612)
cause: count, data type or root of an operator is outside what HCCL accepts
cause: RANK_ID or RANK_SIZE is missing or not a number
apart: hccl-kit preflight TABLE; HCCL_ENTRY_LOG_ENABLE=1 shows the arguments
fix: correct the argument that the message names
"""),
    known(r"""cause EI0003
HCCL refused an argument of an operator
line: (?:Failed to verify parameters of operator|In) (?P<operator>\S{1,60}?)[.,]? [Vv]alue (?P<value>
    [^\n]{0,80}?) (?:for|of) parameter (?P<name>[^\n]{1,60}?) is invalid(?:[. ]{0,3}
    (?:The expected value is|Expected value ?:) ?(?P<expected>[^\n]{1,120}))?
line: Invalid_Argument_Collective_Communication_Operator
line: \[TaskExecStage\]\[InvalidArgument\]
example: EI0003: In HcclAllReduce, value 0 for parameter count is invalid. Expected value: above 0
says: {name} of {operator} is {value}
says: HCCL expects: {expected}
cause: count, data type, root or a pointer is outside what HCCL accepts
apart: HCCL_ENTRY_LOG_ENABLE=1 shows the arguments of every call
fix: correct the argument
"""),
    known(r"""cause
the operator, its data type or its mode is not supported on this product
line: \[TaskExecStage\]\[Not ?Support(?:ed)?\]
line: \bHCCL \w[\w &]{0,40}: Unsupported data type (?P<type>\S{1,60})
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78][TaskExecStage][Not Support] the
    data type is int64
says: the data type is {type}
cause: the chip or release lacks it: point-to-point groups on 310P, for example
apart: the list of operators of your product in HCCL's guide
fix: use another operator or data type; tensor instead of pipeline parallelism on 310P
""")._replace(codes=("HcclResult 5",)),
    known("""cause EI0007
the host or the card is out of memory or another resource. No rule of a table detects this: end other processes there,
    or reduce the batch size
cause: the memory of the card is full: the model, the cache, another process
cause: too many communicators or streams: notifies are used up
apart: npu-smi info; free -h
""")._replace(fix=_MEMORY_FIX),
    known(r"""cause EI0007
HCCL could not allocate a resource
line: Failed to allocate resource ?\[?(?P<resource>[^\]\n]{1,60}?)\]? with info ?\[?(?P<info>
    [^\]\n]{0,120}?)\]?\. ?Reason
line: \[InitGroupStage\]\[Resource\]
example: EI0007: Failed to allocate resource[notify] with info[size 8]. Reason: no notify is left
says: it is {resource}, {info}
cause: the memory of the card is full: the model, the cache, another process
cause: too many communicators or streams: notifies are used up
apart: npu-smi info; free -h
""")._replace(fix=_MEMORY_FIX),
    known(r"""cause EL0009 in_output
the streams of the card are used up
line: \[SqCqManage\]Alloc sq cq fail(?:, ?stream_id=(?P<stream>[0-9]{1,9}))?
line: halSqCqAllocate failed
line: Alloc chan failed\. ?\([^()\n]{0,80}\bcur_sq_num=(?P<queues>[0-9]{1,9})
line: New capture stream failed(?:, ?stream_id=(?P<stream>[0-9]{1,9}))?
line: ACLgraph has insufficient available streams
line: [Tt]he stream resources are insufficient
line: Stream resources are insufficient
line: reason=driver error:no stream resource
example: EE9999[PID: 77] 2026-04-17-09:16:39.992.922 (EE9999):  [SqCqManage]Alloc sq cq fail, stream_id=1984
says: the stream is {stream}
says: {queues} queues were in use
""")._replace(causes=TOO_MANY, tells_apart=COUNT, fix=FEWER),
    known(r"""cause in_output
an operator asked for more memory than there can be: the size of a tensor is wrong
line: Tried to allocate more than 1EB memory
example: NPU out of memory. Tried to allocate more than 1EB memory
cause: an index, a label or a length in the data is corrupt, or not of the type that the program expects
cause: an operator before it wrote out of bounds: ASCEND_LAUNCH_BLOCKING=1 shows the one that fails
apart: print the shapes and the range of the values of this batch
fix: correct the data or the computation of the size; more memory does not help
"""),
    known(r"""cause 207001 in_output
the memory of the card is used up
line: NPU out of memory\.?(?: ?Tried to allocate (?P<size>[0-9.]{1,12} ?[KMG]i?B))?(?:[^\n]{0,20}?(?P<total>
    [0-9.]{1,12} ?[KMGT]iB) total capacity;[^\n]{0,120}? (?P<free>[0-9.]{1,12} ?[KMG]iB) free; ?(?P<reserved>
    [0-9.]{1,12} ?[KMG]iB) reserved)?
line: [Mm]alloc device memory failed
line: \bhalMemAlloc failed
line: drv\w{0,20} ?[Mm]alloc\w{0,20} fail\w{0,3}[^\n]{0,80}(?:out of memory|size)
example: RuntimeError: NPU out of memory. Tried to allocate 90.00 MiB (NPU 1; 60.00 GiB total capacity; 4.00 GiB already
    allocated; 4.00 GiB current active; 20.00 MiB free; 4.00 GiB reserved in total by PyTorch)
says: another process holds about {outside} of the card: of {total} this one has {reserved}, and {free} are free; end
    that process, or take another card
says: this process itself has {mostly} of {total}: its model, batch or cache is too large for one card
says: it asked for {size}
cause: the model or the cache takes all memory of the card
cause: another process holds memory of the card
apart: npu-smi info: memory and processes of the card
""")._replace(fix=_MEMORY_FIX),
    known("""symptom EI9999 vague
an error inside HCCL; the message and the lines around it show what failed
cause: with `fftsplus task timeout` or `notify`: an operator waited for another rank, as EI0002
cause: with `sdma`: a copy failed, as EI0012
cause: otherwise an error that HCCL has no code for
apart: read the text after the code, and the first ERROR line of this process
fix: follow that line; if it does not help, collect all plogs (ASCEND_GLOBAL_LOG_LEVEL=1) for HCCL's maintainers
"""),
)
