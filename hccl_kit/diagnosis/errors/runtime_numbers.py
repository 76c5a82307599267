"""Numbers of the runtime and of HIXL of which more is known than their names; `numbers` has the others."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.codes import FIRST, page_of
from hccl_kit.diagnosis.errors.row import KnownError, known
from hccl_kit.diagnosis.errors.runtime import SYMPTOM_FIX, WAIT, WAIT_CAUSES

_KERNEL = f"{FIRST}; npu-smi info -t health -i N"
_FIND_KERNEL = (
    "start again with ASCEND_LAUNCH_BLOCKING=1 (not with graphs): the traceback then names the operator; check its"
    " inputs, or try another release of CANN; if it fails on one card only, take that card out of the job"
)


ROWS: tuple[KnownError, ...] = (
    page_of("107000", "an argument of a runtime call is not valid", "a card number, a size or a pointer"),
    page_of(
        "107001",
        "the card number is not valid for this process",
        "more processes than cards, or hosts with one name, so that a launcher counts them as one",
        "ASCEND_RT_VISIBLE_DEVICES hides the card",
        apart="ls /dev/davinci*; echo $ASCEND_RT_VISIBLE_DEVICES; hostname",
        fix="one process per visible card, numbered from 0",
    ),
    page_of(
        "107002",
        "no context: a call before the card is set",
        "a thread that has not set its card: one that streams answers, loads data or saves",
        "setting the card failed before, as 507008 and 507033 below it tell",
        apart="the thread of the traceback; the other numbers of this error",
        fix="call torch.npu.set_device(N) at the start of every thread that uses the card",
    ),
    page_of("107003", "the stream is not of this context", "a stream of another card or thread"),
    page_of("107019", "the event was not recorded in time", *WAIT_CAUSES, role="symptom", apart=WAIT, fix=SYMPTOM_FIX),
    page_of(
        "107020",
        "a task did not finish in time: a symptom, often an operator that waited for another rank",
        *WAIT_CAUSES,
        role="symptom",
        apart=WAIT,
        fix=SYMPTOM_FIX,
    ),
    page_of(
        "107027",
        "a call that is not allowed while a graph is captured from this stream",
        "the program waits for the stream, or reads a value of the card, inside the capture",
        "ASCEND_LAUNCH_BLOCKING=1, which waits after each operator, together with graphs",
        apart="echo $ASCEND_LAUNCH_BLOCKING; the traceback names the call",
        fix="unset ASCEND_LAUNCH_BLOCKING, or run without graphs (vLLM: --enforce-eager) to find the operator",
    ),
    page_of(
        "207000",
        "the feature is not supported on this product or release",
        "the product does not have it: 310P lacks much of what 910B has",
        "driver and firmware are older than CANN needs",
        apart=f"{FIRST}: the function that failed; npu-smi info: chip and version of the driver",
        fix="install the driver and firmware that the release notes of your CANN name; if the"
        " product lacks the feature,"
        " switch it off in the framework",
    ),
    page_of(
        "207001",
        "the memory of the card is used up",
        "the model or the cache takes all of it",
        "another process holds memory of the card",
        apart="npu-smi info: memory and processes of the card",
        fix="leave more memory free: batch size, share of the cache, HCCL_BUFFSIZE; end other processes",
    ),
    page_of(
        "207004",
        "no card is available to this process",
        "the container lacks the devices, or the mask of visible cards names others",
        apart="ls /dev/davinci*; npu-smi info; echo $ASCEND_RT_VISIBLE_DEVICES",
        fix="start the container with the devices that `hccl-kit container TABLE` prints; number the cards from 0",
    ),
    page_of("507000", "an error inside the runtime", "the first ERROR of this process", role="result"),
    page_of(
        "507001",
        "an error inside the card's scheduler",
        "the driver does not support virtual memory (PYTORCH_NPU_ALLOC_CONF=expandable_segments:True)",
        "the card's firmware, or a fault of the card",
        apart="echo $PYTORCH_NPU_ALLOC_CONF; " + _KERNEL,
        fix="start again with PYTORCH_NPU_ALLOC_CONF=expandable_segments:False; else read the first ERROR lines of the"
        " plog of this process",
    ),
    page_of(
        "507011",
        "a model on the card failed",
        "`event wait timeout` or `fftsplus` near it: an operator waited for another rank, as EI0002",
        "a kernel failed: `aicore exception`, `errcode` near it",
        role="result",
        apart='grep -h "event wait timeout\\|fftsplus\\|errcode\\|Task run failed"'
        " ~/ascend/log/debug/plog/plog-PID_*.log",
        fix="a timeout: find the rank that is late (it evaluates, saves or compiles) or ended; a kernel:"
        " ASCEND_LAUNCH_BLOCKING=1 names the operator",
    ),
    page_of(
        "507014",
        "a kernel did not finish in time",
        "the kernel hangs, or waits for another rank inside it",
        role="symptom",
        apart=WAIT,
        fix=SYMPTOM_FIX,
    ),
    page_of(
        "507015",
        "a kernel failed on the card",
        "an address or an input that the kernel does not accept",
        "a fault of the card",
        apart=_KERNEL,
    )._replace(
        patterns=(r"error code is 507015\b", r"error code:507015\b"),
        example="NPU function error: c10_npu::acl::AclrtSynchronizeStream(stream), error code is 507015",
        vague=True,
        in_output=True,
    ),
    page_of(
        "507018",
        "a task on the card's own CPU (AICPU) failed",
        "in AICPU mode an operator of HCCL waited or failed: EI0002 near it",
        "an operator's input",
        apart=_KERNEL,
    ),
    page_of(
        "507033",
        "the card could not be started",
        "the card is in reset or failed",
        "another process opens it at the same time",
        apart="npu-smi info; dmesg",
        fix="wait, then start again; if the error persists, reset the card",
    ),
    page_of(
        "507034",
        "a vector kernel did not finish in time",
        "HCCL_OP_EXPANSION_MODE=AIV, or a kernel that also communicates (MoE dispatch): it waited for another rank",
        "the kernel hangs, or several processes share the card",
        role="symptom",
        apart='grep -h "fault kernel_name\\|errorStr" ~/ascend/log/debug/plog/plog-PID_*.log: the name of the kernel',
        fix="if the kernel is one of HCCL (aiv_...) or of MoE: find the rank that did not arrive, as for EI0002; else"
        " report the kernel with its shapes, or try another release of CANN",
    ),
    page_of(
        "507035",
        "a vector kernel failed on the card",
        "an address or an input that the kernel does not accept: a wrong shape or index, or memory freed too early",
        "a bug in the kernel",
        "a fault of the card, if it is always the same card",
        apart='grep -h "fault kernel_name\\|errorStr" ~/ascend/log/debug/plog/plog-PID_*.log: kernel and kind of fault',
        fix=_FIND_KERNEL,
    )._replace(
        patterns=(r"error code is 507035\b", r"error code:507035\b"),
        example="RuntimeError: ACL stream synchronize failed, error code:507035",
        vague=True,
        in_output=True,
    ),
    page_of(
        "507047",
        "the host timed out waiting for an event: a symptom, not a cause",
        *WAIT_CAUSES,
        role="symptom",
        apart=WAIT,
        fix=SYMPTOM_FIX,
    ),
    page_of(
        "507049",
        "a task of an operator failed on the card",
        "a copy (SDMA, EI0012) or a kernel failed: see the lines near it",
        role="symptom",
        apart=_KERNEL,
    ),
    page_of(
        "507051",
        "a message to the card could not be sent",
        "the card or its driver does not answer",
        apart="npu-smi info; dmesg",
    ),
    page_of(
        "507053",
        "the memory of the card is faulty",
        "a fault of the card's memory",
        apart="npu-smi info -t health -i N; npu-smi info -t ecc -i N",
        fix="take the card out of the job; replace it if the error recurs",
    ),
    page_of(
        "507054",
        "the memory of the card has errors of several bits (HBM ECC)",
        "a fault of the card's memory",
        apart="npu-smi info -t ecc -i N",
        fix="reset the card; replace it if the error recurs",
    ),
    page_of(
        "507055",
        "the memory of the card is suspected to be faulty",
        "a fault of the card's memory, or an address that another card freed",
        apart="npu-smi info -t ecc -i N",
    ),
    page_of(
        "507056",
        "a link of the card is broken",
        "the link between cards (HCCS, RoCE)",
        apart="hccn_tool -i N -link_stat -g; npu-smi info -t topo",
        fix="repair the link",
    )._replace(patterns=(r"\bHCCS LINK ERROR\b",), example="RuntimeError: HCCS LINK ERROR."),
    page_of(
        "507057",
        "the far end is suspected: a remote card did not answer (SUSPECT REMOTE ERROR)",
        "the card or process at the other end failed first: see its log",
        "the link or the super pod's fabric between the two",
        role="pointer",
        apart="the log of the other end; versions of the fabric on both",
        fix="correct the other end, then the link",
    ),
    page_of("507899", "an error inside the driver", "the first ERROR of this process; dmesg", role="result"),
    page_of("507900", "an error inside the card's own CPU (AICPU)", "the device log of this time", role="result"),
    page_of(
        "507901",
        "the connection between host and card was closed",
        "the card was reset, or its process ended",
        apart="npu-smi info; dmesg",
    ),
    known("""symptom 103900
