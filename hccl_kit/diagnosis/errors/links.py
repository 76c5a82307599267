"""Links between cards that are not set up in time, and what HCCL prints about both ends of them."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.diagnosis import facts
from hccl_kit.diagnosis.errors.message import LogMessage, address, card, rank, server
from hccl_kit.diagnosis.errors.ports import LINK_STAGE
from hccl_kit.diagnosis.errors.row import in_stage, known
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
    known("""symptom EI0006
a rank timed out waiting for the connection of another: usually it died before (see the earliest error of all ranks);
    otherwise its network port has no link or another device_ip than the table, or the network between the servers is
    blocked
""")._replace(causes=_FAR_END, tells_apart=_APART, fix=_FIX),
    known(r"""symptom EI0006
a link was not set up in time: the far end did not connect, or did not answer
line: Getting socket times out
line: Get_Socket_Timeout\(EI0006\)
line: Communication_Error_Get_Socket\(EI0006\)
example: [PID: 7] 2025-12-29-10:00:00.000.000 Get_Socket_Timeout(EI0006): Getting socket times out. Reason: no
    connection
""")._replace(
        causes=_FAR_END,
        tells_apart=_APART + "; the rank that reports something else, or nothing, is the one to look at",
        fix=_FIX,
    ),
    known(r"""symptom EI0006
this rank timed out waiting for a link to another card
line: wait socket establish timeout, ?role ?\[(?P<role>[01])\],? ?rank ?\[(?P<rank>[0-9]{1,10})\](?:,? ?timeout ?\[
    (?P<seconds>[0-9]{1,6}) ?s?\])?
line: (?P<side>client|server) ?: ?device ?\[(?P<card>[0-9]{1,6})\],? ?rank ?\[(?P<rank>[0-9]{1,10})\],? ?get s(?:o
    [ck]{2}e|coke)t timeout
mention: wait socket establish timeout
mention: get s(?:o[ck]{2}e|coke)t timeout, ?total ?\[
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78][Wait][LinkEstablish]wait socket
    establish timeout, role[1] rank[9] timeout[120 s]
says: rank {rank} is this process, and it waited {seconds} s; role {role} (1 is the client, 0 the server)
says: rank {rank} is this process, on card {card}, as {side}
says: the table of links below (LINK_ERROR_INFO) names the rank that it waited for
""")._replace(
        fact=_timed_out,
        causes=(
            "an earlier error of the same process, such as a port that was taken",
            *_FAR_END,
        ),
        tells_apart=_APART,
        fix="look for the earlier error, here and at the far end, before the timeout is raised; " + _FIX,
    ),
    known(r"""pointer EI0006
a row of the table of links that were not set up: this rank waited for another
line: \| *(?P<peer_ip>[^\s|()]{2,80}) ?\((?P<peer>[0-9]{1,10})\) *\| *(?:(?P<port>[0-9]{1,10}) *\| *)?(?P<own_ip>[^\s|
    ()]{2,80}) ?\((?P<own>[0-9]{1,10})\) *\| *(?:[0-9]{1,12} *\| *)?(?P<role>(?i:client|server)) *\| *(?P<status>[^|\s]
    [^|\n]{0,30}?) *\|(?: *(?P<tls>[A-Za-z]{3,12}) *\|)?
says: rank {own} ({own_ip}) waits for rank {peer} ({peer_ip}), as {role}: {status}
says: the port of the far end is {port}
says: TLS of this card: {tls}; it must be equal at both ends
""")._replace(
        example="[ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]   |  192.168.7.6(10)   | "
        " 16666  |   192.168.7.5(9)   |  3234403008  |  client  | time out |   DISABLE  | LinkInfo",
        fact=_row,
        causes=_FAR_END,
        tells_apart=_APART,
        fix=_FIX,
    ),
    known(r"""frame EI0006
part of the table of links that were not set up (LINK_ERROR_INFO); its rows name both ends
line: the connection failure between this device and (?:the )?target device
mention: LINK_ERROR_INFO
mention: \| *comm error, ?device ?\[(?P<device>[0-9]{1,6})\]
mention: \| *dest_ip\((?:user_)?rank
mention: the connection between this device and the target device is abnormal
mention: an exception occurred at the target device
mention: the time difference between the execution of hcom on this device
mention: Continue to analyze the fault based on the logs of srcRank and dstRank\.? *$
mention: If the link setup timeout is reported on both ends
mention: \](?:\w{1,40}\])? *\|?--------[-|]*$
mention: \](?:\w{1,40}\])? *________[_|]*$
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]the connection failure between this
    device and target device may be due to the following reasons:
says: the card of this process is {device}
fix: read the rows of the table: the far end is dest_ip(rank)
""")._replace(fact=_no_link, causes=_FAR_END, tells_apart=_APART),
    known(r"""pointer EI0006
HCCL's own detector names two cards that cannot reach each other
line: srcRank ?\(server (?P<own>[^\s(),]{1,80}), ?device ID (?P<own_card>[0-9]{1,6})\) fails to connect to dstRank ?\(se
    rver (?P<peer>[^\s(),]{1,80}), ?device ID (?P<peer_card>[0-9]{1,6})\)
