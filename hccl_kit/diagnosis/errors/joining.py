"""The ranks meet over the host network: ports of the host, the root that waits, agents that never came."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import KnownError, in_stage

_STAGE = "creation of the communicator, over the host network (HCCL_CONNECT_TIMEOUT, 120 s)"
_WHO_CAME = 'grep -rh "Entry-HcclCommInit" */run/plog: a rank without this line never tried to join'
_HOST_PORT = "ss -ltnp | grep PORT"
_OWN_PORTS = (
    "end the process that holds the port, or give each job ports of its own (HCCL_IF_BASE_PORT,"
    " HCCL_HOST_SOCKET_PORT_RANGE), as `hccl-kit env TABLE` plans them; keep them out of the ephemeral range"
    " (net.ipv4.ip_local_reserved_ports)"
)
_ABSENT = (
    "the ranks that are named never tried to join: their program ended, hangs or loads data; read their own logs",
    "they joined too late: more than HCCL_CONNECT_TIMEOUT after the root",
    "they cannot reach the root's host: another interface, a firewall, HCCL_SOCKET_IFNAME",
)
_FIND_ABSENT = (
    "find the logs of these ranks; start all ranks; else set HCCL_SOCKET_IFNAME per host, or HCCL_CONNECT_TIMEOUT=600"
)
_PORT_HELD = (
    "another job on this host uses the same ports",
    "a leftover process holds the port",
    "the port is in the ephemeral range and some connection took it",
)

ROWS = in_stage(
    _STAGE,
    KnownError(
        "the rendezvous by root info failed. No rank table is used for it: either there is none, or a framework"
        " ignored it as not valid; check RANK_TABLE_FILE",
        role="pointer",
        codes=("EI0015",),
        causes=(
            "a rank never tried to join, because its program ended, hangs or is late",
            "a rank cannot reach the root's host: interface, firewall, HCCL_SOCKET_IFNAME",
            "at more than 1,000 ranks: the root's queue of connections is too short (somaxconn, tcp_max_syn_backlog)",
        ),
        tells_apart=_WHO_CAME,
        fix=_FIND_ABSENT,
    ),
    KnownError(
        "ranks are missing: the root of the communicator never heard from them",
        role="pointer",
        codes=("EI0015",),
        patterns=(
            r"Failed to connect agent ?\[(?P<ranks>[0-9, ]{1,4000}?),? ?\]",
            r"connectFailedAgentIdList ?:? ?\[(?P<ranks>[0-9, ]{1,4000}?),? ?\]",
            r"List of unconnected ranks: ?\"?\[?(?P<ranks>[0-9, ]{1,4000}?),? ?\]",
        ),
        says=("ranks {ranks} never joined; the others waited for them",),
        causes=_ABSENT,
        tells_apart=_WHO_CAME,
        fix=_FIND_ABSENT,
    ),
    KnownError(
        "the ranks that the root has heard from; those not in the list never joined",
        role="pointer",
        codes=("EI0015",),
        patterns=(
            r"connected rankinfo\[LINE (?P<row>[0-9]{1,6})\]: ?(?P<ranks>\[[0-9, \[\]]{1,400})",
            r"connected num (?:is )?\[(?P<came>[0-9]{1,8})\]",
            r"need connect rankNum is ?\[(?P<needed>[0-9]{1,8})\]",
            r"DisplayConnect(?:ed|ion)",
        ),
        says=("connected: {ranks}", "{came} ranks connected", "{needed} ranks are needed"),
        causes=_ABSENT,
        tells_apart=_WHO_CAME,
        fix=_FIND_ABSENT,
    ),
    KnownError(
        "the root of a communicator timed out waiting for some ranks",
        role="pointer",
        codes=("EI0015",),
        patterns=(r"topo exchange server get socket timeout!?(?: timeout ?\[(?P<seconds>[0-9]{1,6}) ?s? ?\])?",),
        says=("it waited {seconds} s; the lines below list the ranks that joined",),
        causes=_ABSENT,
        tells_apart=_WHO_CAME,
        fix=_FIND_ABSENT,
    ),
    KnownError(
        "this rank could not connect to the root of its communicator",
        role="pointer",
        codes=("EI0015",),
        patterns=(
            r"connect server ?\[(?P<host>[^\]\n]{1,80}?) ?: ?(?P<port>[0-9]{1,5})\] ?failed",
            r"topo exchange agent get socket timeout!?(?: timeout ?\[(?P<seconds>[0-9]{1,6}) ?s? ?\])?",
        ),
        says=("it waits for the root at {host}, port {port}", "it tried for {seconds} s"),
        causes=(
            "the root's address is not reachable from here: HCCL took an interface that the hosts do not share",
            "a firewall closes the port",
            "the root ended, gave up or has not started: ranks start more than HCCL_CONNECT_TIMEOUT apart",
        ),
        tells_apart='from this host: nc -vz ROOT PORT; grep -rh "get host ip success" ~/ascend/log/run/plog',
        fix="set HCCL_SOCKET_IFNAME to the interface that all hosts share; open the ports; start the ranks together",
    ),
    KnownError(
        "this rank is connected to the root, which sent nothing in time: the root itself waits for others",
        role="symptom",
        codes=("EI0015",),
        patterns=(
            r"Wait timeout for sockets recv",
            r"receive msg length from fdhandle failed, ret ?\[(?P<result>[0-9]{1,3})\]",
            r"rank num ?\[(?P<needed>[0-9]{1,8})\] ?is different with rank list size ?\[(?P<came>[0-9]{1,8})\]",
        ),
        says=("{came} of {needed} ranks joined",),
        causes=("other ranks never joined: the root's log lists those that did",),
        tells_apart=_WHO_CAME,
        fix="read the root's log (rank 0): it names the ranks that are missing",
    ),
    KnownError(
        "the rendezvous failed; HCCL reports the error to this rank",
        role="symptom",
        codes=("EI0015",),
        patterns=(r"TopoDetect ERROR occur", r"Failed to collect cluster information of the communicator"),
        causes=_ABSENT,
        tells_apart=_WHO_CAME,
        fix=_FIND_ABSENT,
    ),
    KnownError(
        "a port of the host is in use, by default one from 60000: end the job that uses it, or set other ports"
        " (HCCL_IF_BASE_PORT)",
        codes=("EI0019",),
        causes=_PORT_HELD,
        tells_apart=_HOST_PORT,
        fix=_OWN_PORTS,
    ),
    KnownError(
        "a port of the host is taken: HCCL could not listen on it",
        codes=("EI0019",),
        patterns=(
            r"socket type ?\[2\], ?listen on ip ?\[(?P<ip>[^\]\n]{0,100})\][^\n]{0,30}?port ?\[(?P<port>[0-9]{1,5})\]"
            r" ?fail",
            r"listening for the host network adapter socket(?:[^\n]{0,60}?IP address (?P<ip>\S{1,80}) and port "
            r"(?P<port>[0-9]{1,5}))?",
            r"StartRootNetwork failed(?:, ?ret ?\[(?P<result>[0-9]{1,3})\])?",
            r"SetupServer failed, ?hostIP ?\[(?P<ip>[^\]\n]{0,100})\] and hostPort ?\[(?P<port>[0-9]{1,5})\]",
            r"host nic listen start failed, ?port ?\[(?P<port>[0-9]{1,5})\]",
            r"Cannot bind IF\. ?ip is (?P<ip>[^,\n]{1,80}), ?port is (?P<port>[0-9]{1,5})",
        ),
        says=("address {ip}, port {port}",),
        causes=_PORT_HELD,
        tells_apart=_HOST_PORT,
        fix=_OWN_PORTS,
    ),
    KnownError(
        "an address and port could not be bound; older releases use it for ports of the host and of the card",
        codes=("EJ0003",),
        patterns=(
            r"Failed to bind the IP port(?:\. ?Reason: ?(?P<reason>[^\n]{1,120}))?",
            r"Communication_Error_Bind_IP_Port\(EJ0003\)",
        ),
        says=("the reason: {reason}",),
        causes=("another job, or a leftover process, holds the port: 60000 and up on the host, 16666 on the card",),
        tells_apart='ss -ltnp | grep 6000; grep -rh "socket type" ~/ascend/log/debug/plog: 2 is the host, 0 and 1'
        " the card",
        fix="end that process, or set HCCL_IF_BASE_PORT (host) and HCCL_NPU_SOCKET_PORT_RANGE=auto (card) on all ranks",
    ),
    KnownError(
        "an address and port could not be bound: the port of the host or of the card is in use",
        codes=("EI0019", "EI0020", "EJ0003"),
        patterns=(
            r"[Tt]he IP address (?P<ip>\S{1,80}) (?:and|add) port (?P<port>[0-9]{1,5}) (?:have|has) already been bound",
            r"[Tt]he IP (?:address )?and port have been bound already",
        ),
        says=("address {ip}, port {port}; 16666 is a port of the card, 60000 and up one of the host",),
        causes=("another job on this host or card uses the same ports", "a leftover process holds the port"),
        tells_apart="ss -ltnp; npu-smi info",
        fix="end that process, or set HCCL_IF_BASE_PORT (host) and HCCL_NPU_SOCKET_PORT_RANGE=auto (card) on all ranks",
    ),
    KnownError(
        "the root of a communicator could not be created",
        role="symptom",
        patterns=(
            r"HcclGetRootInfo[^\n]{0,40} failed(?:, ?ret(?:urn)? ?\[(?P<result>[0-9xa-fA-F]{1,20})\])?",
            r"HCCL get root info failed",
        ),
        says=("the result is {result}",),
        causes=(
            "a variable is refused: HcclResult 1, EI0001, a line with EnvConfig",
            "HCCL_SOCKET_IFNAME or HCCL_IF_IP names no interface of this host",
            "a port of the host is taken: HcclResult 7, EI0019",
        ),
        tells_apart='grep -rh "ERROR. HCCL" ~/ascend/log/debug/plog | head: the first line of this process',
        fix="correct what that line names",
    ),
    KnownError(
        "a communicator could not be created",
        role="frame",
        patterns=(
            r"HcclCommInit\w{0,40} failed,? ?(?:return|ret) ?\[(?P<result>[0-9xa-fA-F]{1,20})\](?:[^\n]{0,80}?rankNum"
            r" ?\[(?P<ranks>[0-9]{1,8})\])?(?:, ?rank ?\[(?P<rank>[0-9]{1,8})\])?",
            r"hcclComm init error",
            r"HcclCommInit\w{0,40} fail, ?error ?: ?(?P<result>[0-9]{1,3}), ?rank ?: ?(?P<rank>[0-9]{1,8}),"
            r" ?rankSize ?: ?(?P<ranks>[0-9]{1,8})",
            r"get hccl comm fail by rank ?: ?(?P<rank>[0-9]{1,8})",
        ),
        says=("this is rank {rank} of {ranks}", "this is rank {rank}", "the result is {result}"),
        causes=("the lines above it of the same process name the reason",),
        tells_apart="read upwards to the first ERROR line of this process",
        fix="correct what that line names",
    ),
)
