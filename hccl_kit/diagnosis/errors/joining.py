"""Which process is which rank of which communicator: creating, joining and leaving one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hccl_kit.diagnosis.errors.message import Fields, LogMessage, address, rank, result, server, whole
from hccl_kit.diagnosis.errors.row import in_stage, known
from hccl_kit.diagnosis.facts import Fact, GroupNamed, Joined, JoinFailed, RootCreated

STAGE = "creation of the communicator, over the host network (HCCL_CONNECT_TIMEOUT, 120 s)"
_MAPS = "it maps a group to rank, host and card: use it to find the log of a rank"
_IDENTIFIER = re.compile(r"(?P<host>[^%\s]{1,255})%[^%\s]{1,64}_[0-9]{1,5}_[0-9]{1,6}_[0-9]{16}")
_OF_OTHERS = (4, 9, 11, 12, 13)
"""HcclResults of a communicator that others may have broken: internal, timeout, and connections."""


def _joined(message: LogMessage) -> Iterator[Fact]:
    """A rank of a communicator, by whatever names the line gives its values."""
    fields = message.fields()
    this_rank = fields.rank("rank", "localrank", "userrank", "rankid")
    if this_rank is None:
        return
    group = fields.text("identifier", "group")
    if group is None and not message.is_whole:
        return  # the part of the line that is lost may name a communicator, in which ranks count otherwise
    yield Joined(
        group,
        this_rank,
        fields.rank("ranknum", "ranks", "totalranks", "ranksize"),
        server(fields.text("server", "serverid")),
        fields.rank("logicdevid", "devicelogicid", "logicdeviceid"),
        fields.rank("phydevid", "devicephyid", "phydeviceid", "device"),
        address(fields.text("deviceip", "devip")),
        fields.text("ip") or _root(group),
    )


def _root(group: str | None) -> str | None:
    match = _IDENTIFIER.fullmatch(group or "")
    return match["host"] if match else None


def _complete(message: LogMessage) -> Iterator[Fact]:
    """A rank of a communicator that is complete: the root has sent the list of its ranks."""
    yield from (fact._replace(complete=True) for fact in _joined(message) if isinstance(fact, Joined))
    fields = message.fields()
    name, group = fields.text("commid"), fields.text("identifier")
    if name and group and name != group:
        yield GroupNamed(group, name)


def _placed(message: LogMessage) -> Iterator[Fact]:
    """Where a rank runs, at the start or at the end of the creation of its communicator."""
    is_start = message.match[0].startswith(("SetupAgent", "[LocalRank"))
    return _joined(message) if is_start else _complete(message)


def _root_created(message: LogMessage) -> Iterator[Fact]:
    group = message.fields().text("identifier")
    if group and "success" in message.match[0]:
        yield RootCreated(group)


def _join_failed(message: LogMessage) -> Iterator[Fact]:
    fields = message.fields()
    if fields.text("return"):
        yield JoinFailed(fields.text("identifier"), fields.rank("rank"), fields.rank("ranknum"))


def _old_group(message: LogMessage) -> str | None:
    """The name in place of the thread (2022): hccl-PID-0-TIME-NAME."""
    match = re.match(r" ?\[(hccl-[^\[\]]{1,120})\]", message.text)
    return match[1] if match else None


@whole
def _not_joined(message: LogMessage) -> Iterator[Fact]:
    """2022: `[hccl-PID-0-TIME-NAME][RANK][HcomInitByFile]errNo[0x...] ... hcom init failed`."""
    if message.level != "ERROR":
        return
    fields = Fields.of(message.text)
    named = re.match(r" ?\[hccl-[^\[\]]{1,120}\]\[([0-9]{1,8})\]", message.text)
    this_rank, code = rank(named[1]) if named else None, result(fields.text("errno", "return"))
    if code is None or code in _OF_OTHERS:
        yield JoinFailed(_old_group(message), this_rank, None)
    elif this_rank is not None:
        yield Joined(_old_group(message), this_rank)  # an error before this line has the cause


ROWS = (
    *in_stage(
        STAGE,
        known(r"""symptom
the root of a communicator could not be created
line: HcclGetRootInfo[^\n]{0,40} failed(?:, ?ret(?:urn)? ?\[(?P<result>[0-9xa-fA-F]{1,20})\])?
line: HCCL get root info failed
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78]HcclGetRootInfo failed,
    return[0x0000000005000007]
