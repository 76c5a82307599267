"""Messages of the runtime: kernels that fail, streams that are not finished, packages that do not fit."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import KnownError, known

WAIT = "which rank is late or absent: EI0002, heartbeats and `Task run failed` in the plogs of all ranks"
SYMPTOM_FIX = "follow EI0002: correct the rank that did not arrive; ASCEND_GLOBAL_EVENT_ENABLE=1 for more facts"
KERNEL_FAILED = "a kernel of an operator failed on the card"
KERNEL_LATE = "a kernel of an operator did not finish in time"
WAIT_CAUSES = (
    "an operator of HCCL waited for another rank until HCCL_EXEC_TIMEOUT",
    "an operator hangs on this card",
)

ROWS: tuple[KnownError, ...] = (
    known(r"""cause in_output
the package of kernels for this chip is not installed, or not complete
line: read binary_info_config\.json failed
example: EZ1001: [PID: 72153] 2025-03-04-15:41:40.695.851 Get path and read binary_info_config.json failed, please check
    if the opp_kernel package is installed
cause: only the toolkit was installed, or the kernels of another chip or release
apart: ls $ASCEND_OPP_PATH/built-in/op_impl/ai_core/tbe/kernel; npu-smi info: the chip
fix: install Ascend-cann-kernels of this chip, of the release of the toolkit, and source set_env.sh again
stage: start of a process
"""),
    known(r"""cause in_output
a package, or its build, is for another chip than this one
line: the soc ?version (?P<built>\w{1,40}) of bin package does not match the current device soc\w{1,10} (?P<chip>
    \w{1,40})
line: SOC_VERSION (?P<chip>\w{1,40}) does not support, the support list is
example: the socversion Ascend910B1 of bin package does not match the current device socverison Ascend310P3.
says: it is for {built}, the card is {chip}
says: the chip is {chip}
cause: the wheel, the image or the operators were built on a host with another chip
cause: this release does not know the chip
apart: npu-smi info: the chip; the name of the package or of its image
fix: install the package of this chip, or build it here with SOC_VERSION of this chip; else take a release that has it
stage: start of a process
"""),
    known(r"""cause in_output
an operator does not support a data type on this chip
line: detailed information: (?P<type>(?:b?float|double|u?int|bool|complex)\w{0,8}) of (?P<operator>[\w.]{1,80}) is not
     supported
example: E90003: [PID: 77] 2025-09-28-03:43:47.761.546 Compile operator failed, cause: Template constraint, detailed
    information: bfloat16 of tbe.dsl.transdata is not supported.
says: {operator} does not support {type}
cause: the chip lacks the data type: 910A and 310P have no bfloat16
apart: npu-smi info: the chip
fix: use float16 on 910A and 310P instead of bfloat16: --dtype float16 in vLLM, fp16 in trainers
stage: an operator runs
"""),
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
line: errorStr: (?!timeout or trap)(?P<reason>[^\n.]{1,200})
line: RTS_HWTS: aicore exception
line: an exception occurred during (?P<kind>AICPU) execution
line: retCode=0x[0-9a-fA-F]{1,4}, \[(?P<kind>(?:vector core|aicore|aicpu) exception)\]
line: Aicpu kernel execute failed[^\n]{0,120}kernelName=(?P<kernel>\w{1,80})
line: Aicpu kernel execute failed[^\n]{0,80}errorCode=[0-9a-f]
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
    known(r"""symptom in_output
