"""Who stopped: heartbeats of the cluster, and packets that were lost between two cards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from hccl_kit.diagnosis.errors.message import LogMessage, address, card, rank, server
from hccl_kit.diagnosis.errors.row import in_stage, known
from hccl_kit.diagnosis.facts import Card, ErrorCqe, Fact, Heartbeat, Located, Lost
from hccl_kit.diagnosis.moments import time_of

_STAGE = "an operator runs; HCCL's heartbeats between ranks"
_LOST = (
    "its process ended or was killed: its own log, or dmesg, has the reason",
    "the network between the two is broken: then both ends report the other as lost",
)
_STUCK = (
    "its process is stuck: a deadlock, a slow save or load, a debugger",
    "its card does not finish an operator, because it waits for a third rank",
)
_CQE = (
    "the process at the other end ended before: then its log ends earlier",
    "the link of a port flapped, or the network between the two loses packets",
    "HCCL_RDMA_TIMEOUT and HCCL_RDMA_RETRY_CNT are too small for this network",
)
_CQE_APART = "the peer's log before this time; hccn_tool -i N -link_stat -g on both: `link down count` and its time"
_CQE_FIX = "find out why the peer ended; if it did not, check the port, cable or switch between the two"


def _concluded_of(status: str) -> tuple[str, ...]:
    """HCCL's conclusion about a card in three releases, the newest first, and without any values."""
    return (
        r"Cluster Exception Location ?\[IP/ID\] ?: ?\[(?P<card>[^\]\n]{1,255})\], ?Arrival Time ?: ?"
        r"\[(?P<time>[^\]\n]{0,40})\],?(?: ?Discoverer ?: ?\[(?P<reporter>[^\]\n]{1,255})\],)? ?ExceptionType ?: ?"
        rf"\[{status}",
        r"serverId ?\[(?P<server>[^\]\n]{1,255})\], ?deviceId ?\[(?P<device>[^\]\n]{1,40})\],? ?"
        + f"{status} Occurred",
        r"server ?: ?(?P<card>[^\s,/\n]{1,255}/[0-9]{1,6}), ?server ?: ?(?P<reporter>[^\s,/\n]{1,255}/[0-9]{1,6}), ?"
        rf"{status} Occurred",
        f"{status} Occurred",
    )


def _status(text: str) -> Lost:
    text = text.lower()
    return "error cqe" if "cqe" in text else "stuck" if "stuck" in text else "lost"


def _end(text: str | None) -> tuple[Card, int | None]:
    """A card or a rank that stands in brackets."""
    if text is None:
        return Card(), None
    named = rank(text.strip())
    return (Card(), named) if named is not None else (card(text.strip()), None)


def _event(message: LogMessage) -> Iterator[Fact]:
    status, reporter = message.value("status"), message.value("reporter")
    if status and reporter:
        yield Heartbeat(*_end(message.value("card")), _end(reporter)[1], _status(status), False)


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _arrival(text: str | None) -> float | None:
    """The time that C's ctime prints, whatever the locale of this process is."""
    match = re.fullmatch(
        r"\w{3} (\w{3}) {1,2}([0-9]{1,2}) ([0-9]{2}:[0-9]{2}:[0-9]{2}) ([0-9]{4})", (text or "").strip()
    )
    if not match or match[1] not in _MONTHS:
        return None
    return time_of(f"{match[4]}-{_MONTHS.index(match[1]) + 1:02}-{match[2]:0>2} {match[3]}", None, None)


def _concluded(message: LogMessage, *, status: Lost) -> Iterator[Fact]:
    if message.value("card"):
        culprit, culprit_rank = _end(message.value("card"))
    elif message.value("server"):
        culprit, culprit_rank = Card(server(message.value("server")), rank(message.value("device"))), None
    else:
        return
    reporter, arrival = _end(message.value("reporter"))[1], _arrival(message.value("time"))
    yield Heartbeat(culprit, culprit_rank, reporter, status, True, arrival)


def _lost_packets(message: LogMessage) -> Iterator[Fact]:
    if message.value("peer_card"):
        ip = (message.value("peer_ip") or "").rstrip(".")
        yield ErrorCqe(Card(server(message.value("peer")), rank(message.value("peer_card")), address(ip)))
        yield Located(server(message.value("own")), None, rank(message.value("own_card")))
        return
    remote = re.search(r"remote ?(?:IP|Info) ?\{([^{}]{0,400})\}|\bip:\[([^\[\]]{1,80})\]", message.text, re.IGNORECASE)
    if remote and message.value("status"):
        yield ErrorCqe(_card_in(remote[1]) if remote[1] is not None else Card(address=address(remote[2])))


