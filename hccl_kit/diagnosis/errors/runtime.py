"""Messages of the runtime: kernels that fail, streams that are not finished, packages that do not fit."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import KnownError

WAIT = "which rank is late or absent: EI0002, heartbeats and `Task run failed` in the plogs of all ranks"
SYMPTOM_FIX = "follow EI0002: correct the rank that did not arrive; ASCEND_GLOBAL_EVENT_ENABLE=1 for more facts"
WAIT_CAUSES = (
    "an operator of HCCL waited for another rank until HCCL_EXEC_TIMEOUT",
    "an operator hangs on this card",
)

ROWS: tuple[KnownError, ...] = (
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
        causes=WAIT_CAUSES,
        tells_apart=WAIT,
        fix=SYMPTOM_FIX,
        stage="an operator runs",
        needs_context=True,
        vague=True,
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
        causes=WAIT_CAUSES,
        tells_apart=WAIT,
        fix=SYMPTOM_FIX,
        vague=True,
    ),
    KnownError(
        "CANN could not verify its package of operators (OPP)",
        codes=("E30006",),
        patterns=(r"Failed to verify the OPP",),
        example="E30006: Failed to verify the OPP",
        in_output=True,
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
        "an operator could not be compiled for the card",
        codes=("E40021",),
        patterns=(
            r"Failed to compile Op ?\[(?P<operator>[^\],\n]{1,120})",
            r"Compile op ?\[(?P<operator>[^\],\n]{1,120})[^\]\n]{0,40}\] failed, ?oppath",
        ),
        example="Failure_to_Compile_Op(E40021): Failed to compile Op [trans_Cast_2,]. (oppath: [Compile cast.py failed",
        in_output=True,
        says=("operator {operator}",),
        causes=(
            "the Python of this process lacks a module that the compiler needs, or has another release of it",
            "this chip does not support the type or shape: bfloat16 on 910A and 310P",
            "the toolkit and its operators (opp) are of different releases",
        ),
        tells_apart="the last line of the Python error, in or below the message;"
        " grep -h 'ERROR. TE' ~/ascend/log/debug/plog/plog-PID_*.log",
        fix="correct what the Python error names: install the modules that CANN's guide lists, source only one"
        " set_env.sh, or use another type",
    ),
    KnownError(
        "CANN has no description of the chip of this card",
        patterns=(r"init runtime platform info failed, ?SocVersion ?= ?(?P<chip>\w{1,40})",),
        example="[Init][PlatformInfo]init runtime platform info failed, SocVersion = Ascend910B2",
        in_output=True,
        says=("the chip is {chip}",),
        causes=(
            "the toolkit or its operators (opp) are not complete, or older than the chip",
            "ASCEND_OPP_PATH or ASCEND_HOME_PATH names another folder than that of this toolkit",
        ),
        tells_apart="find $ASCEND_HOME_PATH/ -name 'Ascend910*.ini' | head; echo $ASCEND_OPP_PATH",
        fix="install toolkit and ops of one release that knows the chip, and source only its set_env.sh",
        stage="start of a process",
    ),
    KnownError(
        "the graph engine of CANN, or its compiler of operators, did not start",
        role="result",
        patterns=(
            r"OpCompileProcessor init failed",
            r"\[Init\]\[Compiler\]Init compiler failed",
            r"GEInitialize failed",
        ),
        example="[Set][Options]OpCompileProcessor init failed![FUNC:ReportInnerError][FILE:log_inner.cpp][LINE:145]",
        causes=(
            "a Python module that the compiler needs is missing: EC0010",
            "the package of kernels (ops) is not installed, or is of another release or chip",
        ),
        tells_apart="grep -h ERROR ~/ascend/log/debug/plog/plog-PID_*.log | head -3; python -c 'import te, tbe'",
        fix="run `hccl-kit explain` on the lines that it prints",
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
