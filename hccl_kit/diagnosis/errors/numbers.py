"""Numbers that calls of the runtime return, by rt_error_codes.h of CANN's runtime (hicann/runtime, 2026-07-20).

130 of them are in 8.5.0; 507912 and 507913 came with 9.0.0, 107039 to 107045, 207020 and 507914 to 507916 with 9.1.0,
207021 after it. Numbers of which more is known have rows of their own in `runtime_numbers`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hccl_kit.diagnosis.errors.codes import FIRST, READ_PLOG
from hccl_kit.diagnosis.errors.operators import COUNT, FEWER, TOO_MANY
from hccl_kit.diagnosis.errors.row import KnownError, known
from hccl_kit.diagnosis.facts import Role

_OF_CALLS: Mapping[int, str] = {
    107004: "the model is not of this context",
    107005: "the stream is not in the model",
    107006: "the event has no time yet",
    107007: "the end of a measured time is before its start",
    107008: "an address is not aligned",
    107009: "a file could not be opened",
    107010: "a file could not be written",
    107011: "a stream is not subscribed, or twice",
    107012: "a thread is not subscribed, or twice",
    107013: "the group is not set",
    107014: "the group was not created",
    107015: "the stream of a callback is not registered",
    107016: "the kind of memory is not valid for this call",
    107017: "a handle is not valid",
    107018: "the kind of allocation is not valid",
    107021: "a system option is not set",
    107024: "a captured wait lacks its record",
    107025: "a side stream of a capture was never joined",
    107026: "the graph is captured already",
    107028: "the event is part of a capture",
    107029: "the stream is not being captured",
    107030: "the call is not allowed while a graph is captured",
    107031: "the default stream was used in a capture",
    107032: "the event and the stream are of two captures",
    107033: "a group of tasks is in a wrong state",
    107034: "a group of tasks was interrupted",
    107035: "the abort stopped before its last step",
    107036: "the capture began on another stream",
    107037: "the graph still runs",
    107038: "a capture began and ended in two threads",
    107039: "an array of the caller is too small",
    107040: "the update of a graph failed",
    107041: "an asynchronous copy became synchronous inside a capture",
    107042: "a symbol was not found",
    107043: "a symbol of the card is not valid",
    107044: "a function of the card is not valid",
    107045: "an inner graph is being captured",
    207015: "it was initialised twice",
    207019: "this operator cannot be updated in a graph",
    207021: "the type of a link is not valid",
    507003: "the stream is empty",
    507004: "the stream is not finished",
    507006: "the event is not finished",
    507023: "the model was ended on request",
    507027: "a kernel was not found",
    507028: "a kernel was registered twice",
    507031: "the label is of another context",
    507037: "a batch of a CDQ is abnormal",
    507039: "the die cannot be set",
    507040: "the number of the die is not valid",
    507041: "the mode of the die is not set",
    507910: "memory of the host was registered twice",
    507911: "memory of the host is not registered",
}
"""What the program, or its framework, called in a wrong way or order."""
_OF_RESOURCES: Mapping[int, str] = {
    207005: "no resource of the card is left, often no stream",
    207006: "the permission is missing",
    207007: "no events of the card are left",
    207008: "no streams of the card are left",
    207009: "no notifies of the card are left",
    207010: "no models of the card are left",
    207011: "no CDQ of the card is left",
    207012: "a limit is exceeded",
    207013: "a queue is empty",
    207014: "a queue is full",
    207018: "the memory of the card is used up (reported by the card)",
    507002: "the stream is full",
    507032: "no slots for programs are left",
}
_OVERFLOWS: Mapping[int, str] = {
    207003: "the AI core found an overflow",
    207016: "the vector core found an overflow",
    207017: "an overflow was found",
}
_OF_CARD: Mapping[int, str] = {
    507016: "a kernel ended in a trap of the AI core",
    507036: "a kernel ended in a trap of the vector core",
    507042: "a kernel read out of bounds",
    507043: "a kernel wrote out of bounds",
    507044: "a vector kernel read out of bounds",
    507045: "a vector kernel wrote out of bounds",
    507050: "a task of an operator ended in a trap",
    507914: "a port of the card (L3) failed",
    507916: "the card's communication unit (CCU) failed",
}
_WAITS: Mapping[int, str] = {
    207020: "the driver did not answer in time",
    507012: "the card's report did not come in time",
    507017: "a task on the card's own CPU (AICPU) did not finish in time",
    507915: "an operator on the card's communication unit (CCU) did not finish in time",
}
_ABORTS: Mapping[int, str] = {
    107022: "the tasks of the card are being aborted",
    107023: "the stream is being cleared",
    507024: "the kernel is being unregistered",
    507903: "the capture of a graph was ended by another error",
}
_RESULTS: Mapping[int, str] = {
    207002: "memory could not be freed",
    507005: "the end of a sequence was reached",
    507007: "a context could not be released",
    507009: "the task is of a kind that this card does not know",
    507019: "the answer to a dump of the AICPU is bad",
    507020: "the answer of the AICPU about a model is bad",
    507021: "profiling failed",
    507022: "sharing between processes (IPC) failed",
    507025: "the ring buffer is not ready",
    507026: "the ring buffer is empty",
    507029: "debugging could not be switched on",
    507030: "debugging could not be switched off",
    507038: "the mode of the die cannot be changed",
    507052: "a copy failed",
    507902: "the answer of the AICPU about its library is bad",
    507905: "the lock of a snapshot was not given in time",
    507906: "the lock of a snapshot failed",
    507907: "the lock of a snapshot could not be released",
    507908: "a snapshot could not be saved",
    507909: "a snapshot could not be restored",
    507912: "a callback of a snapshot failed",
    507913: "a callback of a snapshot could not be registered",
}


def _rows(
    table: Mapping[int, str], role: Role, *causes: str, apart: str = FIRST, fix: str = READ_PLOG
) -> Iterator[KnownError]:
    for number, what in table.items():
        yield KnownError(what, role, (str(number),), causes=causes, tells_apart=apart, fix=fix, vague=True)


ROWS: tuple[KnownError, ...] = (
    *_rows(
        _OF_CALLS,
        "cause",
        "the framework and CANN are of releases that do not fit",
        "the program calls in a wrong order, or from another thread",
        apart="the traceback names the call; pip list | grep torch; the version of CANN: hccl-kit report",
        fix="install the CANN that the release notes of the framework name; else report the call",
    ),
    *_rows(
        _OF_RESOURCES,
        "cause",
        *TOO_MANY,
        apart=COUNT,
        fix=FEWER,
    ),
    *_rows(
        _OVERFLOWS,
        "cause",
        "a value became infinite or not a number: loss scale, learning rate, or an input",
        apart="the loss and its scale in the steps before",
        fix="lower the loss scale or the learning rate, or skip such steps; compute the operator in float32",
    ),
    *_rows(
        _OF_CARD,
        "cause",
        "an address or an input that the kernel does not accept: a wrong shape or index, or memory freed too early",
        "a bug in the kernel",
        "a fault of the card, if it is always the same card",
        apart='grep -h "fault kernel_name\\|errorStr" ~/ascend/log/debug/plog/plog-PID_*.log;'
        " npu-smi info -t health -i N",
        fix="ASCEND_LAUNCH_BLOCKING=1 names the operator: check its inputs, or try another release of CANN",
    ),
    *_rows(
        _WAITS,
        "symptom",
        "an operator waited for another rank: EI0002 near it",
        "the card or its driver hangs",
        apart="EI0002 and heartbeats in the plogs of all ranks; npu-smi info; dmesg",
        fix="find the rank that did not arrive; if only one card reports it, check that card",
    ),
    *_rows(
        _ABORTS,
        "symptom",
        "an earlier error of this process, or of another rank, from which the framework recovers",
        fix="read the error above it",
    ),
    *_rows(_RESULTS, "result", "the first ERROR of this process has the reason"),
    known("""cause 507008 vague
the SOC version is wrong: kernels or a model for another chip
cause: the package of kernels, or an offline model, is of another chip than the card
apart: npu-smi info: the name of the chip; cat $ASCEND_OPP_PATH/version.info
fix: install the kernels of this chip; convert the model with its soc_version
"""),
    known("""cause 507013 vague
the system DMA reported an error: a copy of memory failed
cause: memory was freed, or ended, while it was copied
cause: on one card (310P): the memory or the page tables of the card are used up
cause: with several cards: the other end freed its memory or ended (EI0012)
apart: npu-smi info: memory of the card before the error; Entry-HcclCommDestroy just before
fix: use less memory of the card, and wait for the stream before memory is freed
"""),
    known(r"""pointer 507904 vague
HCCL could not repeat an operator after a fault of a link
line: \bHCCL OP RETRY FAILED\b
example: RuntimeError: HCCL OP RETRY FAILED.
cause: a link between two cards is broken: EI0013 or heartbeats name it
cause: a rank had gone on already
apart: hccn_tool -i N -link_stat -g on both ends; EI0013 in the plogs
fix: repair the link
"""),
)
