"""Lines that state what is in effect: variables, settings of a group, interfaces, stages; and steps of training.

Steps as Megatron, MindSpore's LossMonitor, MindFormers and the trainer of Hugging Face print them (2024 to 2026).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hccl_kit.diagnosis.errors.message import MAX_WORD, LogMessage, whole
from hccl_kit.diagnosis.errors.row import KnownError, known
from hccl_kit.diagnosis.facts import Fact, Fault, Progress, Setting
from hccl_kit.diagnosis.moments import time_of

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


_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}[- T][0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,]([0-9]{3}))?")


def _step(message: LogMessage) -> Iterator[Fact]:
    if message.level in (None, "INFO"):
        date = _DATE.search(message.text, 0, message.match.start())
        when = time_of(date[1], date[2], None) if date else None
        yield Progress(int(message.match["step"]), message.time if when is None else when)


ROWS: tuple[KnownError, ...] = (
    known("""fact needs_context
a step of training: what went wrong before it did not end the job
says: step {step}
""")._replace(
        patterns=(
            r"\biteration +(?P<step>[0-9]{1,12})/ {0,12}[0-9]{1,12} \|",
            r" step: (?P<step>[0-9]{1,12}), loss is ",
            r"step:\[ {0,12}(?P<step>[0-9]{1,12})/ {0,12}[0-9]{1,12}\], ?loss",
            r"\{'loss': .{1,300}'epoch': '?(?P<step>[0-9]{1,6})",
        ),
        example=" iteration       20/     500 | consumed samples:         640 | lm loss: 9.1E+00 |",
        fact=_step,
    ),
    known(r"""fact
the interface that HCCL chose for the host network
line: get host ip success[^\n]{0,40}?\[?(?P<ip>[0-9a-fA-F.:%\w]{7,60})?
line: find nic[^\n]{0,60}success
example: [INFO] HCCL(77,python3):2025-06-15-15:06:40.500.000 [nic.cc:12] [78]get host ip success, ip[10.1.2.3]
says: {ip}
cause: all hosts must use interfaces that reach each other; HCCL_SOCKET_IFNAME selects them
"""),
    known(r"""value
the value of a variable that is in effect for this process
line: \[HCCL_ENV\][^\n]{0,60}?(?P<name>HCCL_\w{2,50}|PROFILING_MODE) (?:is )?set (?:by (?P<source>default|environment)
    (?: variable)?)?[^\n]{0,24}?to (?:default value )?\[(?P<value>[^\]\n]{0,120})\]
line: \[HCCL_ENV\][^\n]{0,60}?(?P<name>HCCL_\w{2,50}|PROFILING_MODE)[^\n]{0,80}?is (?P<source>not set|empty)
line: \[HCCL_ENV\][^\n]{0,60}?(?P<name>HCCL_\w{2,50}) is \[(?P<value>[^\]\n]{0,120})\]
line: \[HCCL_ENV\][^\n]{0,60}?(?P<name>HCCL_\w{2,50})
line: \b(?P<name>HCCL_\w{2,50}) set by (?P<source>default|environment) to \[(?P<value>[^\]\n]{0,120})\]
line: environmental variable (?P<name>HCCL_\w{2,50}) is set, ?\w{1,20} ?\[(?P<value>[^\]\n]{0,80})\]
line: Env config \"(?P<name>HCCL_\w{2,50})\" is (?:(?P<source>not set)|parsed)
example: [INFO] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]HCCL_CONNECT_TIMEOUT set by environment
    to [130]s
says: {name} is {value}, set by {source}
says: {name} is {value}
says: {name}: {source}, so the default applies
says: {name}
cause: if it differs between ranks, they may wait for each other: compare it over the ranks
apart: grep -rh "HCCL_ENV\|base_config" */run/plog | sort | uniq -c
""")._replace(fact=_settings),
    known(r"""fact
a trace line of HCCL, not an error by itself
line: \[HCCL_TRACE\]
example: [INFO] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78][HCCL_TRACE]begin to create links
"""),
    known(r"""value
the settings of a communicator
line: comm config of ?\[(?P<group>[^\]\n]{1,200})\]: ?(?P<settings>[^\n]{1,160})
line: \[BuildRemoteResByTag\] ?newtag ?\[(?P<tag>[^\]\n]{1,200})\]
example: [INFO] HCCL(77,python3):2025-06-15-15:06:40.500.000 [c.cc:12] [78]comm config of [g]: buffer size 200 MB
says: of the group {group}: {settings}
says: its operator {tag} sets up its resources
cause: they must be the same on all ranks of the group
"""),
    known(r"""result
the creation of a communicator failed in the stage that the line names
line: \[InitGroupStage\]\[(?P<part>RanktableConfig|RanktableCheck|RanktableDetect|EnvConfig)\]
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12]
    [78][InitGroupStage][RanktableCheck]errNo[0x0000000005010001] the check of the table failed
says: the part is {part}: Config reads the table, Check compares it, Detect gathers the ranks over the network
cause: the text after the tags, or the first ERROR line of this process, names the reason
apart: the first ERROR line of this process
fix: run `hccl-kit explain` on that line
""")._replace(fact=_stage_failed),
    known(r"""frame
a part of the rank table could not be read; the line above it names the value
line: get dev list error ?: ?serverId ?\[(?P<server>[^\]\n]{1,80})\]
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78]get dev list error:
    serverId[10.1.2.3]
says: the server is {server}
cause: the line above it names the value
apart: hccl-check FILE
fix: correct the table
"""),
    known(r"""fact
one end of a one-sided link (prefill and decode) starts to connect; the other must follow within the timeout
line: Entry-HcclCommPrepare ?:? ?comm ?\[(?P<ends>[^\]\n]{1,160})\](?:, ?timeout ?\[(?P<seconds>[0-9]{1,6}) ?s?\])?
example: Entry-HcclCommPrepare:comm[10.1.1.1:203_10.1.1.2:210], timeout[3 s]
says: between {ends}
says: within {seconds} s
cause: if the two ends start further apart than the timeout, both fail
apart: grep -rh "Entry-HcclCommPrepare" */run/plog of both ends: compare the times of one comm
"""),
)
