"""Codes of the modules around HCCL: the runtime's numbers, EE, EL, E3, EZ, HCCP, HIXL; messages of their own."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import KnownError
from hccl_kit.diagnosis.facts import Role

_WAIT = "which rank is late or absent: EI0002, heartbeats and `Task run failed` in the plogs of all ranks"
_SYMPTOM_FIX = "follow EI0002: correct the rank that did not arrive; ASCEND_GLOBAL_EVENT_ENABLE=1 for more facts"
_WAIT_CAUSES = (
    "an operator of HCCL waited for another rank until HCCL_EXEC_TIMEOUT",
    "an operator hangs on this card",
)
_HOLDS = "npu-smi info: processes on the cards; ps -ef on the host, also outside the container"
_END_OLD = "end the processes of the earlier job, wait 30 s, start again; if the error persists, see the device log"
_FIRST = "grep -h ERROR ~/ascend/log/debug/plog/plog-PID_*.log | head -3"
_READ_PLOG = (
    "read the first ERROR lines of the plog of this process (PID is in the message), and run `hccl-kit explain` on them"
)
_KERNEL = f"{_FIRST}; npu-smi info -t health -i N"
_FIND_KERNEL = (
    "start again with ASCEND_LAUNCH_BLOCKING=1 (not with graphs): the traceback then names the operator; check its"
    " inputs, or try another release of CANN; if it fails on one card only, take that card out of the job"
)
_MORE_FREE = "leave more memory free: batch size, share of the cache, HCCL_BUFFSIZE; end other processes on the card"
_ONE_CARD = (
    "several ranks of this job use one card: `(PID:..., Device:0, RankID:2)` has another Device than the rank should"
    " have: LOCAL_RANK, set_device, or the visible devices that Ray sets"
)


def _row(
    code: str, what: str, *causes: str, role: Role = "cause", apart: str = "", fix: str = "", vague: bool = False
) -> KnownError:
    return KnownError(
        what,
        role=role,
        codes=(code,),
        causes=causes,
        tells_apart=apart or _FIRST,
        fix=fix or _READ_PLOG,
        vague=vague,
    )


ROWS: tuple[KnownError, ...] = (
    KnownError(
        "another process still uses the card, or ended less than 10 s ago; `npu-smi info` lists them",
        codes=("EJ0001",),
        causes=(
            "a process of an earlier job still runs, also in another container",
            "it ended just now: the card-side service needs 10 s, better 30 s",
            _ONE_CARD,
            "the card-side service (HCCP) has failed: see the device log",
        ),
        tells_apart=_HOLDS,
        fix=_END_OLD,
        stage="creation of the communicator, on the card",
    ),
    KnownError(
        "the card-side service of HCCL (HCCP) could not be started: a process of an earlier job still holds the card",
        codes=("EJ0001",),
        patterns=(r"Failed to initialize the HCCP process", r"Maybe the last training process is running"),
        example="EJ0001: [PID: 77] 2025-06-15-15:06:40.500.000 Failed to initialize the HCCP process.",
        causes=(
            "a process of an earlier job still runs, also in another container",
            "it ended just now: the card-side service needs 10 s, better 30 s",
            _ONE_CARD,
        ),
        tells_apart=_HOLDS,
        fix=_END_OLD,
        stage="creation of the communicator, on the card",
    ),
    KnownError(
        "the AICPU package of CANN could not be checked or unpacked for the card",
        codes=("E39999",),
        in_output=True,
        patterns=(
            r"load aicpu ops package failed",
            r"checksum aicpu package failed(?:, ?ret ?= ?(?P<result>[0-9]{1,6}))?",
            r"package_worker\.cpp:[0-9]{1,6}:VerifyAicpuPackage",
            r"Decompression AicpuPackage",
        ),
        example="[TSDaemon] checksum aicpu package failed, ret=103, [tsd_common.cpp:2242:S]17",
        says=("the check returned {result}",),
        causes=(
            "the package is damaged, or of another release than driver and firmware",
            "HwHiAiUser, the user of the driver, may not read it, or has no space in its home folder",
        ),
        tells_apart="npu-smi info (release of the driver); the version of CANN: hccl-kit report",
        fix="install driver, firmware and CANN of one release again",
        stage="start of a process",
    ),
    KnownError(
        "a kernel of an operator failed on the card",
        codes=("EZ9999",),
        in_output=True,
        patterns=(
            r"The error from device\(chipId:(?P<chip>[0-9]{1,4})\b[^\n]{0,80}there is an exception of"
            r" (?P<kind>[\w ]{1,40}error)",
            r"errcode:\([^()\n]{1,40}\) errorStr: (?P<reason>[^\n.]{1,200})",
            r"RTS_HWTS: aicore exception",
            r"retCode=0x[0-9a-fA-F]{1,4}, \[(?P<kind>(?:vector core|aicore|aicpu) exception)\]",
            r"Aicpu kernel execute failed[^\n]{0,120}kernelName=(?P<kernel>\w{1,80})",
            r"[Aa]i(?:core|vec|vector core) kernel execute failed(?:[^\n]{0,160}fault kernel_name="
            r"(?P<kernel>\w{1,80}))?",
            r"\baicore (?:exception|error|trap)",
            r"\baiv(?:ec(?:tor)?)? error",
            r"vector core exception",
            r"aicpu exception",
        ),
        example="The error from device(chipId:4, dieId:0), there is an exception of fftsplus aicore error, core id 1",
        says=("{kind}", "on the chip {chip}", "the card says: {reason}", "the kernel is {kernel}"),
        causes=(
            "an address or an input that the kernel does not accept: a wrong shape, or memory freed too early",
            "a bug in the kernel: try another release of CANN",
            "a hardware error of the card: check its health",
        ),
        tells_apart="the name of the operator near it; npu-smi info -t health -i N",
        fix="find the operator (ASCEND_LAUNCH_BLOCKING=1 names it), and check its inputs",
        stage="an operator runs",
    ),
    KnownError(
        "the card's process manager refused to start a helper process, as under EJ0001 and E39007",
        patterns=(
            r"tsd client wait response fail(?:, ?device response code ?\[(?P<response>[0-9]{1,6})\])?",
            r"unknown device error\.?\[FUNC:WaitRsp\]",
        ),
        example="tsd client wait response fail, device response code[1]",
        says=("the card answered {response}",),
        causes=(
            "a process of an earlier job still holds the card",
            "the device log of this time names another reason: memory, a broken package",
        ),
        tells_apart=_HOLDS + "; ~/ascend/log/debug/device-N",
        fix=_END_OLD,
        stage="creation of the communicator, on the card",
    ),
    KnownError(
        "the host timed out waiting for the card's stream: a symptom, not a cause",
        role="symptom",
        codes=("EE1002", "507046"),
        patterns=(
            r"[Ss]tream synchronize timeout",
            r"reason ?= ?\[stream sync(?:hronize)? time ?out\]",
            r"ACL stream synchronize failed(?!, error code:507(?!046))",
            r"error=0x7030010\b",
            r"stream sync(?:hronize)? time ?out",
        ),
        example="RuntimeError: ACL stream synchronize failed.",
        causes=_WAIT_CAUSES,
        tells_apart=_WAIT,
        fix=_SYMPTOM_FIX,
        stage="an operator runs",
        needs_context=True,
        vague=True,
    ),
    _row(
        "EE1001",
        "an argument of a runtime call is not valid",
        "ASCEND_RT_VISIBLE_DEVICES names cards that the container does not have",
        "a card number is too high for this host",
        apart="ls /dev/davinci*; echo $ASCEND_RT_VISIBLE_DEVICES",
        fix="number the cards from 0 in containers and virtual machines",
        vague=True,
    ),
    _row(
        "EC0010",
        "a Python module of the toolkit cannot be imported",
        "set_env.sh of the toolkit was not sourced in this shell",
        "the wheels of the toolkit (te, tbe, hccl) are not installed for this Python, or their requirements are not",
        apart="python -c 'import te, tbe'",
        fix="source set_env.sh of CANN, and use the Python that CANN was installed for",
    ),
    _row("EE4001", "a resource of the runtime is used up", "too many streams, notifies or models in one process"),
    _row(
        "EE9999",
        "an error inside the runtime; see the text after the code",
        "the first line after the code",
        role="result",
    ),
    _row(
        "EH9999",
        "an error inside ACL; see the text after the code",
        "the first line after the code",
        role="result",
    ),
    _row(
        "EL0001",
        "the card does not exist for this process, or is abnormal",
        "the container lacks /dev/davinciN",
        "the mask of visible cards names another one",
        "the card was lost: the lines below say `lost heartbeat` or 507010",
        apart="ls /dev/davinci*; npu-smi info; npu-smi info -t health -i N",
        fix="if the card is missing, start the container with the devices that `hccl-kit container TABLE` prints; if it"
        " was lost, reset it",
        vague=True,
    ),
    _row(
        "EL0003",
        "an argument of a driver call is not valid",
        "a card number that does not exist",
        "a card that another container holds, or that this user may not open",
        apart=f"{_FIRST}; ls -l /dev/davinci*; npu-smi info on the host",
        vague=True,
    ),
    _row(
        "EL0004",
        "the memory of the card is used up",
        "another process holds memory of the card: it fails while the card is opened (507033), or"
        " with little allocated",
        "the model, the cache or HCCL's buffers (two of HCCL_BUFFSIZE for each communicator) take all of it",
        apart="npu-smi info on the host: memory and processes of the card, before the job starts",
        fix=_MORE_FREE,
    ),
    _row("EL9999", "an error inside the driver", "the text after the code; dmesg", role="result"),
    _row(
        "E39007",
        "a helper process on the card did not start in time",
        "a process of an earlier job still holds the card",
        "the host is overloaded, so that the start takes too long",
        apart=_HOLDS,
        fix=_END_OLD,
    ),
    _row(
        "E39999",
        "an error inside the card's process manager",
        "the text after the code; the device log",
        role="result",
    ),
    _row("E19999", "an error inside the graph engine", "the text after the code", role="result"),
    _row(
        "EZ9999",
        "an error inside an operator; it may wrap an error of HCCL (result 4 or 9)",
        "the text after the code: a kernel that failed, or a call to HCCL that failed",
        "an operator waited for another rank: EI0002 near it",
        role="result",
    ),
    _row(
        "EZ1008",
        "an operator could not be prepared on the host (its shapes or its tiling); the text after it has the reason",
        "in MoE dispatch and combine: HCCL_BUFFSIZE is too small, in a line below it",
        "the shape or data type of an input is not one that the operator accepts",
        role="result",
    ),
    _row("107000", "an argument of a runtime call is not valid", "a card number, a size or a pointer"),
    _row(
        "107001",
        "the card number is not valid for this process",
        "more processes than cards, or hosts with one name, so that a launcher counts them as one",
        "ASCEND_RT_VISIBLE_DEVICES hides the card",
        apart="ls /dev/davinci*; echo $ASCEND_RT_VISIBLE_DEVICES; hostname",
        fix="one process per visible card, numbered from 0",
    ),
    _row(
        "107002",
        "no context: a call before the card is set",
        "a thread that has not set its card, or a card that was reset",
    ),
    _row("107003", "the stream is not of this context", "a stream of another card or thread"),
    _row("107019", "the event was not recorded in time", *_WAIT_CAUSES, role="symptom", apart=_WAIT, fix=_SYMPTOM_FIX),
    _row(
        "107020",
        "a task did not finish in time: a symptom, often an operator that waited for another rank",
        *_WAIT_CAUSES,
        role="symptom",
        apart=_WAIT,
        fix=_SYMPTOM_FIX,
    ),
    _row(
        "107027",
        "a call that is not allowed while a graph is captured from this stream",
        "the program waits for the stream, or reads a value of the card, inside the capture",
        "ASCEND_LAUNCH_BLOCKING=1, which waits after each operator, together with graphs",
        apart="echo $ASCEND_LAUNCH_BLOCKING; the traceback names the call",
        fix="unset ASCEND_LAUNCH_BLOCKING, or run without graphs (vLLM: --enforce-eager) to find the operator",
    ),
    _row(
        "207000",
        "the feature is not supported on this product or release",
        "the product does not have it: 310P lacks much of what 910B has",
        "driver and firmware are older than CANN needs",
        apart=f"{_FIRST}: the function that failed; npu-smi info: chip and version of the driver",
        fix="install the driver and firmware that the release notes of your CANN name; if the"
        " product lacks the feature,"
        " switch it off in the framework",
    ),
    _row(
        "207001",
        "the memory of the card is used up",
        "the model or the cache takes all of it",
        "another process holds memory of the card",
        apart="npu-smi info: memory and processes of the card",
        fix="leave more memory free: batch size, share of the cache, HCCL_BUFFSIZE; end other processes",
    ),
    _row(
        "207004",
        "no card is available to this process",
        "the container lacks the devices, or the mask of visible cards names others",
        apart="ls /dev/davinci*; npu-smi info; echo $ASCEND_RT_VISIBLE_DEVICES",
        fix="start the container with the devices that `hccl-kit container TABLE` prints; number the cards from 0",
    ),
    _row("207005", "no resource of the card is left", "too many streams or communicators"),
    _row("507000", "an error inside the runtime", "the first ERROR of this process", role="result"),
    _row(
        "507001",
        "an error inside the card's scheduler",
        "the card's firmware, or a fault of the card",
        apart=_KERNEL,
    ),
    _row(
        "507011",
        "a model on the card failed",
        "`event wait timeout` or `fftsplus` near it: an operator waited for another rank, as EI0002",
        "a kernel failed: `aicore exception`, `errcode` near it",
        role="symptom",
        apart='grep -h "event wait timeout\\|fftsplus\\|errcode\\|Task run failed"'
        " ~/ascend/log/debug/plog/plog-PID_*.log",
        fix="a timeout: find the rank that is late (it evaluates, saves or compiles) or ended; a kernel:"
        " ASCEND_LAUNCH_BLOCKING=1 names the operator",
    ),
    _row(
        "507014",
        "a kernel did not finish in time",
        "the kernel hangs, or waits for another rank inside it",
        role="symptom",
        apart=_WAIT,
        fix=_SYMPTOM_FIX,
    ),
    _row(
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
    _row(
        "507018",
        "a task on the card's own CPU (AICPU) failed",
        "in AICPU mode an operator of HCCL waited or failed: EI0002 near it",
        "an operator's input",
        apart=_KERNEL,
    ),
    _row(
        "507033",
        "the card could not be started",
        "the card is in reset or failed",
        "another process opens it at the same time",
        apart="npu-smi info; dmesg",
        fix="wait, then start again; if the error persists, reset the card",
    ),
    _row(
        "507034",
        "a vector kernel did not finish in time",
        "HCCL_OP_EXPANSION_MODE=AIV, or a kernel that also communicates (MoE dispatch): it waited for another rank",
        "the kernel hangs, or several processes share the card",
        role="symptom",
        apart='grep -h "fault kernel_name\\|errorStr" ~/ascend/log/debug/plog/plog-PID_*.log: the name of the kernel',
        fix="if the kernel is one of HCCL (aiv_...) or of MoE: find the rank that did not arrive, as for EI0002; else"
        " report the kernel with its shapes, or try another release of CANN",
    ),
    _row(
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
    _row(
        "507047",
        "the host timed out waiting for an event: a symptom, not a cause",
        *_WAIT_CAUSES,
        role="symptom",
        apart=_WAIT,
        fix=_SYMPTOM_FIX,
    ),
    _row(
        "507049",
        "a task of an operator failed on the card",
        "a copy (SDMA, EI0012) or a kernel failed: see the lines near it",
        role="symptom",
        apart=_KERNEL,
    ),
    _row(
        "507051",
        "a message to the card could not be sent",
        "the card or its driver does not answer",
        apart="npu-smi info; dmesg",
    ),
    _row(
        "507053",
        "the memory of the card is faulty",
        "a fault of the card's memory",
        apart="npu-smi info -t health -i N; npu-smi info -t ecc -i N",
        fix="take the card out of the job; replace it if the error recurs",
    ),
    _row(
        "507054",
        "the memory of the card has errors of several bits (HBM ECC)",
        "a fault of the card's memory",
        apart="npu-smi info -t ecc -i N",
        fix="reset the card; replace it if the error recurs",
    ),
    _row(
        "507055",
        "the memory of the card is suspected to be faulty",
        "a fault of the card's memory, or an address that another card freed",
        apart="npu-smi info -t ecc -i N",
    ),
    _row(
        "507056",
        "a link of the card is broken",
        "the link between cards (HCCS, RoCE)",
        apart="hccn_tool -i N -link_stat -g; npu-smi info -t topo",
        fix="repair the link",
    ),
    _row(
        "507057",
        "the far end is suspected: a remote card did not answer (SUSPECT REMOTE ERROR)",
        "the card or process at the other end failed first: see its log",
        "the link or the super pod's fabric between the two",
        role="pointer",
        apart="the log of the other end; versions of the fabric on both",
        fix="correct the other end, then the link",
    ),
    _row("507899", "an error inside the driver", "the first ERROR of this process; dmesg", role="result"),
    _row("507900", "an error inside the card's own CPU (AICPU)", "the device log of this time", role="result"),
    _row(
        "507901",
        "the connection between host and card was closed",
        "the card was reset, or its process ended",
        apart="npu-smi info; dmesg",
    ),
    _row("161001", "an argument of an operator (aclnn) is a null pointer", "the call of the operator"),
    _row("161002", "an argument of an operator (aclnn) is not valid", "shape, type or layout of an input"),
    _row(
        "361001",
        "a call to the runtime failed inside an operator (aclnn)",
        "the runtime's code near it",
        role="result",
    ),
    _row(
        "561002",
        "the tiling of an operator (aclnn) failed: its sizes do not fit",
        "the EZ code near it has the reason, such as HCCL_BUFFSIZE in MoE dispatch and combine",
        role="result",
    ),
    _row("561000", "an error inside an operator (aclnn)", "the EZ or EE code near it", role="result"),
    _row(
        "561003",
        "the kernel of an operator is not installed",
        "the package of kernels is missing or of another chip or release",
    ),
    KnownError(
        "HIXL/ADXL refused an argument, or could not link to the other end",
        role="symptom",
        codes=("103900",),
        causes=(
            "the other end is not reachable: address, port, TLS, or the card network between prefill and decode",
            "the memory to register is too large for this driver, or an argument is wrong",
            "`use_ascend_direct` or the protocol differs between the ends; one A2 host needs HCCL_INTRA_ROCE_ENABLE=1",
        ),
        tells_apart="the plog of both ends at this second: EI0006, EI0009, HcclCommPrepare",
        fix="correct what the plog names; equal settings and TLS at both ends",
        stage="links between prefill and decode",
    ),
    _row(
        "103901",
        "HIXL/ADXL: a transfer or a link did not finish in time",
        "the other end is slow, or has ended",
        "the timeout is short (1 s by default)",
        role="symptom",
        apart="the plog of both ends",
        fix="raise the timeout (ASCEND_CONNECT_TIMEOUT, ASCEND_TRANSFER_TIMEOUT); correct the other end",
    ),
    _row(
        "103902",
        "HIXL/ADXL: the other end is not connected (any more)",
        "the link was not set up, or was closed after a failed transfer: see an earlier line",
        "the other end ended",
        role="symptom",
        apart="the first line with a status in this log; the plog of both ends",
        fix="fix the first failure; both ends must be running",
    ),
    _row("103903", "HIXL/ADXL: the other end is connected already", "a second connect to the same end", role="fact"),
    _row("103905", "HIXL/ADXL: the call is not supported here", "the chip or release lacks it"),
    _row("203900", "HIXL/ADXL: no streams are left", "too many links or transfers at once"),
    _row(
        "503900",
        "HIXL/ADXL failed; its plog has the reason",
        "a link of HCCL failed: EI0006, EI0009 (a port without link), HcclCommPrepare with a result",
        "a port that is taken: prefill and decode on one host",
        role="result",
        apart="grep ERROR in the plogs of both ends at this second",
        fix="run `hccl-kit explain` on these lines",
    ),
    KnownError(
        "the card lost its heartbeat: it no longer responds",
        codes=("507010",),
        patterns=(
            r"The task scheduler loses the heartbeat",
            r"\bDevice ?\[(?P<card>[0-9]{1,6})\] lost heartbeat",
            r"reason ?= ?\[?lost heartbeat",
        ),
        example="Device[3] lost heartbeat.",
        says=("the card is {card}",),
        causes=("the card was reset, or failed (power, heat, memory)", "its firmware hangs"),
        tells_apart="npu-smi info; npu-smi info -t health -i N; dmesg",
        fix="reset the card (npu-smi set -t reset -i N -c 0) with no job on it; replace it if the error recurs",
        of_card=True,
    ),
    KnownError(
        "a task on the card timed out; with EI0002 it is an operator of HCCL that waited for another rank",
        role="symptom",
        codes=("507048",),
        patterns=(
            r"The execution of the internal task times out",
            r"[Tt]he (?:aicore|aicpu|vector core) execution times out",
        ),
        example="The execution of the internal task times out, npu 3",
        causes=_WAIT_CAUSES,
        tells_apart=_WAIT,
        fix=_SYMPTOM_FIX,
        vague=True,
    ),
    KnownError(
        "the connection to the card was lost",
        patterns=(r"\bhdc (?:send msg fail|disconnect)",),
        example="[ERROR] DRV(77,python3):2025-06-15-15:06:40.500.000 [hdc.c:12] hdc send msg fail, ret 25",
        causes=("the card was reset, or failed", "the process on the card ended: see the device log"),
        tells_apart="npu-smi info; dmesg; ~/ascend/log/debug/device-N",
        fix="reset the card (npu-smi set -t reset -i N -c 0) with no job on it; replace it if the error recurs",
        needs_context=True,
        of_card=True,
    ),
    KnownError(
        "the memory of the card has errors that cannot be corrected (HBM ECC)",
        patterns=(
            r"(?i:\bhbm\b[^\n]{0,60}(?:ecc|uncorrect|multi[- ]?bit|double[- ]?bit)[^\n]{0,40}error)",
            r"(?i:\becc\b[^\n]{0,40}(?:uncorrect|multi[- ]?bit|double[- ]?bit)[^\n]{0,40}error)",
            r"(?i:(?:uncorrect|multi[- ]?bit|double[- ]?bit)\w{0,6}[^\n]{0,20}\becc\b)",
            r"HBM_MULTI_BIT_ECC_ERROR",
            r"\bhbm\b[^\n]{0,40}error",
            r"\bRAS\b[^\n]{0,40}error",
        ),
        example="[ERROR] DRV(77,python3):2025-06-15-15:06:40.500.000 [ras.c:12] HBM multi bit ecc error, devid 3",
        causes=("a fault of the card's memory",),
        tells_apart="npu-smi info -t ecc -i N: double bit errors, isolated pages; npu-smi info -t health -i N",
        fix="take the card out of the job and reset it; replace it if the error recurs",
        needs_context=True,
        of_card=True,
    ),
    KnownError(
        "the card is absent or busy",
        patterns=(
            r"drvDeviceOpen\b",
            r"[Dd]evice ?(?:id ?)?\[?[0-9]{0,3}\]? (?:is )?(?:absent|not exist|offline|lost)\b",
        ),
        example="[ERROR] DRV(77,python3):2025-06-15-15:06:40.500.000 [dev.c:12] drvDeviceOpen of 3 failed",
        causes=("the card was lost: reset, power or heat", "another process holds it", "the container lacks it"),
        tells_apart="npu-smi info; ls /dev/davinci*; dmesg",
        fix="if npu-smi lacks the card, reset it or the host; else end the process that holds it",
        needs_context=True,
    ),
    KnownError(
        "the driver did not open a card for this process",
        patterns=(r"Failed to open device, ?retCode=(?P<error>0x[0-9a-fA-F]{1,10}), ?deviceId=(?P<card>[0-9]{1,6})",),
        example="Failed to open device, retCode=0x7020014, deviceId=0.",
        says=("the card is {card}, the error {error}",),
        causes=(
            "another container holds the card, or this user may not open /dev/davinciN",
            "the process takes another card than intended: ASCEND_RT_VISIBLE_DEVICES was set after"
            " torch_npu was loaded",
            "the card does not exist in this container",
        ),
        tells_apart="ls -l /dev/davinci*; npu-smi info on the host; echo $ASCEND_RT_VISIBLE_DEVICES before the start",
        fix="end the other user of the card, or set ASCEND_RT_VISIBLE_DEVICES in the shell, before Python starts",
    ),
    KnownError(
        "CANN could not verify its package of operators (OPP)",
        codes=("E30006",),
        patterns=(r"Failed to verify the OPP",),
        example="E30006: Failed to verify the OPP",
        causes=(
            "driver, firmware and CANN, or the packages of CANN, are of different releases",
            "with `tsd client wait response fail` below it: another process, also in another container, holds the card",
        ),
        tells_apart="cat /usr/local/Ascend/ascend-toolkit/latest/version.cfg /usr/local/Ascend/driver/version.info;"
        " npu-smi info on the host",
        fix="end other processes on the card and start again; if it persists, install driver, firmware, toolkit and ops"
        " of one release",
        stage="start of a process",
    ),
    KnownError(
        "the card could not be opened or started",
        codes=("507033",),
        vague=True,
        in_output=True,
        patterns=(
            r"\[Error\]: ?Failed to start the device",
            r"open device (?P<card>[0-9]{1,4}) failed",
            r"Start aicpu executor failed",
            r"\[OpenProcess\][^\n]{0,80}\bfail",
        ),
        example="open device 2 failed, npu",
        says=("the card is {card}",),
        causes=(
            "another process, also in another container, holds the card",
            "driver, firmware and CANN are not compatible, or the package of operators is broken (E30006)",
            "the card is in reset or failed",
        ),
        tells_apart="npu-smi info; cat /usr/local/Ascend/driver/version.info; dmesg",
        fix="end the other process; install compatible releases; if the error persists, reset the card",
    ),
    KnownError(
        "the card is used by another container, and the driver gives it to one at a time",
        patterns=(r"because the device is used\.? ?ret is (?P<result>-[0-9]{1,6})",),
        example="dcmi model initialized failed, because the device is used. ret is -8020",
        says=("the result is {result}",),
        causes=(
            "another container was started with the same card",
            "a process of the host uses the card",
        ),
        tells_apart="on the host: npu-smi info; docker ps --format '{{.Names}}'; docker inspect NAME | grep davinci",
        fix="stop the other container, or start this one with other cards; with npu-smi set -t"
        " device-share -i N -d 1 on"
        " the host, containers may share a card",
    ),
    KnownError(
        "the tools of the card do not work in this container or for this user",
        patterns=(r"dcmi module initialize failed\.? ?ret is (?P<result>-[0-9]{1,6})",),
        example="dcmi module initialize failed. ret is -8005",
        says=("the result is {result}",),
        causes=(
            "another container holds the card exclusively (-8005)",
            "the container lacks /dev/davinci_manager, /dev/hisi_hdc or the driver's folder",
            "the container dropped capabilities, or /dev/davinciN belongs to another user (uid) than"
            " that of the process",
        ),
        tells_apart="npu-smi info on the host; in the container: ls -ln /dev/davinci*; id; grep Cap /proc/self/status",
        fix="end the other container, or start this one as `hccl-kit container TABLE` prints; in Kubernetes give it the"
        " user or group of the devices, or do not drop all capabilities",
    ),
    KnownError(
        "the driver's library does not work in this container or for this user",
        patterns=(r"DrvMngGetConsoleLogLevel failed",),
        example="DrvMngGetConsoleLogLevel failed. (g_conLogLevel=3)",
        vague=True,
        causes=(
            "another container holds the card exclusively",
            "the container lacks /dev/davinci_manager, /dev/hisi_hdc or the driver's folder, or lacks the permissions",
        ),
        tells_apart="npu-smi info on the host; ls /dev/davinci* in the container",
        fix="end the other container, or start this one as `hccl-kit container TABLE` prints",
    ),
    KnownError(
        "hccn_tool is not in this container, so that addresses and TLS of the cards cannot be read",
        patterns=(r"hccn_tool: (?:command )?not found", r"Failed to call hccn_tool"),
        example="bash: hccn_tool: command not found",
        causes=("the folder of the driver's tools is not mounted or not in PATH",),
        tells_apart="ls /usr/local/Ascend/driver/tools/hccn_tool",
        fix="mount it and /etc/hccn.conf, or run the command on the host",
    ),
    KnownError(
        "a line of CANN's stack trace; the line with a code (EE, EI, EJ, EL) above it names the error",
        role="frame",
        patterns=(r"\[FUNC:\w{1,80}\]\[FILE:[\w.+-]{1,80}\] ?\[LINE:[0-9]{1,6}\]",),
        example="        x failed[FUNC:Setup][FILE:stream.cc][LINE:1102]",
        causes=("each line of the trace repeats the failure, one caller up",),
        tells_apart="the line with a code above it",
        fix="run `hccl-kit explain` on that line, or on the whole text",
    ),
)
