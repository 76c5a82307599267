"""Messages of the runtime: kernels that fail, streams that are not finished, packages that do not fit."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import KnownError, known

WAIT = "which rank is late or absent: EI0002, heartbeats and `Task run failed` in the plogs of all ranks"
SYMPTOM_FIX = "follow EI0002: correct the rank that did not arrive; ASCEND_GLOBAL_EVENT_ENABLE=1 for more facts"
WAIT_CAUSES = (
    "an operator of HCCL waited for another rank until HCCL_EXEC_TIMEOUT",
    "an operator hangs on this card",
)

ROWS: tuple[KnownError, ...] = (
    known(r"""cause E39999 in_output
the AICPU package of CANN could not be checked or unpacked for the card
line: load aicpu ops package failed
line: checksum aicpu package failed(?:, ?ret ?= ?(?P<result>[0-9]{1,6}))?
line: package_worker\.cpp:[0-9]{1,6}:VerifyAicpuPackage
line: Decompression AicpuPackage
example: [TSDaemon] checksum aicpu package failed, ret=103, [tsd_common.cpp:2242:S]17
says: the check returned {result}
cause: the package is damaged, or of another release than driver and firmware
cause: HwHiAiUser, the user of the driver, may not read it, or has no space in its home folder
apart: npu-smi info (release of the driver); the version of CANN: hccl-kit report
fix: install driver, firmware and CANN of one release again
stage: start of a process
"""),
    known(r"""cause EZ9999 in_output
a kernel of an operator failed on the card
line: The error from device\(chipId:(?P<chip>[0-9]{1,4})\b[^\n]{0,80}there is an exception of (?P<kind>[\w ]{1,40}error)
line: errcode:\([^()\n]{1,40}\) errorStr: (?P<reason>[^\n.]{1,200})
line: RTS_HWTS: aicore exception
line: retCode=0x[0-9a-fA-F]{1,4}, \[(?P<kind>(?:vector core|aicore|aicpu) exception)\]
line: Aicpu kernel execute failed[^\n]{0,120}kernelName=(?P<kernel>\w{1,80})
line: [Aa]i(?:core|vec|vector core) kernel execute failed(?:[^\n]{0,160}fault kernel_name=(?P<kernel>\w{1,80}))?
line: \baicore (?:exception|error|trap)
line: \baiv(?:ec(?:tor)?)? error
line: vector core exception
line: aicpu exception
example: The error from device(chipId:4, dieId:0), there is an exception of fftsplus aicore error, core id 1
says: {kind}
says: on the chip {chip}
says: the card says: {reason}
says: the kernel is {kernel}
cause: an address or an input that the kernel does not accept: a wrong shape, or memory freed too early
cause: a bug in the kernel: try another release of CANN
cause: a hardware error of the card: check its health
apart: the name of the operator near it; npu-smi info -t health -i N
fix: find the operator (ASCEND_LAUNCH_BLOCKING=1 names it), and check its inputs
stage: an operator runs
"""),
    known(r"""symptom EE1002 507046 needs_context vague
the host timed out waiting for the card's stream: a symptom, not a cause
line: [Ss]tream synchronize timeout
line: reason ?= ?\[stream sync(?:hronize)? time ?out\]
line: ACL stream synchronize failed(?!, error code:507(?!046))
line: error=0x7030010\b
line: stream sync(?:hronize)? time ?out
example: RuntimeError: ACL stream synchronize failed.
stage: an operator runs
""")._replace(causes=WAIT_CAUSES, tells_apart=WAIT, fix=SYMPTOM_FIX),
    known("""symptom 507048 vague
a task on the card timed out; with EI0002 it is an operator of HCCL that waited for another rank
line: The execution of the internal task times out
line: [Tt]he (?:aicore|aicpu|vector core) execution times out
example: The execution of the internal task times out, npu 3
""")._replace(causes=WAIT_CAUSES, tells_apart=WAIT, fix=SYMPTOM_FIX),
    known("""cause E30006 in_output
CANN could not verify its package of operators (OPP)
line: Failed to verify the OPP
example: E30006: Failed to verify the OPP
cause: driver, firmware and CANN, or the packages of CANN, are of different releases
cause: with `tsd client wait response fail` below it: another process, also in another container, holds the card
apart: cat /usr/local/Ascend/ascend-toolkit/latest/version.cfg /usr/local/Ascend/driver/version.info; npu-smi info on
    the host
fix: end other processes on the card and start again; if it persists, install driver, firmware, toolkit and ops of one
    release
stage: start of a process
"""),
    known(r"""cause E40021 in_output
an operator could not be compiled for the card
line: Failed to compile Op ?\[(?P<operator>[^\],\n]{1,120})
line: Compile op ?\[(?P<operator>[^\],\n]{1,120})[^\]\n]{0,40}\] failed, ?oppath
example: Failure_to_Compile_Op(E40021): Failed to compile Op [trans_Cast_2,]. (oppath: [Compile cast.py failed
says: operator {operator}
cause: the Python of this process lacks a module that the compiler needs, or has another release of it
cause: this chip does not support the type or shape: bfloat16 on 910A and 310P
cause: the toolkit and its operators (opp) are of different releases
apart: the last line of the Python error, in or below the message; grep -h 'ERROR. TE'
    ~/ascend/log/debug/plog/plog-PID_*.log
fix: correct what the Python error names: install the modules that CANN's guide lists, source only one set_env.sh, or
    use another type
"""),
    known(r"""cause in_output
CANN has no description of the chip of this card
line: init runtime platform info failed, ?SocVersion ?= ?(?P<chip>\w{1,40})
example: [Init][PlatformInfo]init runtime platform info failed, SocVersion = Ascend910B2
says: the chip is {chip}
cause: the toolkit or its operators (opp) are not complete, or older than the chip
cause: ASCEND_OPP_PATH or ASCEND_HOME_PATH names another folder than that of this toolkit
apart: find $ASCEND_HOME_PATH/ -name 'Ascend910*.ini' | head; echo $ASCEND_OPP_PATH
fix: install toolkit and ops of one release that knows the chip, and source only its set_env.sh
stage: start of a process
"""),
    known(r"""result
the graph engine of CANN, or its compiler of operators, did not start
line: OpCompileProcessor init failed
line: \[Init\]\[Compiler\]Init compiler failed
line: GEInitialize failed
example: [Set][Options]OpCompileProcessor init failed![FUNC:ReportInnerError][FILE:log_inner.cpp][LINE:145]
cause: a Python module that the compiler needs is missing: EC0010
cause: the package of kernels (ops) is not installed, or is of another release or chip
apart: grep -h ERROR ~/ascend/log/debug/plog/plog-PID_*.log | head -3; python -c 'import te, tbe'
fix: run `hccl-kit explain` on the lines that it prints
"""),
    known(r"""frame
a line of CANN's stack trace; the line with a code (EE, EI, EJ, EL) above it names the error
line: \[FUNC:\w{1,80}\]\[FILE:[\w.+-]{1,80}\] ?\[LINE:[0-9]{1,6}\]
cause: each line of the trace repeats the failure, one caller up
apart: the line with a code above it
fix: run `hccl-kit explain` on that line, or on the whole text
""")._replace(example="        x failed[FUNC:Setup][FILE:stream.cc][LINE:1102]"),
)