says: the result is {result}
cause: a variable is refused: HcclResult 1, EI0001, a line with EnvConfig
cause: HCCL_SOCKET_IFNAME or HCCL_IF_IP names no interface of this host
cause: a port of the host is taken: HcclResult 7, EI0019
apart: grep -rh "ERROR. HCCL" ~/ascend/log/debug/plog | head: the first line of this process
fix: run `hccl-kit explain` on that line
"""),
        known(r"""frame
a communicator could not be created
line: \bInit failed, ?return ?\[(?P<result>[0-9xa-fA-F]{1,20})\]
line: HcclCommInit\w{0,40} failed,? ?(?:return|ret) ?\[(?P<result>[0-9xa-fA-F]{1,20})\](?:[^\n]{0,80}?rankNum ?\[
    (?P<ranks>[0-9]{1,8})\])?(?:, ?rank ?\[(?P<rank>[0-9]{1,8})\])?
mention: hcclComm init error
mention: HcclCommInit\w{0,40} fail, ?error ?: ?(?P<result>[0-9]{1,3}), ?rank ?: ?(?P<rank>
    [0-9]{1,8}), ?rankSize ?: ?(?P<ranks>[0-9]{1,8})
mention: get hccl comm fail by rank ?: ?(?P<rank>[0-9]{1,8})
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78][HCCL_TRACE]HcclCommInitRootInfo
    failed, return[0x000000000500000d], rankNum[16], rank[9], rootInfo
    identifier[10.1.2.3%eth0_60000_0_1750000000123456], server[10.1.2.4%eth0], logicDevId[1]
says: this is rank {rank} of {ranks}
says: this is rank {rank}
says: the result is {result}
cause: the lines above it of the same process name the reason
apart: read upwards to the first ERROR line of this process
fix: run `hccl-kit explain` on that line
""")._replace(fact=_join_failed),
        known(r"""symptom
a communicator could not be created from a rank table
line: rankTablePath\[(?P<path>[^\]\n]{0,200})\] identify\[(?P<rank>[^\]\n]{0,20})\] hcom init failed
line: hcom init failed
mention: HcomInitByFile[^\n]{0,400}(?:failed|error)
example: [ERROR] HCCL(77,python):2022-12-01-03:02:29.001.645
    [hcom.cc:1][hccl-77-0-16-hccl_world_group][2][HcomInitByFile]errNo[0x0000000005000009] rankTablePath[/t.json]
    identify[0] hcom init failed.
says: the table is {path}, the rank is {rank}
cause: with EJ0001 near it: a process of an earlier job still holds the card
cause: with EI0004 or EI0014 near it: the table is refused
cause: with EI0006 or a timeout: another rank did not join
apart: read the first ERROR line of this process, and `npu-smi info` for processes on the cards
fix: end the earlier job and wait 30 s, or correct the table
""")._replace(fact=_not_joined),
    ),
    known(r"""fact
a process joins a communicator
line: Entry-HcclCommInit\w{0,40}(?: V\w{1,12})? ?:? ?ranks ?\[(?P<ranks>[0-9]{1,8})\], ?rank ?\[(?P<rank>[0-9]{1,8})\]
    (?:[^\n]{0,20}?rootinfo ?:? ?host ip ?\[(?P<root>[^\]\n]{0,100})\](?: ?port ?\[(?P<port>[0-9]{1,5})\])?)?(?:
    [^\n]{0,60}?identifier ?\[(?P<group>[^\]\n]{1,200})\])?(?:[^\n]{0,20}?deviceLogicId ?\[(?P<card>[0-9]{1,6})\])?
line: Entry-HcclCommInit\w{0,40}
example: [INFO] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]Entry-HcclCommInitRootInfo:ranks[16],
    rank[9], rootinfo: host ip[10.1.2.3] port[60000] nicDeploy[1] identifier[10.1.2.3%eth0_60000_0_1750000000123456],
    deviceLogicId[1]
says: it is rank {rank} of {ranks}
says: the group is {group}
says: the root is at {root}
says: port {port}
says: its logical device id is {card}
apart: grep -rh "Entry-HcclCommInit" */run/plog: one line for each rank of the group; a rank without it never tried to
    join
""")._replace(fact=_joined, causes=(_MAPS,)),
    known(r"""fact
the root of a communicator starts to wait for the ranks
line: HcclGetRootInfo\w{0,20} success
mention: Entry-HcclGetRootInfo\w{0,20} ?:?(?:[^\n]{0,60}?deviceLogicId ?\[(?P<card>[0-9]{1,6})\])?
example: [INFO] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78][HCCL_TRACE]HcclGetRootInfo success,
    take time [9]us, identifier[10.1.2.3%eth0_60000_0_1750000000123456]
