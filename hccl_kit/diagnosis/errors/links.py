"""Links between cards: ports of the card, links that are not set up in time, P2P, TLS, versions, arguments."""

from __future__ import annotations

from collections.abc import Mapping

from hccl_kit.diagnosis.errors.row import KnownError, in_stage

_STAGE = "links between cards, at the first call of an operator (HCCL_CONNECT_TIMEOUT, 120 s)"
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
_CARD_PORT = 'npu-smi info: processes on the card; grep -rh "listen on ip" ~/ascend/log/debug/plog'
_CARD_FIX = (
    "end the other process, or set HCCL_NPU_SOCKET_PORT_RANGE=auto (or ranges that do not overlap) on all ranks"
    " of both jobs"
)
_CARD_CAUSES = (
    "another process on the same card listens already, such as prefill and decode on one host",
    "a leftover process holds the card",
)
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

VERSIONS = (
    r"(?:(?:HCCL|hccl|CANN|The [\w ()-]{2,60}) versions are inconsistent|Inconsistent [\w ()-]{2,60} Versions)"
    r"[.:]? ?(?:tag ?\[[^\]\n]{0,200}\], ?)?"
    r"(?:[Tt]he )?local[ _](?:version(?: is)? ?)?\[?(?P<own>[^\n\]]{1,240}?)\]?,? (?:while the )?"
    r"remote[ _](?:version(?: is)? ?)?\[?(?P<other>[^\n\]]{1,240}?)(?:\]|\.?(?=\s*$)|\.(?=\s))"
)
"""EI0008 to its releases: 8.5.0 with a tag, 9.0.0 with `local version is`, newer ones with the package before it."""
OPERATORS_DIFFER = (
    r"check opinfo inconsistent\.? ?identifier ?\[(?P<group>[^\]\n]{0,200})\] ?index ?\[(?P<index>[0-9]{1,12})\],?"
    r" ?local ?\((?P<own>[^()\n]{0,240})\); ?remote ?\((?P<other>[^()\n]{0,240})\)"
)
"""What heartbeats of 9.x say of two ranks (hcomm, 2026-08): inconsistent_check of HCCL_DFS_CONFIG."""