def _card_in(text: str) -> Card:
    """A card by any of server, number and address, in braces."""

    def value(name: str) -> str | None:
        match = re.search(rf"\b{name} ?:? ?\[([^\[\]]{{1,255}})\]", text, re.IGNORECASE)
        return match[1] if match else None

    ip = address(value("(?:deviceIp|ip)"))
    if ip is None and re.fullmatch(r" ?\[?[0-9a-fA-F.:]{3,45}\]? ?", text):
        ip = address(text.strip(" []"))
    return Card(server(value("server(?:Id)?")), rank(value("deviceId")), ip)


ROWS = in_stage(
    _STAGE,
    known("""pointer
HCCL concludes which card broke the job: its heartbeat stopped
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]Cluster Exception
    Location[IP/ID]:[10.1.2.5/2], Arrival Time:[Thu Oct 23 17:25:58 2025], Discoverer:[10.1.2.6/3],
    ExceptionType:[Heartbeat Lost Occurred], Possible Reason:1. Network
says: the card (host/number) is {card}
says: the card is {device} of {server}
says: seen by {reporter}
says: at {time}, by the clock of the reporter
apart: the log of that card's process just before that time; ps and dmesg on its host
fix: find out why that process ended; if both ends report each other, check the network between them
""")._replace(patterns=_concluded_of("(?:Heartbeat )?Lost"), fact=partial(_concluded, status="lost"), causes=_LOST),
    known("""pointer
HCCL concludes which card broke the job: its process is stuck
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]Cluster Exception
    Location[IP/ID]:[10.1.2.5/2], Arrival Time:[Thu Oct 23 17:25:58 2025], Discoverer:[10.1.2.6/3], ExceptionType:[Stuck
    Occurred], Possible Reason:1. Network
says: the card (host/number) is {card}
says: the card is {device} of {server}
says: seen by {reporter}
says: at {time}; it is detected 1/3 to 2/3 of HCCL_EXEC_TIMEOUT after it began
apart: py-spy dump --pid PID on that host; if all ranks are named, they wait for each other: compare operators
fix: find out what blocks that process; if all are stuck, find the operators that differ between ranks
""")._replace(patterns=_concluded_of("[Ss]tuck"), fact=partial(_concluded, status="stuck"), causes=_STUCK),
    known("""pointer EI0013
HCCL concludes which card broke the job: packets to it were lost (error CQE)
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]Cluster Exception
    Location[IP/ID]:[10.1.2.5/2], Arrival Time:[Thu Oct 23 17:25:58 2025], Discoverer:[10.1.2.6/3], ExceptionType:[Error
    cqe Occurred], Possible Reason:1. Network
says: the card (host/number) is {card}
says: seen by {reporter}
says: at {time}, by the clock of the reporter
""")._replace(
        patterns=_concluded_of("[Ee]rror [Cc][Qq][Ee]"),
        fact=partial(_concluded, status="error cqe"),
        causes=_CQE,
        tells_apart=_CQE_APART,
        fix=_CQE_FIX,
    ),
    known(r"""pointer
HCCL's heartbeats name a card that broke the job
line: Cluster Exception Location ?\[IP/ID\] ?: ?\[(?P<card>[^\]\n]{1,100})\](?:, ?Arrival Time ?: ?\[(?P<time>
    [^\]\n]{1,40})\])?
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78]Cluster Exception
    Location[IP/ID]:[10.1.2.5/2], Arrival Time:[Thu Oct 23 17:25:58 2025], ExceptionType:[Other]
says: the card (host/number) is {card}
says: at {time}
apart: the log of that card's process just before that time
fix: find out why that process stopped
""")._replace(causes=(*_LOST, *_STUCK)),
    known(r"""frame
the heading of the cards that HCCL's heartbeats name; the lines below it (Cluster Exception Location) have them
line: abnormal device\(s\)
example: there are(is) 2 abnormal device(s):
apart: the lines below it
fix: read the log of the process of the card that is named there
""")._replace(causes=(*_LOST, *_STUCK)),
    known(r"""pointer
a heartbeat: a rank reports that another one is lost, stuck, or loses packets
line: crimer rank ?\[(?P<card>[^\]\n]{1,100})\],? ?(?:status ?\[(?P<status>[^\]\n]{1,30})\],? ?)?by informer rank ?\[
    (?P<reporter>[^\]\n]{1,100})\]
line: \[HCCL_TRACE\]rank ?\[[^\]\n]{1,100}\]: ?rank ?\[(?P<card>[^\]\n]{1,100})\] ?status ?\[(?P<status>
    [^\]\n]{1,30})\] ?by rank ?\[(?P<reporter>[^\]\n]{1,100})\]
mention: crimer rank ?\[(?P<card>[^\]\n]{1,100})\](?: ?status ?\[(?P<status>[^\]\n]{1,30})\])?
example: [INFO] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78][HeartbeatAbnormal]local rank
    [10.1.2.4/1]: crimer rank [10.1.2.5/2] status[STUCK] by informer rank [10.1.2.6/3]
says: card {card} (host/number) is named: read the log of its process first
says: its status is {status}: LOST no heartbeat for 30 s, STUCK an operator makes no progress, ERROR CQE packets lost
says: reported by {reporter}
apart: events near the time of the stall show the cause, those after the first exit are consequences
fix: find out why that process stopped; if both ends report each other, check the network between them
""")._replace(fact=_event, causes=(*_LOST, *_STUCK[:1])),
    known("""pointer EI0013
packets over RoCE were lost while the job ran; the message names both ends. No rule of a table detects this: a rank died
    before, or the network between the cards is interrupted
""")._replace(causes=_CQE, tells_apart=_CQE_APART, fix=_CQE_FIX),
    known("""pointer EI0018
packets over the unified bus of Atlas 950 were lost while the job ran; the message names both ends. No rule of a table
    detects this: a rank died before, a link is interrupted, or a card is faulty
apart: the peer's log before this time; npu-smi info -t health -i N on both
fix: find out why the peer ended; if it did not, check the link; a faulty card must be replaced
""")._replace(causes=(*_CQE[:2], "the memory or the bus unit of one card is faulty")),
    known(r"""pointer EI0013 EI0018
packets between two cards were lost although they were retransmitted (error CQE): the far end stopped answering
line: error CQE occurred during operator execution\.? ?Local information: ?server:? (?P<own>
    [^\s,]{1,80}), ?device ID:? (?P<own_card>[^\s,]{1,20}), ?device IP:? (?P<own_ip>
    [^\s,]{1,80}?)\.? Peer information: ?server:? (?P<peer>[^\s,]{1,80}), ?device ID:? (?P<peer_card>
    [^\s,]{1,20}), ?device IP:? (?P<peer_ip>[^\s,]{1,80}?)\.?(?:\s|$)
line: cqe err(?:or)? status ?\[(?P<status>[0-9]{1,4})\], ?time ?: ?\[(?P<time>[^\]\n]{1,40})\], ?localInfo ?\{server ?\[
    (?P<own>[^\]\n]{0,80})\], ?deviceId ?\[(?P<own_card>[^\]\n]{0,40})\], ?deviceIp ?\[(?P<own_ip>
    [^\]\n]{0,80})\]\}, ?remoteI\w{1,4} ?\{server ?\[(?P<peer>[^\]\n]{0,80})\], ?deviceId ?\[(?P<peer_card>
    [^\]\n]{0,40})\], ?deviceIp ?\[(?P<peer_ip>[^\]\n]{0,80})\]
line: cqe err(?:or)? status ?\[(?P<status>[0-9]{1,4})\](?:, ?time ?: ?\[(?P<time>[^\]\n]{1,40})\])?(?:
    [^\n]{0,20}?ip ?: ?\[(?P<peer_ip>[^\]\n]{1,80})\])?
mention: error cqe status ?: ?(?P<status>0x[0-9a-fA-F]{1,8})
mention: failed CQE status ?\[(?P<status>[0-9]{1,4})\]
mention: \bROCE CQE ERROR\b
mention: Error ROCE CQE
mention: Execution_Error_(?:ROCE|UB)_CQE
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]cqe error status[12], time:[2025-06-15
    15:06:40.1],localInfo{server[10.1.2.4],deviceId[1],deviceIp[192.168.7.5]},
    remoteIP{server[10.1.2.5],deviceId[2],deviceIp[192.168.7.6]}
says: card {own_card} of {own} ({own_ip}) sent to card {peer_card} of {peer} ({peer_ip}): look at {peer} first
says: the far end is {peer_ip}
says: the status is {status}; 12 (and 0x15 of the driver) means that all retransmissions failed
says: at {time}
""")._replace(fact=_lost_packets, causes=_CQE, tells_apart=_CQE_APART, fix=_CQE_FIX),
    known("""frame EI0013
the completion entry (CQE) of a lost packet, dumped by the driver; the line with `cqe error status` names both ends
line: dump_err_cqe
example: dump_err_cqe(7) : CQ(0x10) CQE(0x5)
fix: look for "cqe error status" or EI0013 near this line
""")._replace(causes=_CQE),
)