says: its logical device id is {card}
cause: this process is the root, usually rank 0
""")._replace(fact=_root_created),
    known(r"""fact
which rank runs where
line: SetupAgent rankNum ?\[(?P<ranks>[0-9]{1,8})\], ?rank ?\[(?P<rank>[0-9]{1,8})\](?:[^\n]{0,80}?identifier ?\[
    (?P<group>[^\]\n]{1,200})\])?(?:[^\n]{0,20}?server ?\[(?P<server>[^\]\n]{1,100})\])?(?:[^\n]{0,120}?logicDevId ?\[
    (?P<logic>[0-9]{1,6})\])?(?:[^\n]{0,20}?phydevId ?\[(?P<card>[0-9]{1,6})\])?(?:[^\n]{0,20}?deviceIp ?\[(?P<ip>
    [^\]\n]{1,80})\])?
line: hcom init by file succe\w{0,4}[^\n]{0,600}?rankNum ?\[(?P<ranks>[0-9]{1,8})\], ?rank ?\[(?P<rank>[0-9]{1,8})\]
    (?:, ?server ?\[(?P<server>[^\]\n]{1,100})\])?(?:, ?device ?\[(?P<card>[0-9]{1,6})\])?
line: hcclCommInitInfo ?: ?commId ?\[(?P<group>[^\]\n]{1,200})\](?:, ?rank ?\[(?P<rank>
    [0-9]{1,8})\])?(?:, ?totalRanks ?\[(?P<ranks>[0-9]{1,8})\])?(?:, ?serverId ?\[(?P<server>[^\]\n]{1,100})\])?
line: \[LocalRank Key Info\][^\n]{0,40}?userRank ?\[(?P<rank>[0-9]{1,8})\](?: ?hostIp ?\[(?P<host>
    [^\]\n]{1,80})\])?(?: ?devicePhyId ?\[(?P<card>[0-9]{1,6})\])?(?: ?server ?\[(?P<server>
    [^\]\n]{1,100})\])?(?: ?deviceIp ?\[(?P<ip>[^\]\n]{1,80})\])?
line: HcclCommInit\w{0,40} success(?:[^\n]{0,60}?rankNum ?\[(?P<ranks>[0-9]{1,8})\], ?rank ?\[(?P<rank>[0-9]{1,8})\])?
example: [INFO] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78][HCCL_TRACE]SetupAgent rankNum[16],
    rank[9], rootInfo identifier[10.1.2.3%eth0_60000_0_1750000000123456], server[10.1.2.4%eth0], logicDevId[1],
    phydevId[5], deviceIp[192.168.7.5]
says: rank {rank} of {ranks}
says: rank {rank}, host {host}
says: server {server}
says: physical card {card}
says: card address {ip}
says: the group is {group}
""")._replace(fact=_placed, causes=(_MAPS,)),
    known(r"""fact
the shape of a communicator
line: \[Communicator Key Info\] ?identifier ?\[(?P<group>[^\]\n]{1,200})\](?: ?rankSize ?\[(?P<ranks>
    [0-9]{1,8})\])?(?: ?serverNum ?\[(?P<servers>[0-9]{1,8})\])?(?:[^\n]{0,40}?superPodNum ?\[(?P<pods>[0-9]{1,8})\])?
example: [INFO] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78][Communicator Key Info] identifier[g]
    rankSize[16] serverNum[2]
says: the group is {group}
says: {ranks} ranks on {servers} servers
says: {pods} super pods
cause: it must be the same on all ranks of the group
"""),
    known("""fact
a process leaves a communicator
line: Entry-HcclCommDestroy
line: op_base comm destroy (?:begin|complete)
line: hcom destroy (?:begin|complete)
line: Entry-HcomDestroy
example: [INFO] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]Entry-HcclCommDestroy: op_base comm
    destroy begin
cause: normal at the end; if it comes before an error of another rank, this process left too early
"""),
    known(r"""fact
which rank of which communicator a process is
line: commId ?\[(?P<group>[^\]\n]{1,200})\], ?rank ?\[(?P<rank>[0-9]{1,8})\](?:, ?totalRanks ?\[(?P<ranks>
    [0-9]{1,8})\])?
example: [INFO] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]commId[g], rank[3], totalRanks[16]
says: rank {rank} of {ranks}
says: the group is {group}
""")._replace(causes=(_MAPS,)),
)
