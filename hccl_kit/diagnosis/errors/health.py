"""Who stopped: heartbeats of the cluster, and packets that were lost between two cards."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import KnownError

_STAGE = "an operator runs; HCCL's heartbeats between ranks"
_LOST = (
    "its process ended or was killed: its own log, or dmesg, has the reason",
    "the network between the two is broken: then both ends report the other as lost",
)
_STUCK = (
    "its process stands still: a deadlock, a slow save or load, a debugger",
    "its card does not finish an operator, because it waits for a third rank",
)
_CQE = (
    "the process at the other end ended before: then its log is earlier",
    "the link of a port flapped, or the network between the two loses packets",
    "HCCL_RDMA_TIMEOUT and HCCL_RDMA_RETRY_CNT are too small for this network",
)
_CQE_APART = "the peer's log before this time; hccn_tool -i N -link_stat -g on both: `link down count` and its time"
_CQE_FIX = "correct what ended the peer; else the port, cable or switch between the two"

ROWS: tuple[KnownError, ...] = (
    KnownError(
        "HCCL concludes which card broke the job: its heartbeat stopped",
        "pointer",
        (),
        (
            r"Cluster Exception Location ?\[IP/ID\] ?: ?\[(?P<card>[^\]\n]{1,100})\], ?Arrival Time ?: ?\[(?P<time>[^"
            r"\]\n]{1,40})\]"
            r"(?:, ?Discoverer ?: ?\[(?P<reporter>[^\]\n]{1,100})\])?, ?ExceptionType ?: ?\[(?:Heartbeat )?Lost",
            r"server ?: ?(?P<card>[^\s,\n]{1,80}/[0-9]{1,4}), ?server ?: ?(?P<reporter>[^\s,\n]{1,80}/[0-9]{1,4}), ?H"
            r"eartbeat Lost "
            r"Occurred",
            r"serverId ?\[(?P<server>[^\]\n]{1,80})\], ?deviceId ?\[(?P<device>[^\]\n]{1,40})\],? ?Heartbeat Lost Occ"
            r"urred",
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
        fix="correct what ended that process; if both ends report each other, the network between them",
        stage=_STAGE,
    ),
    KnownError(
        "HCCL concludes which card broke the job: its process stands still",
        "pointer",
        (),
        (
            r"Cluster Exception Location ?\[IP/ID\] ?: ?\[(?P<card>[^\]\n]{1,100})\], ?Arrival Time ?: ?\[(?P<time>[^"
            r"\]\n]{1,40})\]"
            r"(?:, ?Discoverer ?: ?\[(?P<reporter>[^\]\n]{1,100})\])?, ?ExceptionType ?: ?\[[Ss]tuck",
            r"serverId ?\[(?P<server>[^\]\n]{1,80})\], ?deviceId ?\[(?P<device>[^\]\n]{1,40})\],? ?[Ss]tuck Occurred",
            r"[Ss]tuck Occurred",
        ),
        says=(
            "the card (host/number) is {card}",
            "the card is {device} of {server}",
            "seen by {reporter}",
            "at {time}; a standstill is seen 1/3 to 2/3 of HCCL_EXEC_TIMEOUT after it began",
        ),
        causes=_STUCK,
        tells_apart="py-spy dump --pid PID on that host; if all ranks are named, they wait for each other: compare"
        " operators",
        fix="correct what holds that process; if all are stuck, the operators that differ between ranks",
        stage=_STAGE,
    ),
    KnownError(
        "HCCL concludes which card broke the job: packets to it were lost (error CQE)",
        "pointer",
        ("EI0013",),
        (
            r"Cluster Exception Location ?\[IP/ID\] ?: ?\[(?P<card>[^\]\n]{1,100})\], ?Arrival Time ?: ?\[(?P<time>[^"
            r"\]\n]{1,40})\]"
            r"(?:, ?Discoverer ?: ?\[(?P<reporter>[^\]\n]{1,100})\])?, ?ExceptionType ?: ?\[[Ee]rror [Cc][Qq][Ee]",
            r"[Ee]rror [Cc][Qq][Ee] Occurred",
        ),
        says=("the card (host/number) is {card}", "seen by {reporter}", "at {time}, by the clock of the reporter"),
        causes=_CQE,
        tells_apart=_CQE_APART,
        fix=_CQE_FIX,
        stage=_STAGE,
    ),
    KnownError(
        "HCCL's heartbeats name a card that broke the job",
        "pointer",
        (),
        (
            r"Cluster Exception Location ?\[IP/ID\] ?: ?\[(?P<card>[^\]\n]{1,100})\](?:, ?Arrival Time ?: ?\[(?P<time"
            r">[^\]\n]{1,40})\])?",
            r"abnormal device\(s\)",
        ),
        says=("the card (host/number) is {card}", "at {time}"),
        causes=(*_LOST, *_STUCK),
        tells_apart="the log of that card's process just before that time",
        fix="correct what stopped that process",
        stage=_STAGE,
    ),
    KnownError(
        "a heartbeat: a rank reports that another one is lost, stuck, or loses packets",
        "pointer",
        (),
        (
            r"crimer rank ?\[(?P<card>[^\]\n]{1,100})\],? ?(?:status ?\[(?P<status>[^\]\n]{1,30})\],? ?)?by informer"
            r" rank ?"
            r"\[(?P<reporter>[^\]\n]{1,100})\]",
            r"crimer rank ?\[(?P<card>[^\]\n]{1,100})\](?: ?status ?\[(?P<status>[^\]\n]{1,30})\])?",
            r"\[HCCL_TRACE\]rank ?\[[^\]\n]{1,100}\]: ?rank ?\[(?P<card>[^\]\n]{1,100})\] ?status ?\[(?P<status>[^\]"
            r"\n]{1,30})\] ?by "
            r"rank ?\[(?P<reporter>[^\]\n]{1,100})\]",
        ),
        says=(
            "card {card} (host/number) is named: read the log of its process first",
            "its status is {status}: LOST no heartbeat for 30 s, STUCK an operator stands still, ERROR CQE packets"
            " lost",
            "reported by {reporter}",
        ),
        causes=(*_LOST, *_STUCK[:1]),
        tells_apart="events near the standstill are the cause, those after the first exit are echoes",
        fix="correct what stopped that process; if both ends report each other, the network between them",
        stage=_STAGE,
    ),
    KnownError(
        "packets over RoCE were lost while the job ran; the message names both ends. No rule of a table"
        " detects this: a rank died before, or the network between the cards is interrupted",
        "pointer",
        ("EI0013",),
        causes=_CQE,
        tells_apart=_CQE_APART,
        fix=_CQE_FIX,
        stage=_STAGE,
    ),
    KnownError(
        "packets over the unified bus of Atlas 950 were lost while the job ran; the message names both ends. No"
        " rule of a table detects this: a rank died before, a link is interrupted, or a card is faulty",
        "pointer",
        ("EI0018",),
        causes=(*_CQE[:2], "the memory or the bus unit of one card is faulty"),
        tells_apart="the peer's log before this time; npu-smi info -t health -i N on both",
        fix="correct what ended the peer; else the link; a faulty card must be replaced",
        stage=_STAGE,
    ),
    KnownError(
        "packets between two cards were lost although they were sent again (error CQE): the far end stopped to answer",
        "pointer",
        ("EI0013", "EI0018"),
        (
            r"error CQE occurred during operator execution\.? ?Local information: ?server (?P<own>[^\s,]{1,80}), ?dev"
            r"ice ID "
            r"(?P<own_card>[^\s,]{1,20}), ?device IP (?P<own_ip>[^\s,]{1,80}?)\.? Peer information: ?server (?P<peer>"
            r"[^\s,]{1,80}), ?"
            r"device ID (?P<peer_card>[^\s,]{1,20}), ?device IP (?P<peer_ip>[^\s,]{1,80}?)\.?(?:\s|$)",
            r"cqe err(?:or)? status ?\[(?P<status>[0-9]{1,4})\], ?time ?: ?\[(?P<time>[^\]\n]{1,40})\], ?localInfo"
            r" ?\{server ?"
            r"\[(?P<own>[^\]\n]{0,80})\], ?deviceId ?\[(?P<own_card>[^\]\n]{0,40})\], ?deviceIp ?\[(?P<own_ip>[^\]\n"
            r"]{0,80})\]\}, ?"
            r"remoteI\w{1,4} ?\{server ?\[(?P<peer>[^\]\n]{0,80})\], ?deviceId ?\[(?P<peer_card>[^\]\n]{0,40})\], ?de"
            r"viceIp ?"
            r"\[(?P<peer_ip>[^\]\n]{0,80})\]",
            r"cqe err(?:or)? status ?\[(?P<status>[0-9]{1,4})\](?:, ?time ?: ?\[(?P<time>[^\]\n]{1,40})\])?(?:[^\n]{0"
            r",20}?ip ?: ?"
            r"\[(?P<peer_ip>[^\]\n]{1,80})\])?",
            r"error cqe status ?: ?(?P<status>0x[0-9a-fA-F]{1,8})",
            r"failed CQE status ?\[(?P<status>[0-9]{1,4})\]",
            r"\bROCE CQE ERROR\b",
            r"Error ROCE CQE",
            r"Execution_Error_(?:ROCE|UB)_CQE",
        ),
        says=(
            "card {own_card} of {own} ({own_ip}) sent to card {peer_card} of {peer} ({peer_ip}): look at {peer} first",
            "the far end is {peer_ip}",
            "the status is {status}; 12 (and 0x15 of the driver) means that all repetitions were used up",
            "at {time}",
        ),
        causes=_CQE,
        tells_apart=_CQE_APART,
        fix=_CQE_FIX,
        stage=_STAGE,
    ),
    KnownError(
        "words of a lost packet, dumped by the driver; the line with `cqe error status` names both ends",
        "frame",
        ("EI0013",),
        (r"dump_err_cqe",),
        causes=_CQE,
        fix='look for "cqe error status" or EI0013 near this line',
        stage=_STAGE,
    ),
    KnownError(
        "the history of the link of a card's port; while it is down, packets are lost (EI0013)",
        "fact",
        (),
        (
            r"\[devid (?P<card>[0-9]{1,4})\] ?link down count +: ?(?P<count>[0-9]{1,8})",
            r"\[devid (?P<card>[0-9]{1,4})\] +(?P<time>\w{3} \w{3} +[0-9: ]{13,16})\s+LINK DOWN",
            r"\[devid (?P<card>[0-9]{1,4})\] ?(?:current time|link up count|link change records|  .{10,30}LINK UP)",
        ),
        says=("card {card} lost its link {count} times", "card {card} lost its link at {time}", "card {card}"),
        causes=("the cable, the optical module, or the port of the switch",),
        fix="compare the time with that of the error; change cable or module",
    ),
)