line: srcRank ?\[(?P<own>[^\]/\n]{1,80})/(?P<own_card>[0-9]{1,6})\] connect dest(?:Rank)? ?\[(?P<peer>[^\]/\n]{1,80})/
    (?P<peer_card>[0-9]{1,6})\] fail
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]This node (server 10.1.2.4, device ID
    1) detects that srcRank (server 10.1.2.4, device ID 1) fails to connect to dstRank (server 10.1.2.5, device ID 10).
    Continue
says: card {own_card} of {own} waits for card {peer_card} of {peer}
cause: the far end ended, hangs or never called: see its own log, if it has one
cause: both ends report this: the network between them, TLS, or super pods that do not reach each other
apart: the log of the far end; if all pairs name one server, that server or its switch
""")._replace(fact=_detected, fix=_FIX),
    known(r"""frame EI0006
the heading of what HCCL's own detector found; the lines below name the pairs
line: CONNECT TIMEOUT DETECT RESULT
line: DETECT EVENT LIST
line: DETECT EVENT ?\[
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78]========== CONNECT TIMEOUT DETECT
    RESULT ==========
fix: read the lines below: srcRank waits for dstRank
""")._replace(causes=_FAR_END),
    known("""pointer EI0006 needs_context
HCCL's own detector found no broken connection: the ranks run different operators, or one was late
line: No abnormal periods? (?:were|was) discovered
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]No abnormal periods were discovered
cause: ranks called different operators: compare the tags of `Alloc transports failed` over the ranks
cause: a rank called later than HCCL_CONNECT_TIMEOUT after the others
apart: grep -rh "Alloc transports failed" */debug/plog: all tags must be equal
fix: make all ranks run the same operators; give late ranks time with HCCL_CONNECT_TIMEOUT=600
"""),
    known(r"""pointer EI0009
a link between two cards could not be built
line: crea(?:te|k)Link para: ?rank ?\[[0-9]{1,8}\]-localUserrank ?\[(?P<own>[0-9]{1,10})\]-localIpAddr ?\[(?P<own_at>
    [^\]\n]{0,100})\], ?(?:dst_rank|remoteRank|dstRank) ?\[[0-9]{1,8}\]-remoteUserrank ?\[(?P<peer>[0-9]{1,10})\]-
    (?:remoteIpAddr|remote_ip_addr) ?\[(?P<peer_at>[^\]\n]{0,100})\](?:[^\n]{0,200}?tag ?\[(?P<tag>[^\]\n]{1,160}))?
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]Transport init error! createLink
    para:rank[1]-localUserrank[5]-localIpAddr[10.1.2.4/1], remoteRank[0]-remoteUserrank[6]-remoteIpAddr[10.1.2.5/0],
    linkMode[1], tag[AllReduce_10.1.2.3%eth0_60000_0_1750000000123456]
says: rank {own} (host/card {own_at}) waits for rank {peer} (host/card {peer_at})
says: the operator is {tag}
""")._replace(fact=_link_failed, causes=_FAR_END, tells_apart=_APART, fix="look at the far end first; " + _FIX),
    known("""symptom EI0009
a connection between two cards could not be set up; the message names both. No rule of a table detects this: see the
    earliest error of all ranks, usually that of the other card
""")._replace(causes=_FAR_END, tells_apart=_APART, fix=_FIX),
    known(r"""result
the other end closed a connection of HCCL
line: errNo\[0x0{0,12}50[01]0{0,6}0[dD]\]
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12]
    [78][Recv][RaSocket]errNo[0x000000000500000d] the connection is closed
cause: the process at the other end ended, or gave up after its own error
apart: the log of the far end at this second
fix: correct the far end
""")._replace(codes=("HcclResult 13",), fact=_peer_closed),
    known(r"""symptom needs_context
the other end closed the connection: its own log has the reason, often in the same second
line: \brecv fail(?:ed)?\b
line: socket recv error
line: peer (?:has )?closed
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78]recv fail, the peer may have ended
cause: the process at the other end ended, or gave up after its own error
apart: the log of the far end at this second
fix: correct the far end
""")._replace(codes=("HcclResult 13",)),
    known(r"""symptom EI0006 vague
the links of an operator could not be set up
line: Alloc transports failed, ?tag ?\[(?P<tag>[^\]\n]{1,200})\]
line: AllocAlgResource failed, ?algName ?=? ?\[(?P<tag>[^\]\n]{1,120})\]
line: AllocAlgResource failed
line: \[InitChannelStage\]\[Timeout\]
line: Wait links establish completed failed
line: LinksEstablishCompleted\] ?is failed
line: Transport init error!?
line: [cC]reate [dD]est(?:Link)? [eE]rror
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78]Alloc transports failed,
    tag[AllReduce_g]
says: the operator is {tag}; it must be the same on all ranks
apart: the lines above: LINK_ERROR_INFO and createLink name the far end
""")._replace(causes=_FAR_END, fix=_FIX),
)
