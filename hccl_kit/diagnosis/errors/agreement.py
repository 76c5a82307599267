"""What all ranks must have in common and do not: operators, their arguments, and the release of HCCL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hccl_kit.diagnosis.errors.message import MAX_WORD, LogMessage, rank, whole
from hccl_kit.diagnosis.errors.ports import LINK_STAGE
from hccl_kit.diagnosis.errors.row import in_stage, known
from hccl_kit.diagnosis.facts import ArgumentMismatch, Fact, VersionMismatch

COMMANDS: Mapping[str, str] = {
    "1": "Broadcast",
    "2": "AllReduce",
    "3": "Reduce",
    "4": "Send",
    "5": "Receive",
    "6": "AllGather",
    "7": "ReduceScatter",
    "8": "AlltoAllV",
    "9": "AlltoAllVC",
    "10": "AlltoAll",
    "11": "Gather",
    "12": "Scatter",
    "13": "BatchSendRecv",
    "16": "AllGatherV",
    "17": "ReduceScatterV",
}
"""The numbers of operators in the line about cmdType."""
REDUCTIONS: Mapping[str, str] = {"0": "sum", "1": "prod", "2": "max", "3": "min", "255": "none"}
"""The numbers of reductions in the line about op."""
_DIVERGED = (
    "ranks run different code: another branch, another number of batches, another order of operators",
    "ranks have different data or options: shapes, buffer sizes (HCCL_BUFFSIZE), data types",
)
_FIX = "make all ranks call the same operators in the same order with the same sizes and options"


def _sides(message: LogMessage) -> tuple[str, str] | None:
    """What this rank has, and what the far end has; None if the line does not tell both."""
    if "own" not in message.match.groupdict():
        return None
    here, there = (message.match[end].strip()[:MAX_WORD] for end in ("own", "other"))
    return here, there


@whole
def _arguments(message: LogMessage) -> Iterator[Fact]:
    if sides := _sides(message):
        field = message.value("field") or f"operator {message.value('index')}"
        yield ArgumentMismatch(field.strip(), *sides)


@whole
def _versions(message: LogMessage) -> Iterator[Fact]:
    """Which rank has which version; the name of the version file is left out."""
    if sides := _sides(message):
        yield VersionMismatch(*(re.sub(r" ?\(version file: ?[^()]{0,240}\)", "", side).strip() for side in sides))


_PART = re.compile(r"(SequenceNumber|OpType|TensorShape|TensorDtypes)=(\[[^\]]{0,200}\]|[^,()\[\]]{1,80})")


def _fingerprints(message: LogMessage) -> Iterator[Fact]:
    """The first of what torch compares that differs (its ProcessGroupWrapper, pull requests 79901 and 100214, 2023)."""
    own, other = (dict(_PART.findall(message.value(end) or "")) for end in ("own", "other"))
    field = next((name for name in own if own[name] != other.get(name, own[name])), None)
    if field:
        yield ArgumentMismatch(field, own[field], other[field], rank(message.value("peer")))


_VERSIONS = (
    r"[.:]? ?(?:tag ?\[[^\]\n]{0,200}\], ?)?"
    r"(?:[Tt]he )?local[ _](?:version(?: is)? ?)?\[?(?P<own>[^\n\]]{1,240}?)\]?,? (?:while the )?"
    r"remote[ _](?:version(?: is)? ?)?\[?(?P<other>[^\n\]]{1,240}?)(?:\]|\.?(?=\s*$)|\.(?=\s))"
)
"""EI0008 to its releases: 8.5.0 with a tag, 9.0.0 with `local version is`, newer ones with the package before it."""

_OF_TORCH = (
    known(r"""symptom
