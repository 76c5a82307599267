"""Operators that wait for another rank until their timeout, and what tells which operator that is.

HCCL prints one timeout as up to four records in a row (base, para, groupRank and opData information); each yields a
fact with its part of the values, and `assembling` joins them into one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from hccl_kit.base.message import Message
from hccl_kit.diagnosis.errors.message import Fields, LogMessage, group_of_tag, rank
from hccl_kit.diagnosis.errors.row import in_stage, known
from hccl_kit.diagnosis.facts import Fact, Fault, OperatorEntered, OperatorTimedOut

STAGE = "an operator runs (HCCL_EXEC_TIMEOUT, 1836 s; older 1800 s)"
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
_REMOTE = re.compile(
    r"(?:remote|peer) ?rank ?:? ?(?:\[([0-9]{1,10}|local|unknown)\]|([0-9]{1,10}|local)(?=[,;.\s]))", re.IGNORECASE
)
_WAITS = ("notify", "event")


def _awaited(text: str) -> int | Literal["local"] | None:
    match = _REMOTE.search(text)
    if not match:
        return None
    named = (match[1] or match[2]).lower()
    return "local" if named == "local" else rank(named)


def _timed_out(message: LogMessage) -> Iterator[Fact]:
    """A part of what HCCL prints about an operator that timed out, or a message with all parts."""
    fields = message.fields()
    kind = fields.text("tasktype", "type") or ""
    if kind and not kind.lower().startswith(_WAITS):
        code = "EI0012" if "sdma" in kind.lower() or "memcpy" in kind.lower() else None
        what = Message("diagnosis.task-failed", "a task of an operator failed: {kind}", kind=kind[:40])
        yield Fault(code, "HCCL", what, message.shown)
    else:
        yield _part(message.text, fields)


def _part(text: str, fields: Fields) -> OperatorTimedOut:
    tag, awaited = fields.text("tag"), _awaited(text)
    this_rank = fields.text("rankid", "localrank") or ""
    return OperatorTimedOut(
        rank(this_rank.removesuffix(f" {awaited}")),  # CANN 8.3 has `rankId[25 24]`, if 25 waits for 24
        fields.rank("ranksize"),
        awaited,
        tag,
        fields.text("group") or group_of_tag(tag),
        fields.number("index", "opindex"),
        fields.number("count"),
        fields.text("datatype"),
    )


def _stuck(message: LogMessage) -> Iterator[Fact]:
    """The same, seen from the runtime."""
    if "fftsplus task timeout occur" not in message.text:
        return
    yield OperatorTimedOut(None, None, None, message.fields().text("tag"), None)


def _entered(message: LogMessage) -> Iterator[Fact]:
    """An operator that a process starts; how groups are created is printed in the same form."""
    fields, operator = message.fields(), message.value("operator")
    tag = fields.text("tag")
    yield OperatorEntered(
        operator or fields.text("optype"),
        tag,
        fields.text("group", "identifier") or (group_of_tag(tag) if operator else None),
        fields.number("index", "opindex"),
        fields.number("count", "sendcount", "recvcount"),
        fields.text("datatype", "senddatatype"),
    )


ROWS = (
    *in_stage(
        STAGE,
        known("""symptom EI0002
a rank timed out waiting for another in an operator. No rule of a table detects this: usually the other rank died before
    or runs another operator; see the earliest error of all ranks
""")._replace(causes=_WAITED, tells_apart=_APART, fix=_FIX),
        known("""symptom EI0002
an operator waited for another rank until its timeout
example: EI0002: [PID: 77] 2025-06-15-15:06:40.500.000 The wait execution of the Notify register times out. Reason: The
    Notify register has not received the Notify record from remote rank [4].base information: [streamID:[2],
    tag[AllReduce_10.1.2.3%eth0_60000_0_1750000000123456], AlgType(level 0-1-2):[ring].] group information:
    [group:[10.1.2.3%eth0_60000_0_1750000000123456], user define information[], rankSize[16], rankId[9].]