HIXL/ADXL refused an argument, or could not link to the other end
cause: the other end is not reachable: address, port, TLS, or the card network between prefill and decode
cause: the memory to register is too large for this driver, or an argument is wrong
cause: `use_ascend_direct` or the protocol differs between the ends; one A2 host needs HCCL_INTRA_ROCE_ENABLE=1
apart: the plog of both ends at this second: EI0006, EI0009, HcclCommPrepare
fix: correct what the plog names; equal settings and TLS at both ends
stage: links between prefill and decode
"""),
    page_of(
        "103901",
        "HIXL/ADXL: a transfer or a link did not finish in time",
        "the other end is slow, or has ended",
        "the timeout is short (1 s by default)",
        role="symptom",
        apart="the plog of both ends",
        fix="raise the timeout (ASCEND_CONNECT_TIMEOUT, ASCEND_TRANSFER_TIMEOUT); correct the other end",
    ),
    page_of(
        "103902",
        "HIXL/ADXL: the other end is not connected (any more)",
        "the link was not set up, or was closed after a failed transfer: see an earlier line",
        "the other end ended",
        role="symptom",
        apart="the first line with a status in this log; the plog of both ends",
        fix="fix the first failure; both ends must be running",
    ),
    page_of("103903", "HIXL/ADXL: the other end is connected already", "a second connect to the same end", role="fact"),
    page_of("103905", "HIXL/ADXL: the call is not supported here", "the chip or release lacks it"),
    page_of("203900", "HIXL/ADXL: no streams are left", "too many links or transfers at once"),
    page_of(
        "503900",
        "HIXL/ADXL failed; its plog has the reason",
        "a link of HCCL failed: EI0006, EI0009 (a port without link), HcclCommPrepare with a result",
        "a port that is taken: prefill and decode on one host",
        role="result",
        apart="grep ERROR in the plogs of both ends at this second",
        fix="run `hccl-kit explain` on these lines",
    ),
)
