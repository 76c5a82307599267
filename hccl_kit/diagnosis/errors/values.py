"""Lines that state what is in effect: variables, settings of a group, interfaces, stages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hccl_kit.diagnosis.errors.message import MAX_WORD, LogMessage, whole
from hccl_kit.diagnosis.errors.row import KnownError
from hccl_kit.diagnosis.facts import Fact, Fault, Setting

_SETTING = re.compile(
    r"(?P<name>(?:HCCL|ASCEND)_[A-Z0-9_]{1,60})\"?(?: [a-z]{1,20}){1,8}(?:, ?\w{1,40})? ?\[(?P<value>[^\[\]]{0,1024})\]"
)
_STAGES = {
    "EnvConfig": ("EI0001", "an environment variable is not valid"),
    "RanktableConfig": ("EI0004", "the rank table could not be parsed"),
    "RanktableCheck": ("EI0014", "a value in the rank table is not what HCCL expects"),
}
"""Parts of the creation of a communicator that fail for one reason only: their codes and those in words."""


def _settings(message: LogMessage) -> Iterator[Fact]:
    """All settings on the line; "EmptyString" is an empty value."""
    for match in _SETTING.finditer(message.text):
        value = match["value"].strip()[:MAX_WORD]
        yield Setting(match["name"], "" if value == "EmptyString" else re.sub(r"^([0-9]+) ?s$", r"\1", value))


@whole
def _stage_failed(message: LogMessage) -> Iterator[Fact]:
    """The tags of 8.5 and newer; those of timeouts say nothing that other rows do not."""
    part = message.value("part") or ""
    if part not in _STAGES or "call trace" in message.text:
        return
    code, kind = _STAGES["EnvConfig" if "device ip family" in message.text else part]
    yield Fault(code, "HCCL", kind, message.shown)


ROWS: tuple[KnownError, ...] = (
    KnownError(
        "the interface that HCCL chose for the host network",
        role="fact",
        patterns=(r"get host ip success[^\n]{0,40}?\[?(?P<ip>[0-9a-fA-F.:%\w]{7,60})?", r"find nic[^\n]{0,60}success"),
        example="[INFO] HCCL(77,python3):2025-06-15-15:06:40.500.000 [nic.cc:12] [78]get host ip success, ip[10.1.2.3]",
        says=("{ip}",),
        causes=("all hosts must use interfaces that reach each other; HCCL_SOCKET_IFNAME selects them",),
    ),
    KnownError(
        "the value of a variable that is in effect for this process",
        role="value",
        patterns=(
            r"\[HCCL_ENV\][^\n]{0,60}?(?P<name>HCCL_\w{2,50}|PROFILING_MODE) (?:is )?set (?:by (?P<source>default"
            r"|environment)(?: variable)?)?[^\n]{0,24}?to (?:default value )?\[(?P<value>[^\]\n]{0,120})\]",
            r"\[HCCL_ENV\][^\n]{0,60}?(?P<name>HCCL_\w{2,50}|PROFILING_MODE)[^\n]{0,80}?is (?P<source>not set|empty)",
            r"\[HCCL_ENV\][^\n]{0,60}?(?P<name>HCCL_\w{2,50}) is \[(?P<value>[^\]\n]{0,120})\]",
            r"\[HCCL_ENV\][^\n]{0,60}?(?P<name>HCCL_\w{2,50})",
            r"\b(?P<name>HCCL_\w{2,50}) set by (?P<source>default|environment) to \[(?P<value>[^\]\n]{0,120})\]",
            r"environmental variable (?P<name>HCCL_\w{2,50}) is set, ?\w{1,20} ?\[(?P<value>[^\]\n]{0,80})\]",
            r"Env config \"(?P<name>HCCL_\w{2,50})\" is (?:(?P<source>not set)|parsed)",
        ),
        example="[INFO] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]HCCL_CONNECT_TIMEOUT set by"
        " environment to [130]s",
        fact=_settings,
        says=(
            "{name} is {value}, set by {source}",
            "{name} is {value}",
            "{name}: {source}, so the default applies",
            "{name}",
        ),
        causes=("if it differs between ranks, they may wait for each other: compare it over the ranks",),
        tells_apart='grep -rh "HCCL_ENV\\|base_config" */run/plog | sort | uniq -c',
    ),
    KnownError(
        "a trace line of HCCL, not an error by itself",
        role="fact",
        patterns=(r"\[HCCL_TRACE\]",),
        example="[INFO] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78][HCCL_TRACE]begin to"
        " create links",
    ),
    KnownError(
        "the settings of a communicator",
        role="value",
        patterns=(
            r"comm config of ?\[(?P<group>[^\]\n]{1,200})\]: ?(?P<settings>[^\n]{1,160})",
            r"\[BuildRemoteResByTag\] ?newtag ?\[(?P<tag>[^\]\n]{1,200})\]",
        ),
        example="[INFO] HCCL(77,python3):2025-06-15-15:06:40.500.000 [c.cc:12] [78]comm config of [g]: buffer size"
        " 200 MB",
        says=("of the group {group}: {settings}", "its operator {tag} sets up its resources"),
        causes=("they must be the same on all ranks of the group",),
    ),
    KnownError(
        "the creation of a communicator failed in the stage that the line names",
        role="result",
        patterns=(r"\[InitGroupStage\]\[(?P<part>RanktableConfig|RanktableCheck|RanktableDetect|EnvConfig)\]",),
        says=(
            "the part is {part}: Config reads the table, Check compares it, Detect gathers the ranks over the network",
        ),
        example="[ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12]"
        " [78][InitGroupStage][RanktableCheck]errNo[0x0000000005010001] the check of the table failed",
        fact=_stage_failed,
        causes=("the text after the tags, or the first ERROR line of this process, names the reason",),
        tells_apart="the first ERROR line of this process",
        fix="run `hccl-kit explain` on that line",
    ),
    KnownError(
        "a part of the rank table could not be read; the line above it names the value",
        role="frame",
        patterns=(r"get dev list error ?: ?serverId ?\[(?P<server>[^\]\n]{1,80})\]",),
        example="[ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78]get dev list error:"
        " serverId[10.1.2.3]",
        says=("the server is {server}",),
        causes=("the line above it names the value",),
        tells_apart="hccl-check FILE",
        fix="correct the table",
    ),
    KnownError(
        "one end of a one-sided link (prefill and decode) starts to connect; the other must follow within the timeout",
        role="fact",
        patterns=(
            r"Entry-HcclCommPrepare ?:? ?comm ?\[(?P<ends>[^\]\n]{1,160})\](?:, ?timeout"
            r" ?\[(?P<seconds>[0-9]{1,6}) ?s?\])?",
        ),
        example="Entry-HcclCommPrepare:comm[10.1.1.1:203_10.1.1.2:210], timeout[3 s]",
        says=("between {ends}", "within {seconds} s"),
        causes=("if the two ends start further apart than the timeout, both fail",),
        tells_apart='grep -rh "Entry-HcclCommPrepare" */run/plog of both ends: compare the times of one comm',
    ),
)