says: the operator and its group are {tag}
says: this is rank {rank} of {ranks}
says: it waits for rank {peer}
says: it waits for a rank that the line does not name ({untold})
""")._replace(
            patterns=(
                r"Notify register[^\n]{0,200}?remote rank:? ?\[(?P<peer>[^\]\n]{1,20})\][^\n]{0,160}?" + _NOTIFY,
                r"Notify register waits for execution[^\n]{0,60}?peer"
                r" rank: ?\[?(?P<peer>[^\];\n]{1,20})\]?;[^\n]{0,300}?" + _NOTIFY,
                r"wait execution of the Notify register times out",
            ),
            mentions=(
                r"Notify record[^\n]{0,200}?remote rank:? ?\[(?P<peer>[^\]\n]{1,20})\][^\n]{0,160}?" + _NOTIFY,
                r"Notify register waits for execution",
            ),
            fact=_timed_out,
            causes=_WAITED,
            tells_apart=_APART,
            fix=_FIX,
        ),
        known(r"""symptom EI0002
an operator that runs on the card's own CPU (AICPU mode) did not finish: it waited, or a copy failed
line: \[TaskException\]\[AICPU\]base information [^\n]{0,200}?type ?:? ?\[?(?P<type>
    [A-Z ]{2,20})\]?[^\n]{0,200}?localRank ?:? ?\[?(?P<rank>[0-9]{1,8})\]?[^\n]{0,80}?remoteRank ?:? ?\[?(?P<peer>
    [0-9]{1,10})\]?
mention: \[TaskException\]\[AICPU\]
mention: task sequence is [^\n]{0,300}?OP\(
example: [ERROR] HCCL(77,aicpu_scheduler):2025-06-15-15:06:40.500.000 [task.cc:12] [78][TaskException][AICPU]base
    information is streamId:2, type:NOTIFY WAIT, localRank:9, remoteRank:4, notifyId:7, sqHead:1
says: rank {rank} waits for rank {peer}; the task is {type}
""")._replace(fact=_timed_out, causes=_WAITED, tells_apart=_APART, fix=_FIX),
        known(r"""symptom EI0002
an operator did not finish: it waited for another rank, or a copy failed; this line names the operator
mention: TaskExecStage\]\[(?:Timeout|RunFailed)\]
mention: Task run failed\b
mention: TaskExceptionHandler
mention: FFTS\+ run failed
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]Task run failed, base information is
    streamID:[3], taskID[7], taskType[Notify Wait], tag[AllReduce_10.1.2.3%eth0_60000_0_1750000000123456].
says: the operator is {tag}
says: it waits for rank {peer}
says: it waits for a task of its own card ({itself})
says: it waits for a rank that the line does not name ({untold})
says: this is rank {rank} of {ranks}, in the group {group}
says: it is operator number {index} of its group
says: on card {card}, with {count} elements of {type}
""")._replace(
            patterns=(
                r"\bbase information is [^\n]{0,160}?" + r"tag ?\[(?P<tag>[^\]\n]{1,200})\]"
                r"(?:, ?index ?\[(?P<index>[0-9]{1,12})\])?",
                r"\bpara information is [^\n]{0,200}?remote rank ?: ?\[?(?P<peer>[^\],\n]{1,20})",
                r"\bgroupRank information is group:? ?\[(?P<group>[^\]\n]{0,200})\]"
                r"(?:[^\n]{0,160}?rankSize ?\[(?P<ranks>[0-9]{1,8})\], ?rankId ?\[(?P<rank>[0-9]{1,8})\])?",
                r"\bopData information is [^\n]{0,120}?deviceId ?\[(?P<card>[0-9]{1,6})\](?:, ?index ?"
                r"\[(?P<index>[0-9]{1,12})\])?(?:, ?count ?\[(?P<count>[0-9]{1,20})\])?(?:[^\n]{0,200}?dataType ?"
                r"\[(?P<type>\w{1,20})\])?",
                r"FFTS\+? ?run failed, ?base information is",
                r"\b(?:base|para|groupRank|opData) information is",
            ),
            fact=_timed_out,
            causes=_WAITED,
            tells_apart=_APART,
            fix=_FIX,
        ),
        known(r"""symptom EI0002
the runtime ended an operator of HCCL that waited too long: the same as EI0002, seen from the card
line: chipId ?: ?(?P<card>[0-9]{1,6})[^\n]{0,120}?hccl fftsplus task timeout occurred
    [^\n]{0,200}?stuck notify num ?: ?(?P<stuck>[0-9]{1,8})(?:, ?timeout ?: ?(?P<limit>[0-9]{1,8}(?:s|min|ms)?))?
