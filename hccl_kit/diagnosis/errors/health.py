"""Who stopped: heartbeats of the cluster, and packets that were lost between two cards."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import KnownError, in_stage

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

ROWS = in_stage(
    _STAGE,
    KnownError(
        "HCCL concludes which card broke the job: its heartbeat stopped",
        role="pointer",
        patterns=(
            r"Cluster Exception Location ?\[IP/ID\] ?: ?\[(?P<card>[^\]\n]{1,100})\], ?Arrival Time ?: ?\["
            r"(?P<time>[^\]\n]{1,40})\](?:, ?Discoverer ?: ?\[(?P<reporter>[^\]\n]{1,100})\])?, ?ExceptionType ?:"
            r" ?\[(?:Heartbeat )?Lost",
            r"server ?: ?(?P<card>[^\s,\n]{1,80}/[0-9]{1,4}), ?server ?: ?(?P<reporter>[^\s,\n]{1,80}/[0-9]{1,4}),"
            r" ?Heartbeat Lost Occurred",
            r"serverId ?\[(?P<server>[^\]\n]{1,80})\], ?deviceId ?\[(?P<device>[^\]\n]{1,40})\],? ?Heartbeat Lost"
            r" Occurred",
            r"Heartbeat Lost Occurred",
        ),
        says=(
            "the card (host/number) is {card}",
            "the card is {device} of {server}",
            "seen by {reporter}",
            "at {time}, by the clock of the reporter",
        ),
        causes=_LOST,
        tells_apart="the log of that card's process just before that time; ps and dmesg on its host",
        fix="find out why that process ended; if both ends report each other, check the network between them",
    ),
    KnownError(
        "HCCL concludes which card broke the job: its process is stuck",
        role="pointer",
        patterns=(
            r"Cluster Exception Location ?\[IP/ID\] ?: ?\[(?P<card>[^\]\n]{1,100})\], ?Arrival Time ?: ?\["
            r"(?P<time>[^\]\n]{1,40})\](?:, ?Discoverer ?: ?\[(?P<reporter>[^\]\n]{1,100})\])?, ?ExceptionType ?:"
            r" ?\[[Ss]tuck",
            r"serverId ?\[(?P<server>[^\]\n]{1,80})\], ?deviceId ?\[(?P<device>[^\]\n]{1,40})\],? ?[Ss]tuck Occurred",
            r"[Ss]tuck Occurred",
        ),
        says=(
            "the card (host/number) is {card}",
            "the card is {device} of {server}",
            "seen by {reporter}",
            "at {time}; it is detected 1/3 to 2/3 of HCCL_EXEC_TIMEOUT after it began",
        ),
        causes=_STUCK,
        tells_apart="py-spy dump --pid PID on that host; if all ranks are named, they wait for each other: compare"
        " operators",
        fix="find out what blocks that process; if all are stuck, find the operators that differ between ranks",
    ),
    KnownError(
        "HCCL concludes which card broke the job: packets to it were lost (error CQE)",
        role="pointer",
        codes=("EI0013",),
        patterns=(
            r"Cluster Exception Location ?\[IP/ID\] ?: ?\[(?P<card>[^\]\n]{1,100})\], ?Arrival Time ?: ?\["
            r"(?P<time>[^\]\n]{1,40})\](?:, ?Discoverer ?: ?\[(?P<reporter>[^\]\n]{1,100})\])?, ?ExceptionType ?:"
            r" ?\[[Ee]rror [Cc][Qq][Ee]",
            r"[Ee]rror [Cc][Qq][Ee] Occurred",
        ),
        says=("the card (host/number) is {card}", "seen by {reporter}", "at {time}, by the clock of the reporter"),
        causes=_CQE,
        tells_apart=_CQE_APART,
        fix=_CQE_FIX,
    ),
    KnownError(
        "HCCL's heartbeats name a card that broke the job",
        role="pointer",
        patterns=(
            r"Cluster Exception Location ?\[IP/ID\] ?: ?\[(?P<card>[^\]\n]{1,100})\](?:, ?Arrival Time ?: ?\["
            r"(?P<time>[^\]\n]{1,40})\])?",
            r"abnormal device\(s\)",
        ),
        says=("the card (host/number) is {card}", "at {time}"),
        causes=(*_LOST, *_STUCK),
        tells_apart="the log of that card's process just before that time",
        fix="find out why that process stopped",
    ),
    KnownError(
        "a heartbeat: a rank reports that another one is lost, stuck, or loses packets",
        role="pointer",
        patterns=(
            r"crimer rank ?\[(?P<card>[^\]\n]{1,100})\],? ?(?:status ?\[(?P<status>[^\]\n]{1,30})\],? ?)?by informer"
            r" rank ?"
            r"\[(?P<reporter>[^\]\n]{1,100})\]",
            r"crimer rank ?\[(?P<card>[^\]\n]{1,100})\](?: ?status ?\[(?P<status>[^\]\n]{1,30})\])?",
            r"\[HCCL_TRACE\]rank ?\[[^\]\n]{1,100}\]: ?rank ?\[(?P<card>[^\]\n]{1,100})\] ?status ?\["
            r"(?P<status>[^\]\n]{1,30})\] ?by rank ?\[(?P<reporter>[^\]\n]{1,100})\]",
        ),
        says=(
            "card {card} (host/number) is named: read the log of its process first",
            "its status is {status}: LOST no heartbeat for 30 s, STUCK an operator makes no progress, ERROR CQE packets"
            " lost",
            "reported by {reporter}",
        ),
        causes=(*_LOST, *_STUCK[:1]),
        tells_apart="events near the time of the stall show the cause, those after the first exit are consequences",
        fix="find out why that process stopped; if both ends report each other, check the network between them",
    ),
    KnownError(
        "packets over RoCE were lost while the job ran; the message names both ends. No rule of a table"
        " detects this: a rank died before, or the network between the cards is interrupted",
        role="pointer",
        codes=("EI0013",),
        causes=_CQE,
        tells_apart=_CQE_APART,
        fix=_CQE_FIX,
    ),
    KnownError(
        "packets over the unified bus of Atlas 950 were lost while the job ran; the message names both ends. No"
        " rule of a table detects this: a rank died before, a link is interrupted, or a card is faulty",
        role="pointer",
        codes=("EI0018",),
        causes=(*_CQE[:2], "the memory or the bus unit of one card is faulty"),
        tells_apart="the peer's log before this time; npu-smi info -t health -i N on both",
        fix="find out why the peer ended; if it did not, check the link; a faulty card must be replaced",
    ),
    KnownError(
        "packets between two cards were lost although they were retransmitted (error CQE): the far end stopped"
        " answering",
        role="pointer",
        codes=("EI0013", "EI0018"),
        patterns=(
            r"error CQE occurred during operator execution\.? ?Local information: ?server (?P<own>[^\s,]{1,80}),"
            r" ?device ID (?P<own_card>[^\s,]{1,20}), ?device IP (?P<own_ip>[^\s,]{1,80}?)\.? Peer information:"
            r" ?server (?P<peer>[^\s,]{1,80}), ?device ID (?P<peer_card>[^\s,]{1,20}), ?device IP "
            r"(?P<peer_ip>[^\s,]{1,80}?)\.?(?:\s|$)",
            r"cqe err(?:or)? status ?\[(?P<status>[0-9]{1,4})\], ?time ?: ?\[(?P<time>[^\]\n]{1,40})\], ?localInfo"
            r" ?\{server ?\[(?P<own>[^\]\n]{0,80})\], ?deviceId ?\[(?P<own_card>[^\]\n]{0,40})\], ?deviceIp ?\["
            r"(?P<own_ip>[^\]\n]{0,80})\]\}, ?remoteI\w{1,4} ?\{server ?\[(?P<peer>[^\]\n]{0,80})\], ?deviceId ?\["
            r"(?P<peer_card>[^\]\n]{0,40})\], ?deviceIp ?\[(?P<peer_ip>[^\]\n]{0,80})\]",
            r"cqe err(?:or)? status ?\[(?P<status>[0-9]{1,4})\](?:, ?time ?: ?\[(?P<time>[^\]\n]{1,40})\])?"
            r"(?:[^\n]{0,20}?ip ?: ?\[(?P<peer_ip>[^\]\n]{1,80})\])?",
            r"error cqe status ?: ?(?P<status>0x[0-9a-fA-F]{1,8})",
            r"failed CQE status ?\[(?P<status>[0-9]{1,4})\]",
            r"\bROCE CQE ERROR\b",
            r"Error ROCE CQE",
            r"Execution_Error_(?:ROCE|UB)_CQE",
        ),
        says=(
            "card {own_card} of {own} ({own_ip}) sent to card {peer_card} of {peer} ({peer_ip}): look at {peer} first",
            "the far end is {peer_ip}",
            "the status is {status}; 12 (and 0x15 of the driver) means that all retransmissions failed",
            "at {time}",
        ),
        causes=_CQE,
        tells_apart=_CQE_APART,
        fix=_CQE_FIX,
    ),
    KnownError(
        "the completion entry (CQE) of a lost packet, dumped by the driver; the line with `cqe error status` names both"
        " ends",
        role="frame",
        codes=("EI0013",),
        patterns=(r"dump_err_cqe",),
        causes=_CQE,
        fix='look for "cqe error status" or EI0013 near this line',
    ),
)
