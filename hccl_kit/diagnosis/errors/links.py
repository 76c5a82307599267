"""Links between cards that are not set up in time, and what HCCL prints about both ends of them."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.diagnosis import facts
from hccl_kit.diagnosis.errors.message import LogMessage, address, card, rank, server
from hccl_kit.diagnosis.errors.ports import LINK_STAGE
from hccl_kit.diagnosis.errors.row import KnownError, in_stage
from hccl_kit.diagnosis.facts import Card, Fact

_FAR_END = (
    "the far end never called this operator: it ended, hangs, or is more than HCCL_CONNECT_TIMEOUT late; see its own"
    " log",
    "the far end itself waits for a third rank: follow it to the end of the chain",
    "TLS is on at one end and off at the other, or the card network does not connect the two",
    "ranks called different operators, so that they wait for each other",
)
_APART = (
    "the far end's debug/plog: another error is the cause, none means it never called; then hccn_tool -i N -tls -g and"
    " hccn_tool -i N -ping -g address PEER on both"
)
_FIX = (
    "correct the far end; give late ranks time with HCCL_CONNECT_TIMEOUT=600 on all ranks; use the same TLS setting on"
    " all cards"
)


def _timed_out(message: LogMessage) -> Iterator[Fact]:
    if this_rank := message.value("rank"):
        yield facts.LinkTimedOut(rank(this_rank))


def _row(message: LogMessage) -> Iterator[Fact]:
    """A row of the table of broken links; an address may have its card behind it."""
    peer_address = address((message.value("peer_ip") or "").split("/", maxsplit=1)[0])
    yield facts.LinkRow(rank(message.value("own")), rank(message.value("peer")), peer_address)


def _link_failed(message: LogMessage) -> Iterator[Fact]:
    yield facts.LinkFailed(rank(message.value("own")), card(message.value("peer_at")))


def _detected(message: LogMessage) -> Iterator[Fact]:
    source, target = (Card(server(message.value(end)), rank(message.value(f"{end}_card"))) for end in ("own", "peer"))
    yield facts.Unreachable(source, target)


def _no_link(message: LogMessage) -> Iterator[Fact]:
    yield facts.Fault("EI0006", "HCCL", "a rank timed out waiting for the connection of another", message.shown, True)


def _peer_closed(_message: LogMessage) -> Iterator[Fact]:
    yield facts.PeerClosed()


ROWS = in_stage(
    LINK_STAGE,
    KnownError(
        "a rank timed out waiting for the connection of another: usually it died before (see the earliest error"
        " of all ranks); otherwise its network port has no link or another device_ip than the table, or the network"
        " between the servers is blocked",
        role="symptom",
        codes=("EI0006",),
        causes=_FAR_END,
        tells_apart=_APART,
        fix=_FIX,
    ),
    KnownError(
        "a link was not set up in time: the far end did not connect, or did not answer",
        role="symptom",
        codes=("EI0006",),
        patterns=(
            r"Getting socket times out",
            r"Get_Socket_Timeout\(EI0006\)",
            r"Communication_Error_Get_Socket\(EI0006\)",
        ),
        example="[PID: 7] 2025-12-29-10:00:00.000.000 Get_Socket_Timeout(EI0006): Getting socket times out. Reason:"
        " no connection",
        causes=_FAR_END,
        tells_apart=_APART + "; the rank that reports something else, or nothing, is the one to look at",
        fix=_FIX,
    ),
    KnownError(
        "this rank timed out waiting for a link to another card",
        role="symptom",
        codes=("EI0006",),
        patterns=(
            r"wait socket establish"
            r" timeout, ?role ?\[(?P<role>[01])\],? ?rank ?\[(?P<rank>[0-9]{1,10})\](?:,? ?timeout ?"
            r"\[(?P<seconds>[0-9]{1,6}) ?s?\])?",
            r"(?P<side>client|server) ?: ?device ?\[(?P<card>[0-9]{1,6})\],? ?rank ?\[(?P<rank>[0-9]{1,10})\],?"
            r" ?get s(?:o[ck]{2}e|coke)t timeout",
        ),
        mentions=(
            r"wait socket establish timeout",
            r"get s(?:o[ck]{2}e|coke)t timeout, ?total ?\[",
        ),
        example="[ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78][Wait][LinkEstablish]wait"
        " socket establish timeout, role[1] rank[9] timeout[120 s]",
        fact=_timed_out,
        says=(
            "rank {rank} is this process, and it waited {seconds} s; role {role} (1 is the client, 0 the server)",
            "rank {rank} is this process, on card {card}, as {side}",
            "the table of links below (LINK_ERROR_INFO) names the rank that it waited for",
        ),
        causes=(
            "an earlier error of the same process, such as a port that was taken",
            *_FAR_END,
        ),
        tells_apart=_APART,
        fix="look for the earlier error, here and at the far end, before the timeout is raised; " + _FIX,
    ),
    KnownError(
        "a row of the table of links that were not set up: this rank waited for another",
        role="pointer",
        codes=("EI0006",),
        patterns=(
            r"\| *(?P<peer_ip>[^\s|()]{2,80}) ?\((?P<peer>[0-9]{1,10})\) *\| *(?:(?P<port>[0-9]{1,10}) *\| *)?"
            r"(?P<own_ip>"
            r"[^\s|()]{2,80}) ?\((?P<own>[0-9]{1,10})\) *\| *(?:[0-9]{1,12} *\| *)?(?P<role>(?i:client|server)) *\| *"
            r"(?P<status>[^|\s][^|\n]{0,30}?) *\|(?: *(?P<tls>[A-Za-z]{3,12}) *\|)?",
        ),
        example="[ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]   |  192.168.7.6(10)   | "
        " 16666  |   192.168.7.5(9)   |  3234403008  |  client  | time out |   DISABLE  | LinkInfo",
        fact=_row,
        says=(
            "rank {own} ({own_ip}) waits for rank {peer} ({peer_ip}), as {role}: {status}",
            "the port of the far end is {port}",
            "TLS of this card: {tls}; it must be equal at both ends",
        ),
        causes=_FAR_END,
        tells_apart=_APART,
        fix=_FIX,
    ),
    KnownError(
        "part of the table of links that were not set up (LINK_ERROR_INFO); its rows name both ends",
        role="frame",
        codes=("EI0006",),
        patterns=(r"the connection failure between this device and (?:the )?target device",),
        mentions=(
            r"LINK_ERROR_INFO",
            r"\| *comm error, ?device ?\[(?P<device>[0-9]{1,6})\]",
            r"\| *dest_ip\((?:user_)?rank",
            r"the connection between this device and the target device is abnormal",
            r"an exception occurred at the target device",
            r"the time difference between the execution of hcom on this device",
            r"Continue to analyze the fault based on the logs of srcRank and dstRank\.? *$",
            r"If the link setup timeout is reported on both ends",
            r"\](?:\w{1,40}\])? *\|?--------[-|]*$",
            r"\](?:\w{1,40}\])? *________[_|]*$",
        ),
        example="[ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]the connection failure"
        " between this device and target device may be due to the following reasons:",
        fact=_no_link,
        says=("the card of this process is {device}",),
        causes=_FAR_END,
        tells_apart=_APART,
        fix="read the rows of the table: the far end is dest_ip(rank)",
    ),
    KnownError(
        "HCCL's own detector names two cards that cannot reach each other",
        role="pointer",
        codes=("EI0006",),
        patterns=(
            r"srcRank ?\(server (?P<own>[^\s(),]{1,80}), ?device ID (?P<own_card>[0-9]{1,6})\) fails to connect to "
            r"dstRank ?\(server (?P<peer>[^\s(),]{1,80}), ?device ID (?P<peer_card>[0-9]{1,6})\)",
            r"srcRank ?\[(?P<own>[^\]/\n]{1,80})/(?P<own_card>[0-9]{1,6})\] connect dest(?:Rank)? ?\["
            r"(?P<peer>[^\]/\n]{1,80})/(?P<peer_card>[0-9]{1,6})\] fail",
        ),
        example="[ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]This node (server 10.1.2.4,"
        " device ID 1) detects that srcRank (server 10.1.2.4, device ID 1) fails to connect to dstRank (server"
        " 10.1.2.5, device ID 10). Continue",
        fact=_detected,
        says=("card {own_card} of {own} waits for card {peer_card} of {peer}",),
        causes=(
            "the far end ended, hangs or never called: see its own log, if it has one",
            "both ends report this: the network between them, TLS, or super pods that do not reach each other",
        ),
        tells_apart="the log of the far end; if all pairs name one server, that server or its switch",
        fix=_FIX,
    ),
    KnownError(
        "the heading of what HCCL's own detector found; the lines below name the pairs",
        role="frame",
        codes=("EI0006",),
        patterns=(r"CONNECT TIMEOUT DETECT RESULT", r"DETECT EVENT LIST", r"DETECT EVENT ?\["),
        example="[ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78]========== CONNECT"
        " TIMEOUT DETECT RESULT ==========",
        causes=_FAR_END,
        fix="read the lines below: srcRank waits for dstRank",
    ),
    KnownError(
        "HCCL's own detector found no broken connection: the ranks run different operators, or one was late",
        role="pointer",
        codes=("EI0006",),
        patterns=(r"No abnormal periods? (?:were|was) discovered",),
        causes=(
            "ranks called different operators: compare the tags of `Alloc transports failed` over the ranks",
            "a rank called later than HCCL_CONNECT_TIMEOUT after the others",
        ),
        example="[ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]No abnormal periods were"
        " discovered",
        tells_apart='grep -rh "Alloc transports failed" */debug/plog: all tags must be equal',
        fix="make all ranks run the same operators; give late ranks time with HCCL_CONNECT_TIMEOUT=600",
        needs_context=True,
    ),
    KnownError(
        "a link between two cards could not be built",
        role="pointer",
        codes=("EI0009",),
        patterns=(
            r"createLink para: ?rank ?\[[0-9]{1,8}\]-localUserrank ?\[(?P<own>[0-9]{1,10})\]-localIpAddr ?"
            r"\[(?P<own_at>[^\]\n]{0,100})\], ?(?:dst_rank|remoteRank|dstRank) ?\[[0-9]{1,8}\]-remoteUserrank ?"
            r"\[(?P<peer>[0-9]{1,10})\]-(?:remoteIpAddr|remote_ip_addr) ?\[(?P<peer_at>[^\]\n]{0,100})\]"
            r"(?:[^\n]{0,200}?tag ?\[(?P<tag>[^\]\n]{1,160}))?",
        ),
        example="[ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]Transport init error!"
        " createLink para:rank[1]-localUserrank[5]-localIpAddr[10.1.2.4/1],"
        " remoteRank[0]-remoteUserrank[6]-remoteIpAddr[10.1.2.5/0], linkMode[1],"
        " tag[AllReduce_10.1.2.3%eth0_60000_0_1750000000123456]",
        fact=_link_failed,
        says=(
            "rank {own} (host/card {own_at}) waits for rank {peer} (host/card {peer_at})",
            "the operator is {tag}",
        ),
        causes=_FAR_END,
        tells_apart=_APART,
        fix="look at the far end first; " + _FIX,
    ),
    KnownError(
        "a connection between two cards could not be set up; the message names both. No rule of a table detects"
        " this: see the earliest error of all ranks, usually that of the other card",
        role="symptom",
        codes=("EI0009",),
        causes=_FAR_END,
        tells_apart=_APART,
        fix=_FIX,
    ),
    KnownError(
        "the other end closed a connection of HCCL",
        role="result",
        codes=("HcclResult 13",),
        patterns=(r"errNo\[0x0{0,12}50[01]0{0,6}0[dD]\]",),
        example="[ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12]"
        " [78][Recv][RaSocket]errNo[0x000000000500000d] the connection is closed",
        fact=_peer_closed,
        causes=("the process at the other end ended, or gave up after its own error",),
        tells_apart="the log of the far end at this second",
        fix="correct the far end",
    ),
    KnownError(
        "the other end closed the connection: its own log has the reason, often in the same second",
        role="symptom",
        codes=("HcclResult 13",),
        patterns=(r"\brecv fail(?:ed)?\b", r"socket recv error", r"peer (?:has )?closed"),
        example="[ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78]recv fail, the peer may"
        " have ended",
        causes=("the process at the other end ended, or gave up after its own error",),
        tells_apart="the log of the far end at this second",
        fix="correct the far end",
        needs_context=True,
    ),
    KnownError(
        "the links of an operator could not be set up",
        role="symptom",
        codes=("EI0006",),
        patterns=(
            r"Alloc transports failed, ?tag ?\[(?P<tag>[^\]\n]{1,200})\]",
            r"AllocAlgResource failed, ?algName ?=? ?\[(?P<tag>[^\]\n]{1,120})\]",
            r"AllocAlgResource failed",
            r"\[InitChannelStage\]\[Timeout\]",
            r"Wait links establish completed failed",
            r"LinksEstablishCompleted\] ?is failed",
            r"Transport init error!?",
            r"[cC]reate [dD]est(?:Link)? [eE]rror",
        ),
        example="[ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78]Alloc transports failed,"
        " tag[AllReduce_g]",
        says=("the operator is {tag}; it must be the same on all ranks",),
        causes=_FAR_END,
        tells_apart="the lines above: LINK_ERROR_INFO and createLink name the far end",
        fix=_FIX,
        vague=True,
    ),
)