torch compared the collectives of all ranks, and they differ (TORCH_DISTRIBUTED_DEBUG=DETAIL)
line: mismatch between collectives on ranks\. Rank (?P<rank>[0-9]{1,8}) is running collective: ?CollectiveFingerPrint\((
    ?P<own>[^()\n]{1,1000})[^\n]{0,600}?but Rank (?P<peer>[0-9]{1,8}) is running collective: ?CollectiveFingerPrint\((?P
    <other>[^()\n]{1,1000})
mention: Detected mismatch between collectives on ranks
example: RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running collective:
    CollectiveFingerPrint(SequenceNumber=7, OpType=ALLREDUCE, TensorShape=[25], TensorDtypes=Float,
    TensorDeviceTypes=TensorOptions(dtype=float (default), device=npu)), but Rank 0 is running collective:
    CollectiveFingerPrint(SequenceNumber=7, OpType=ALLREDUCE, TensorShape=[25], TensorDtypes=Half,
    TensorDeviceTypes=TensorOptions(dtype=float (default), device=npu)).
says: rank {rank} has {own}, rank {peer} has {other}
apart: compare these lines of all ranks: all others name the odd one, which names another
""")._replace(fact=_fingerprints, causes=_DIVERGED, fix=_FIX),
)
ROWS = _OF_TORCH + in_stage(
    LINK_STAGE,
    known("""cause EI0005
the ranks have different parameters for one operator. No rule of a table detects this: check that all ranks run the same
    program with the same options
apart: HCCL_ENTRY_LOG_ENABLE=1, then compare the Entry-Hccl... lines of all ranks
""")._replace(causes=_DIVERGED, fix=_FIX),
    known(r"""cause EI0005
two ranks called different operators, or one operator with different arguments
line: CMD information (?![Vv]ersion)(?P<field>[\w ]{1,40}?) ?check fail[^\[\n]{0,40}?local ?\[(?P<own>
    [^\]\n]{0,512})\], ?remote ?\[(?P<other>[^\]\n]{0,512})\]
line: inconsistent between ranks ?:[^\n]{0,200}?\bparameter ?\[(?P<field>\w{1,40})\], ?local ?\[(?P<own>
    [^\]\n]{0,160})\], ?remote ?\[(?P<other>[^\]\n]{0,160})\]
line: inconsistent between ranks ?: ?parameter (?P<field>\w{1,40}), ?local end (?P<own>
    [^\s,]{1,80}), ?remote end (?P<other>[^\s,]{1,80})
line: parameters of operator (?P<operator>\S{1,60}) are inconsistent between ranks, ?parameter (?P<field>\S{1,40}) is (?
    P<own>[^\n]{1,80}?) on the local rank and (?P<other>[^\n]{1,80}?) on the remote rank
line: check opinfo inconsistent\.? ?identifier ?\[(?P<group>[^\]\n]{0,200})\] ?index ?\[(?P<index>
    [0-9]{1,12})\],? ?local ?\((?P<own>[^()\n]{0,240})\); ?remote ?\((?P<other>[^()\n]{0,240})\)
mention: \bOp Inconsistent Occurred
mention: arguments for collective communication are inconsistent between ranks
mention: \[InitChannelStage\]\[ParameterConflict\]
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]CMD information count check fail.
    local[10], remote[20]
says: {field} is {own} here and {other} at the far end
says: operator {index} of {group} is {own} here and {other} at the far end
says: the operator is {operator}
apart: the far end: the createLink line below; then "Entry-Hccl" lines with HCCL_ENTRY_LOG_ENABLE=1
""")._replace(fact=_arguments, causes=_DIVERGED, fix=_FIX),
    known("""cause EI0008
the ranks run with different releases of CANN
cause: one image or host has another CANN (toolkit, ops or HCCL)
apart: cat /usr/local/Ascend/ascend-toolkit/latest/version.cfg on every host and in every container
fix: install one release of CANN everywhere
"""),
    known(r"""cause EI0008
the ranks run with different releases of HCCL
mention: \[InitChannelStage\]\[VersionConflict\]
mention: HCCL versions are inconsistent
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]Inconsistent HCCL Versions.
    local_version 7.1, remote_version 8.2.
says: here {own}, at the far end {other}
cause: one image or host has another CANN
apart: cat /usr/local/Ascend/ascend-toolkit/latest/version.cfg on every host and in every container
fix: install one release of CANN everywhere
rule: HK616
""")._replace(
        patterns=(
            r"(?:HCCL|hccl|CANN|The [\w ()-]{2,60}) versions are inconsistent" + _VERSIONS,
            r"Inconsistent [\w ()-]{2,60} Versions" + _VERSIONS,
            r"[Vv]ersions? (?:information )?check fail\w{0,2}\.?[^\[\n]{0,20}?local(?:"
            r" version)? ?\[(?P<own>[^\]\n]{0,80})\],?"
            r" ?remote(?: version)? ?\[(?P<other>[^\]\n]{0,80})\]",
        ),
        fact=_versions,
    ),
)
