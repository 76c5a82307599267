"""The ranks meet over the host network: the root that waits for them, and those that never came."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.diagnosis.errors.joining import STAGE
from hccl_kit.diagnosis.errors.message import LogMessage, rank, server
from hccl_kit.diagnosis.errors.row import in_stage, known
from hccl_kit.diagnosis.facts import Fact, Fault, NeverConnected, PeerClosed, RootSilent, RootUnreachable

_WHO_CAME = 'grep -rh "Entry-HcclCommInit" */run/plog: a rank without this line never tried to join'
_ABSENT = (
    "the ranks that are named never tried to join: their program ended, hangs or loads data; read their own logs",
    "they joined too late: more than HCCL_CONNECT_TIMEOUT after the root",
    "they cannot reach the root's host: another interface, a firewall, HCCL_SOCKET_IFNAME",
)
_FIND_ABSENT = (
    "find the logs of these ranks; start all ranks; else set HCCL_SOCKET_IFNAME per host, or HCCL_CONNECT_TIMEOUT=600"
)
_MAX_RANKS = 1 << 16


def _never_connected(message: LogMessage) -> Iterator[Fact]:
    numbers = (message.value("ranks") or "").split(",")[:_MAX_RANKS]
    ranks = tuple(known for text in numbers if (known := rank(text.strip())) is not None)
    if ranks:
        yield NeverConnected(ranks)


def _root_waited(message: LogMessage) -> Iterator[Fact]:
    yield Fault("EI0015", "HCCL", "the root timed out waiting for other ranks", message.shown, True)


def _root_unreachable(message: LogMessage) -> Iterator[Fact]:
    yield RootUnreachable(server(message.value("host")))


def _root_silent(message: LogMessage) -> Iterator[Fact]:
    if code := message.value("result"):
        yield PeerClosed() if code == "13" else RootSilent()


ROWS = in_stage(
    STAGE,
    known("""pointer EI0015
the rendezvous by root info failed. No rank table is used for it: either there is none, or a framework ignored it as not
    valid; check RANK_TABLE_FILE
cause: a rank never tried to join, because its program ended, hangs or is late
cause: a rank cannot reach the root's host: interface, firewall, HCCL_SOCKET_IFNAME
cause: at more than 1,000 ranks: the root's queue of connections is too short (somaxconn, tcp_max_syn_backlog)
""")._replace(tells_apart=_WHO_CAME, fix=_FIND_ABSENT),
    known(r"""pointer EI0015
ranks are missing: the root of the communicator never heard from them
line: Failed to connect agent ?\[(?P<ranks>[0-9, ]{1,16384}?),? ?\]
line: connectFailedAgentIdList ?:? ?\[(?P<ranks>[0-9, ]{1,16384}?),? ?\]
line: List of unconnected ranks: ?\"?\[?(?P<ranks>[0-9, ]{1,16384}?),? ?\]
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]TopoDetect ERROR occur !!!
    fault_type[1], fault_info["Failed to connect agent[1,3,15,]"]
says: ranks {ranks} never joined; the others waited for them
""")._replace(fact=_never_connected, causes=_ABSENT, tells_apart=_WHO_CAME, fix=_FIND_ABSENT),
    known(r"""pointer EI0015 vague
the ranks that the root has heard from; those not in the list never joined
line: connected rankinfo\[LINE (?P<row>[0-9]{1,6})\]: ?(?P<ranks>\[[0-9, \[\]]{1,400})
line: connected num (?:is )?\[(?P<came>[0-9]{1,8})\]
line: need connect rankNum is ?\[(?P<needed>[0-9]{1,8})\]
line: DisplayConnect(?:ed|ion)
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78]connected rankinfo[LINE 0]:
    [0000000000000000],[0000000000000002];
says: connected: {ranks}
says: {came} ranks connected
says: {needed} ranks are needed
""")._replace(causes=_ABSENT, tells_apart=_WHO_CAME, fix=_FIND_ABSENT),
    known(r"""pointer EI0015 vague
the root of a communicator timed out waiting for some ranks
line: topo exchange server get socket timeout!?(?: timeout ?\[(?P<seconds>[0-9]{1,6}) ?s? ?\])?
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]topo exchange server get socket
    timeout! timeout[120 s]
says: it waited {seconds} s; the lines below list the ranks that joined
""")._replace(fact=_root_waited, causes=_ABSENT, tells_apart=_WHO_CAME, fix=_FIND_ABSENT),
    known(r"""pointer EI0015
this rank could not connect to the root of its communicator
line: connect server ?\[(?P<host>[^\]\n]{1,255}?) ?: ?(?P<port>[0-9]{1,5})\] ?failed
line: topo exchange agent get socket timeout!?(?: timeout ?\[(?P<seconds>[0-9]{1,6}) ?s? ?\])?
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78]connect server[10.1.2.3 : 60000]
    failed
says: it waits for the root at {host}, port {port}
says: it tried for {seconds} s
cause: the root's address is not reachable from here: HCCL took an interface that the hosts do not share
cause: a firewall closes the port
cause: the root ended, gave up or has not started: ranks start more than HCCL_CONNECT_TIMEOUT apart
apart: from this host: nc -vz ROOT PORT; grep -rh "get host ip success" ~/ascend/log/run/plog
fix: set HCCL_SOCKET_IFNAME to the interface that all hosts share; open the ports; start the ranks together
""")._replace(fact=_root_unreachable),
    known(r"""symptom EI0015
this rank is connected to the root, which sent nothing in time: the root itself waits for others
line: receive msg length from fdhandle failed, ret ?\[(?P<result>[0-9]{1,3})\]
mention: Wait timeout for sockets recv
mention: rank num ?\[(?P<needed>[0-9]{1,8})\] ?is different with rank list size ?\[(?P<came>[0-9]{1,8})\]
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78][Recv][ClusterInfoMsg]receive msg
    length from fdhandle failed, ret[9]
says: {came} of {needed} ranks joined
cause: other ranks never joined: the root's log lists those that did
fix: read the root's log (rank 0): it names the ranks that are missing
""")._replace(fact=_root_silent, tells_apart=_WHO_CAME),
    known("""symptom EI0015
the rendezvous failed; HCCL reports the error to this rank
line: TopoDetect ERROR occur
line: Failed to collect cluster information of the communicator
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78]TopoDetect ERROR occur !!!
    fault_type[2]
""")._replace(causes=_ABSENT, tells_apart=_WHO_CAME, fix=_FIND_ABSENT),
)