ROWS = in_stage(
    _STAGE,
    KnownError(
        "a port of the card is in use, by default 16666. No rule of a table detects this: end the job that uses"
        ' it, or set another "device_port"',
        codes=("EI0020",),
        causes=_CARD_CAUSES,
        tells_apart=_CARD_PORT,
        fix=_CARD_FIX,
    ),
    KnownError(
        "a port of the card is taken: HCCL could not listen on it",
        codes=("EI0020", "EI0019"),
        patterns=(
            r"socket type ?\[[01]\], ?listen on ip ?\[(?P<ip>[^\]\n]{0,100})\][^\n]{0,30}?port ?\[(?P<port>[0-9]{1,5}"
            r")\] ?fail",
            r"listening for the NPU network adapter socket(?:[^\n]{0,60}?IP address (?P<ip>\S{1,80}) (?:and|add) port "
            r"(?P<port>[0-9]{1,5}))?",
        ),
        says=("card address {ip}, port {port}; timeouts that follow are consequences",),
        causes=_CARD_CAUSES,
        tells_apart=_CARD_PORT,
        fix=_CARD_FIX,
    ),
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
        causes=_FAR_END,
        tells_apart=_APART + "; the rank that reports something else, or nothing, is the one to look at",
        fix=_FIX,
    ),
    KnownError(
        "this rank timed out waiting for a link to another card",
        role="symptom",
        codes=("EI0006",),
        patterns=(
            r"wait socket establish timeout, ?role ?\[(?P<role>[01])\],? ?rank ?\[(?P<rank>[0-9]{1,8})\],? ?timeout ?"
            r"\[(?P<seconds>[0-9]{1,6}) ?s?\]",
            r"wait socket establish timeout",
            r"(?P<side>client|server) ?: ?device ?\[(?P<card>[0-9]{1,6})\],? ?rank ?\[(?P<rank>[0-9]{1,8})\],?"
            r" ?get s[oc]{2}ket timeout",
            r"get s[oc]{2}ket timeout, ?total ?\[",
        ),
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
            r"\| *(?P<peer_ip>[^\s|()]{2,80}) ?\((?P<peer>[0-9]{1,8})\) *\| *(?P<port>[0-9]{1,10}) *\| *(?P<own_ip>"
            r"[^\s|()]{2,80}) ?\((?P<own>[0-9]{1,8})\) *\| *[0-9]{1,12} *\| *(?P<role>client|server) *\| *"
            r"(?P<status>[^|\n]{1,30}?) *\|(?: *(?P<tls>[A-Za-z]{3,12}) *\|)?",
            r"\| *(?P<peer_ip>[^\s|()]{2,80}) ?\((?P<peer>[0-9]{1,8})\) *\| *(?P<own_ip>[^\s|()]{2,80}) ?"
            r"\((?P<own>[0-9]{1,8})\) *\| *(?P<role>client|server) *\| *(?P<status>[^|\n]{1,30}?) *\|",
        ),
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
        patterns=(
            r"LINK_ERROR_INFO",
            r"\| *comm error, ?device ?\[(?P<device>[0-9]{1,6})\]",
            r"\| *dest_ip\((?:user_)?rank",
            r"the connection failure between this device and (?:the )?target device",
            r"the connection between this device and the target device is abnormal",
            r"an exception occurred at the target device",
            r"the time difference between the execution of hcom on this device",
            r"Continue to analyze the fault based on the logs of srcRank and dstRank\.? *$",
            r"If the link setup timeout is reported on both ends",
            r"\](?:\w{1,40}\])? *\|?--------[-|]*$",
            r"\](?:\w{1,40}\])? *________[_|]*$",
        ),
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
        causes=_FAR_END,
        fix="read the lines below: srcRank waits for dstRank",
    ),
    KnownError(
        "HCCL's own detector found no broken connection: the ranks run different operators, or one was late",
        role="pointer",
        codes=("EI0006",),
        patterns=(r"No abnormal periods? (?:were|was) discovered", r"no abnormal (?:periods|events?) "),
        causes=(
            "ranks called different operators: compare the tags of `Alloc transports failed` over the ranks",
            "a rank called later than HCCL_CONNECT_TIMEOUT after the others",
        ),
        tells_apart='grep -rh "Alloc transports failed" */debug/plog: all tags must be equal',
        fix="make all ranks run the same operators; give late ranks time with HCCL_CONNECT_TIMEOUT=600",
        needs_context=True,
    ),
    KnownError(
        "a link between two cards could not be built",
        role="pointer",
        codes=("EI0009",),
        patterns=(
            r"createLink para: ?rank ?\[[0-9]{1,8}\]-localUserrank ?\[(?P<own>[0-9]{1,8})\]-localIpAddr ?"
            r"\[(?P<own_at>[^\]\n]{0,100})\], ?(?:dst_rank|remoteRank|dstRank) ?\[[0-9]{1,8}\]-remoteUserrank ?"
            r"\[(?P<peer>[0-9]{1,8})\]-(?:remoteIpAddr|remote_ip_addr) ?\[(?P<peer_at>[^\]\n]{0,100})\]"
            r"(?:[^\n]{0,200}?tag ?\[(?P<tag>[^\]\n]{1,160}))?",
        ),
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
        "the network port of a card has no link",
        codes=("EI0009", "EJ0002"),
        patterns=(
            r"Device (?P<card>[0-9]{1,6}) transport init error\.? ?Reason: ?[Tt]he network port is down",
            r"[Tt]he network port is down",
        ),
        says=("the card is {card}",),
        causes=(
            "a cable or optical module is unplugged or faulty, or the switch's port is off",
            "the card has no address",
        ),
        tells_apart="hccn_tool -i N -link -g; hccn_tool -i N -optical -g; hccn_tool -i N -ip -g; hccn_tool -i N"
        " -lldp -g",
        fix="bring the port up, or leave this card out of the job",
        needs_context=True,
        of_card=True,
    ),
    KnownError(
        "the network port of a card is down",
        codes=("EJ0002",),
        causes=(
            "a cable or optical module is unplugged or faulty, or the switch's port is off",
            "the card has no address",
        ),
        tells_apart="hccn_tool -i N -link -g; hccn_tool -i N -optical -g; hccn_tool -i N -ip -g",
        fix="bring the port up, or leave this card out of the job",
        of_card=True,
    ),
    KnownError(
        "an address of a card was refused when its network port was opened",
        codes=("EJ0004",),
        causes=("device_ip of the rank table is not the address of the card", "the card has no address"),
        tells_apart="hccn_tool -i N -ip -g",
        fix="write the address that the tool prints into the table, or set the address of the card",
    ),
    KnownError(
        "two cards of one server cannot reach each other directly (P2P), such as cards of the two halves of a"
        " server with 16; the message names them. No rule of a table detects this: use cards of one half, or set"
        " HCCL_INTRA_ROCE_ENABLE=1",
        codes=("EI0010",),
        causes=(
            "cards of the two halves of a server with 16 cards, or without a direct link",
            "a virtual machine or the BIOS (IOMMU, ACS) blocks P2P",
        ),
        tells_apart="npu-smi info -t topo",
        fix="use cards of one half, or HCCL_INTRA_ROCE_ENABLE=1 on all ranks",
    ),
    KnownError(
        "two cards of one server did not connect in time (P2P)",
        role="pointer",
        codes=("EI0006", "EI0010"),
        patterns=(
            r"connected p2p timeout, ?timeout ?: ?(?P<seconds>[0-9]{1,6}) ?s\.? ?local logicDevid ?: ?"
            r"(?P<own>[0-9]{1,6}), ?remote physic id ?: ?(?P<peer>[0-9]{1,6})",
            r"Wait\]\[P2PConnected\]",
            r"connected p2p timeout",
            r"Wait timeout for get P2P status",
        ),
        says=("this process (its card {own}) waited {seconds} s for physical card {peer} of the same server",),
        causes=(
            "the process of the other card ended or hangs, or never called",
            "the two cards have no direct link, or a virtual machine blocks P2P",
        ),
        tells_apart="the log of the process on the other card; npu-smi info -t topo",
        fix="correct the other process; without a direct link HCCL_INTRA_ROCE_ENABLE=1",
    ),
    KnownError(
        "the card does not have enough memory for HCCL's connections. No rule of a table detects this: end other"
        " processes on the card, or reduce the batch size",
        codes=("EI0011",),
        patterns=(
            r"Insufficient_Device_Memory\(EI0011\)(?:: ?Failed to allocate (?P<size>[^\n]{1,120}? )bytes of NPU"
            r" memory)?",
            r"Failed to allocate (?P<size>[^\n]{1,120}? )bytes of NPU memory",
        ),
        says=("it asked for {size}",),
        causes=("the model or the cache takes all memory of the card", "another process holds memory of the card"),
        tells_apart="npu-smi info: memory and processes of the card",
        fix="leave more memory free (batch size, cache share), use fewer RoCE links, or end the other process",
    ),
    KnownError(
        "the ranks have different parameters for one operator. No rule of a table detects this: check that all"
        " ranks run the same program with the same options",
        codes=("EI0005",),
        causes=_DIVERGED,
        tells_apart="HCCL_ENTRY_LOG_ENABLE=1, then compare the Entry-Hccl... lines of all ranks",
        fix="make all ranks call the same operators in the same order with the same sizes and options",
    ),
    KnownError(
        "two ranks called different operators, or one operator with different arguments",
        codes=("EI0005",),
        patterns=(
            r"CMD information (?P<field>\w{1,30}) check fail\.? ?local ?\[(?P<own>[^\]\n]{0,160})\], ?remote ?"
            r"\[(?P<other>[^\]\n]{0,160})\]",
            r"inconsistent between ranks ?:[^\n]{0,200}?\bparameter ?\[(?P<field>\w{1,40})\], ?local ?\[(?P<own>[^\]\n]"
            r"{0,160})\], ?remote ?\[(?P<other>[^\]\n]{0,160})\]",
            r"inconsistent between ranks ?: ?parameter (?P<field>\w{1,40}), ?local end (?P<own>[^,\n]{1,80}), ?remote"
            r" end "
            r"(?P<other>[^,\n]{1,80})",
            r"parameters of operator (?P<operator>\S{1,60}) are inconsistent between ranks, ?parameter "
            r"(?P<field>\S{1,40}) is (?P<own>[^\n]{1,80}?) on the local rank and (?P<other>[^\n]{1,80}?) on the"
            r" remote rank",
            OPERATORS_DIFFER,
            r"\bOp Inconsistent Occurred",
            r"arguments for collective communication are inconsistent between ranks",
            r"\[InitChannelStage\]\[ParameterConflict\]",
        ),
        says=(
            "{field} is {own} here and {other} at the far end",
            "operator {index} of {group} is {own} here and {other} at the far end",
            "the operator is {operator}",
        ),
        causes=_DIVERGED,
        tells_apart='the far end: the createLink line below; then "Entry-Hccl" lines with HCCL_ENTRY_LOG_ENABLE=1',
        fix="make all ranks call the same operators in the same order with the same sizes and options",
    ),
    KnownError(
        "the ranks run with different releases of CANN",
        codes=("EI0008",),
        causes=("one image or host has another CANN (toolkit, ops or HCCL)",),
        tells_apart="cat /usr/local/Ascend/ascend-toolkit/latest/version.cfg on every host and in every container",
        fix="install one release of CANN everywhere",
    ),
    KnownError(
        "the ranks run with different releases of HCCL",
        codes=("EI0008",),
        patterns=(
            VERSIONS,
            r"[Vv]ersions? (?:information )?check fail\w{0,2}\.? ?local(?: version)? ?\[(?P<own>[^\]\n]{0,80})\],?"
            r" ?remote(?: version)? ?\[(?P<other>[^\]\n]{0,80})\]",
            r"\[InitChannelStage\]\[VersionConflict\]",
            r"HCCL versions are inconsistent",
        ),
        says=("here {own}, at the far end {other}",),
        causes=("one image or host has another CANN",),
        tells_apart="cat /usr/local/Ascend/ascend-toolkit/latest/version.cfg on every host and in every container",
        fix="install one release of CANN everywhere",
        rules=("HK616",),
    ),
    KnownError(
        "the driver of the card lacks a function that HCCL calls: it is older than CANN needs",
        patterns=(r"this package does not support (?P<function>\w{1,60})[^\n]{0,60}please change new package",),
        says=("the function is {function}",),
        causes=("driver and firmware (HDK) are older than this release of CANN needs",),
        tells_apart="cat /usr/local/Ascend/driver/version.info; the release notes of CANN name its driver",
        fix="install the driver and firmware that the release notes of your CANN name",
    ),
    KnownError(
        "a tensor on another device than the card was given to a collective",
        patterns=(r"No backend type associated with device type (?P<device>\w{1,20})",),
        in_output=True,
        says=("it is on {device}",),
        causes=(
            "a tensor was not moved to the card before all_reduce, broadcast or the like",
            "the process group has only the backend hccl, and CPU tensors need gloo too",
        ),
        tells_apart="the traceback names the call; tensor.device",
        fix="move the tensor with .npu(), or init_process_group('cpu:gloo,npu:hccl')",
    ),
    KnownError(
        "the super pod of this rank, printed with a link that failed; over VNIC both ends must be in one physical"
        " super pod",
        role="fact",
        codes=("EI0006",),
        patterns=(
            r"local rank information: ?nicType ?\[(?P<nic>\w{1,30})\], ?logicSuperPodId(?: ?\[(?P<logic>[^\]\n]{0,60}"
            r")\]"
            r"| is not set), ?phySuperPodId ?\[(?P<physical>[^\]\n]{0,60})\]",
        ),
        says=(
            "the link is of type {nic}, the physical super pod is {physical}",
            "HCCL_LOGIC_SUPERPOD_ID is {logic} for this rank",
        ),
        causes=(
            "VNIC and unequal phySuperPodId at the two ends: HCCL_LOGIC_SUPERPOD_ID joins servers without such a link",
        ),
        tells_apart='grep -rh "phySuperPodId" */debug/plog: compare both ends',
        fix="if the physical ids differ: unset HCCL_LOGIC_SUPERPOD_ID, or give each physical super pod its own",
    ),
    KnownError(
        "the other end closed the connection: its own log has the reason, often in the same second",
        role="symptom",
        codes=("HcclResult 13",),
        patterns=(r"\brecv fail(?:ed)?\b", r"socket recv error", r"peer (?:has )?closed"),
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
        says=("the operator is {tag}; it must be the same on all ranks",),
        causes=_FAR_END,
        tells_apart="the lines above: LINK_ERROR_INFO and createLink name the far end",
        fix=_FIX,
        vague=True,
    ),
)