a kernel of an operator did not finish in time: it hangs, or waits for another rank
line: retCode=0x(?:25|30), \[(?P<kind>aicore|vector core) timeout\]
line: reason=\[(?P<kind>aicore|vector core) timeout\]
line: errorStr: timeout or trap error
example: Kernel task happen error, retCode=0x30, [vector core timeout].[FUNC:PreCheckTaskErr]
cause: a kernel that also communicates (MoE dispatch and combine, HCCL_OP_EXPANSION_MODE=AIV) waited for another rank
cause: the kernel hangs: its shapes, or a bug of it
apart: grep -h "fault kernel_name" ~/ascend/log/debug/plog/plog-PID_*.log: the name of the kernel
fix: if the kernel is one of HCCL (aiv_...) or of MoE, find the rank that did not arrive, as for EI0002; else report it
    with its shapes, or try another release of CANN
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
    known(r"""symptom 507048 vague
a task on the card timed out; with EI0002 it is an operator of HCCL that waited for another rank
line: The execution of the internal task times out
line: [Tt]he (?:aicore|aicpu|vector core) execution times out
line: retCode=0x[0-9a-f]{1,4}, \[(?:aicore|aicpu|vector core) timeout\]
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
    known(r"""cause EC0010 in_output
a Python module that CANN's compiler of operators needs cannot be imported
line: Failed to import Python module \[\w{0,30}Error: No module named '(?P<module>[\w.]{1,60})'
line: Failed to import Python module \[(?P<reason>[^\]\n]{1,160})
line: No module named '(?P<module>(?:tbe|te|te_fusion)(?:\.\w{1,40}){0,4})'
example: EC0010: Failed to import Python module [ModuleNotFoundError: No module named 'tbe'.].
says: it is {module}
says: {reason}
cause: set_env.sh of CANN was not sourced in this shell or container
cause: PYTHONPATH was set anew, which removed what set_env.sh had put there
cause: this Python lacks modules that CANN needs, such as numpy, scipy, sympy, decorator, attrs, psutil, or is not the
    one that CANN was installed for
apart: echo $PYTHONPATH; python -c 'import te, tbe, scipy, sympy, decorator, attr, psutil'
fix: source set_env.sh of CANN; end a PYTHONPATH of yours with :$PYTHONPATH; install a module that is not CANN's with
    pip
stage: start of a process
"""),
    known(r"""cause EZ1001 in_output
an operator refuses an input: its data type, shape or format
line: not implemented for DT_(?P<type>\w{1,20}), should be in dtype support list ?\[(?P<types>[A-Z0-9_,]{1,400}?),?\]
line: not implemented for DT_(?P<type>BFLOAT16|FLOAT16|FLOAT|DOUBLE|U?INT[0-9]{1,2}|BOOL|COMPLEX[0-9]{1,3})\b
line: dtype DT_(?P<type>\w{1,20}) not support in current soc version
example: RuntimeError: call aclnnCast failed, detail:EZ1001: x not implemented for DT_BFLOAT16, should be in dtype
    support list [DT_FLOAT16,DT_FLOAT,].
says: the data type {type} is not supported; supported are {types}
says: the data type {type} is not supported
cause: the chip lacks the data type: 910A and 310P have no bfloat16
cause: the program uses a type of the CPU on the card: float64, complex
cause: shapes do not fit each other, or the quantised model has a format that the operator does not accept
apart: the rest of the message; npu-smi info: the chip
fix: use a type that is supported (on 910A and 310P float16 instead of bfloat16: --dtype float16 in vLLM, fp16 in
    trainers); else correct the input that the message names
stage: an operator runs
"""),
    known(r"""cause EZ3003 EZ3002 in_output
CANN has no kernel of an operator for this chip, or not for these inputs
line: \bOp (?P<operator>\w{1,80}) does not has any binary
line: No supported Ops kernel and engine are found for \[[^\]\n]{0,80}\], optype \[(?P<operator>\w{1,80})\]
line: Optype \[(?P<operator>\w{1,80})\] of Ops kernel \[\w{1,40}\] is unsupported
line: launch failed for (?P<operator>\w{1,80}), errno:561[0-9]{3}
line: socVersion \[\w{1,40}\] does not support opType \[(?P<operator>\w{1,80})\]
line: Parse dynamic kernel config fail
line: AclOpKernelInit failed opType
example: EZ3003: No supported Ops kernel and engine are found for [Cast1], optype [Cast].
says: the operator is {operator}
cause: the package of kernels (ops) of this chip is not installed, or is of another release than the toolkit
cause: the chip does not have the operator, or not with this data type
cause: a package of custom operators is not installed, or was built for another chip
apart: ls $ASCEND_OPP_PATH/built-in/op_impl/ai_core/tbe/kernel; npu-smi info: the chip
fix: install the package of kernels of this chip and release; else try torch.npu.set_compile_mode(jit_compile=True),
    another data type, or another operator
stage: an operator runs
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
line: GELib::InnerInitialize failed
line: \bInitialize GE failed!
line: \[Init\]\[Env\]init env failed
line: Failed to init(?:ialize)? (?:tbe|TeConfigInfo|TeFusion)\b
line: [Ff]ailed to call InitCannKB|InitCannKB call CannKbInit failed
line: ACL_PRECISION_MODE, precision_mode\), error code is 50000[01]\b
example: [Set][Options]OpCompileProcessor init failed![FUNC:ReportInnerError][FILE:log_inner.cpp][LINE:145]
cause: a Python module that the compiler needs is missing: EC0010, `No module named`
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