line: hccl fftsplus task timeout occurred[^\n]{0,200}?stuck notify num ?: ?(?P<stuck>[0-9]{1,8})
    (?:, ?timeout ?: ?(?P<limit>[0-9]{1,8}(?:s|min|ms)?))?
mention: fftsplus (?:task )?time ?out
mention: stuck notify wait context info
example: [ERROR] RUNTIME(77,python3):2025-06-15-15:06:40.500.000 [engine.cc:12]78 Print:The error from device(chipId:3,
    dieId:0), serial number is 1, hccl fftsplus task timeout occurred during task execution, stream_id:4, stuck notify
    num:3, timeout:1836.
says: card {card}
says: {stuck} waits are stuck
says: the limit was {limit} (seconds, unless it says min)
""")._replace(fact=_stuck, causes=_WAITED, tells_apart=_APART, fix=_FIX),
        known(r"""symptom
the runtime ended a wait of a stream for an event: what the event stands for, often an operator of HCCL, did not finish
    in time
line: chipId ?: ?(?P<card>[0-9]{1,6})[^\n]{0,120}?event wait timeout occurred during task execution(?:
    [^\n]{0,200}?timeout ?[:=] ?(?P<limit>[0-9]{1,8}))?
example: EE9999: The error from device(chipId:3, dieId:0), serial number is 1, event wait timeout occurred during task
    execution, stream_id:1, event_id=7, timeout=1980.
says: card {card}
says: the limit was {limit} s
""")._replace(causes=_WAITED, tells_apart=_APART, fix=_FIX),
        known(r"""symptom EI0002
an operator that runs on the vector cores (HCCL_OP_EXPANSION_MODE=AIV) failed
line: fault kernel_name ?= ?(?P<kernel>(?:\w{0,40}_)?aiv_[\w*]{1,80})
line: fault kernel_name ?= ?(?P<kernel>hccl_aiv\w{0,60})
example: [ERROR] RUNTIME(77,python3):2025-06-15-15:06:40.500.000 [k.cc:12] fault kernel_name=aiv_all_reduce_910b
says: the kernel is {kernel}
""")._replace(causes=_WAITED, tells_apart=_APART, fix=_FIX),
    ),
    known(r"""fact
an operator was called (HCCL_ENTRY_LOG_ENABLE=1)
line: Entry-Hccl(?!Comm|GetRoot|Get|Create|Destroy)(?P<operator>[A-Z]\w{1,40}) ?: ?tag ?\[(?P<tag>[^\]\n]{1,200})\](?:
    [^\n]{0,120}?count ?\[(?P<count>[0-9]{1,20})\])?(?:[^\n]{0,20}?dataType ?\[(?P<type>\w{1,20})\])?(?:
    [^\n]{0,20}?op ?\[(?P<reduce>\w{1,20})\])?(?:[^\n]{0,20}?localRank ?\[(?P<rank>[0-9]{1,8})\])?(?:
    [^\n]{0,20}?streamId ?\[(?P<stream>[0-9]{1,8})\])?
example: [INFO] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]Entry-HcclAllReduce:
    tag[AllReduce_10.1.2.3%eth0_60000_0_1750000000123456], sendBuf[0x1], recvBuf[0x2], count[512], dataType[float32],
    op[sum]
says: {operator} of rank {rank}
says: {count} elements of {type}
says: its tag is {tag}
says: it runs in stream {stream}; one group in two streams at once is not allowed
cause: the order, count and type must be the same on all ranks of the group
apart: grep -rh "Entry-Hccl" */run/plog, one column per rank
""")._replace(fact=_entered),
    known(r"""fact
the tag of an operator, and the group that it belongs to
line: GenerateOpTag:[^\n]{0,240}?group ?\[(?P<group>[^\]\n]{1,200})\][^\n]{0,160}?generated op tag ?\[(?P<tag>
    [^\]\n]{1,200})\]
example: [INFO] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]GenerateOpTag: graph[2]
    opType[HcomAllGather], nodeNameHash[1], group[hccl_world_group], generated op tag[HcomAllGather_1_0]
says: {tag} belongs to {group}
cause: tags of one group must come in the same order on all ranks
""")._replace(fact=_entered),
)
