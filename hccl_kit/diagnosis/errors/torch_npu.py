"""What torch_npu prints around errors, warns of and refuses itself.

By its pages on error codes (Ascend/pytorch, docs/zh/troubleshooting, read in November 2026) and public issues of
vllm-ascend, LLaMA-Factory and Ascend/pytorch of 2023 to 2026.
"""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import KnownError, known

ROWS: tuple[KnownError, ...] = (
    known(r"""frame
the program ended with an exception; torch_npu prints this line below every one, and it says nothing about the card
line: \bERR[0-9]{2}999 \w{1,20} appli(?:caiton|cation) exception
example: [ERROR] 2026-08-18-22:15:47 (PID:23232, Device:0, RankID:-1) ERR99999 UNKNOWN applicaiton exception
cause: the exception above it: an error of the program or a library, or of a worker process
cause: the program was ended by a signal
apart: the last line of the traceback above it; with worker processes, the first error of a worker
fix: run `hccl-kit explain` on the whole output, or on that exception
"""),
    known(r"""frame
torch_npu itself raised the error above this line: it refused an argument, or lacks the feature
line: \bERR0[0-4]0(?:0[1-9]|1[0-2]) (?:PTA|OPS|DIST|GRAPH|PROF)\b
example: [ERROR] 2026-08-18-22:15:47 (PID:23232, Device:0, RankID:0) ERR02002 DIST invalid type
cause: the exception above it names the argument, such as `Tensors must be contiguous`
cause: a tensor is not contiguous, is not on the card, or has a data type that is not supported
cause: ERR01007: the operator has no version for the card
apart: the exception above it
fix: correct that argument, with .npu(), .contiguous() or another data type, or use another operator
"""),
    known(r"""frame
the kind of error that a call to CANN returned, in torch_npu's words
line: \[Error\]: (?P<kind>The (?:vector core|aicore|aicpu|cube core) execution is abnormal|The context is empty
    |Parameter verification failed|Repeated initialization or repeated loading|A GE error occurs in the system
    |Model execution failed|An internal error occurs in the \w{1,20} module|The internal ACL of the system is incorrect
    |In the specified timeout waiting event, all tasks in the specified stream are not completed)
line: Rectify the fault based on the error information in the ascend log
example: [Error]: The vector core execution is abnormal.
says: it is: {kind}
cause: the number above it and the codes below it (EZ, EE, EL, EH) name the reason
apart: these codes; the first ERROR of the plog of this process
fix: run `hccl-kit explain` on that number and these codes
"""),
    known(r"""frame
an operator failed that had been started before: the traceback shows the call that noticed it, not the operator
line: current working operator name is (?:aclnn)?(?P<operator>\w{1,60})
line: [Ii]nner error (?:is reported )?as above
line: the operator is called asynchronously, the stacktrace may be inaccurate
line: ASCEND kernel errors might be asynchronously reported
example: RuntimeError: The Inner error is reported as above. The process exits for this inner error, and the current
    working operator name is aclnnMatmul.
says: the operator is {operator}
cause: the codes above or below it (EZ, EE, EI) name the reason
apart: the first ERROR of the plog of this process
fix: run `hccl-kit explain` on these codes; with ASCEND_LAUNCH_BLOCKING=1 (not with graphs) the traceback shows the
    operator
"""),
    known(r"""fact
a warning of torch_npu, which goes on: not the cause of a failure
line: The operator '(?P<operator>[\w:.]{1,80})' is not currently supported on the NPU backend and will fall back
line: \[W[^\]\n]{1,80}\] Warning: (?!NPU warning)(?P<warning>[^\n]{1,200}?)\.? ?\(function \w
example: [W compiler_depend.ts:51] Warning: CAUTION: The operator 'aten::isin' is not currently supported on the NPU
    backend and will fall back to run on the CPU. This may have performance implications. (function npu_cpu_fallback)
says: {operator} runs on the CPU: slower, with the same result
says: it says: {warning}
apart: an exception or a line with ERROR below it
fix: nothing, unless the program is too slow
"""),
    known(r"""cause
torch_npu is not installed for this Python, was not imported, or is of another release than torch
line: No module named '(?P<module>torch_npu(?:\.\w{1,40}){0,4})'
line: \blibtorch_npu\.so: cannot open shared object file
line: module 'torch_npu[\w.]{0,60}' has no attribute '(?P<attribute>\w{1,60})'
line: module 'torch' has no attribute '(?P<attribute>npu)'
line: device type at start of device string: npu\b
example: ModuleNotFoundError: No module named 'torch_npu'
says: it lacks {module}
says: it lacks {attribute}
cause: torch_npu is not installed for this Python, or `import torch_npu` is missing before the first use of a card
cause: its release is not that of torch, or older than the framework needs
cause: Python runs in the folder of torch_npu's sources, which hides the installed package
apart: cd / && python -c 'import torch, torch_npu; print(torch.__version__, torch_npu.__version__)'
fix: install the torch_npu of the release of torch that the framework's notes name; import it before the first use of a
    card, also in worker processes
stage: start of a process
"""),
    known(r"""frame
torch could not load torch_npu; the exception above it, or around it, has the reason
line: Failed to (?:load|import) the backend extension: torch_npu
line: Failed to import torch_npu\b
example: RuntimeError: Failed to load the backend extension: torch_npu. You can disable extension auto-loading
cause: a library of CANN or of the driver is not found: set_env.sh was not sourced
cause: torch and torch_npu are of different releases
apart: python -c 'import torch_npu': its first exception
fix: run `hccl-kit explain` on that exception
"""),
    known("""cause
the program asks for CUDA, which this torch does not have
line: Torch not compiled with CUDA enabled
example: AssertionError: Torch not compiled with CUDA enabled
cause: the program names the device 'cuda', or only its number
cause: a library has no branch for NPUs
apart: the frame of the traceback that calls torch.cuda
fix: name the device 'npu:0'; or, once torch_npu is imported, `from torch_npu.contrib import transfer_to_npu` at the
    start of the program
"""),
    known("""cause
a process that was forked uses the card, and its parent had used it before
line: Cannot re-initialize NPU in forked subprocess
example: RuntimeError: Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, you must use the
    'spawn' start method
cause: the parent calls torch.npu, or a library does for it, before the workers of vLLM start
cause: workers of a DataLoader put tensors on the card
apart: echo $VLLM_WORKER_MULTIPROC_METHOD; the first use of torch.npu above the start of the workers
fix: vLLM: export VLLM_WORKER_MULTIPROC_METHOD=spawn; else multiprocessing.set_start_method('spawn'), or no use of the
    card before the workers start
stage: start of a process
"""),
    known(r"""cause
an operator got tensors of the CPU and of the card, or has no version for the card
line: Could not run '(?P<operator>npu::[\w.]{1,80})' with arguments from the '(?P<device>CPU)' backend
line: Could not run '(?P<operator>[\w:.]{1,80})' with arguments from the '(?P<device>PrivateUse1|NPU\w{0,20})' backend
line: Expected all tensors to be on the same device\. Expected NPU tensor
example: NotImplementedError: Could not run 'npu::npu_format_cast' with arguments from the 'CPU' backend. This could be
says: {operator} got tensors of {device}
cause: an input was not moved to the card
cause: PrivateUse1 is the card: the operator does not exist for it in this release of torch_npu
apart: the frame of the traceback; print the device of each input
fix: move all inputs to one device, with .npu() or .cpu(); for an operator that the card lacks, compute it on the CPU or
    update torch_npu
"""),
    known("""symptom
torch_npu ended the tasks of this card on request, so that the job can recover: another rank failed
line: RuntimeError: FORCE STOP
example: RuntimeError: FORCE STOP.
cause: an error of another rank, which the framework handles
apart: the logs of the other ranks at this time: UCE ERROR, HCCL OP RETRY FAILED, 507053 to 507057
fix: correct the rank that failed first
"""),
)
