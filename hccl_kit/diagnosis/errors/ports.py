"""Ports on which HCCL listens: those of the host, from 60000, and those of the card, 16666."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.diagnosis.errors.joining import STAGE
from hccl_kit.diagnosis.errors.message import LogMessage
from hccl_kit.diagnosis.errors.row import in_stage, known
from hccl_kit.diagnosis.facts import Fact, ListenFailed

LINK_STAGE = "links between cards, at the first call of an operator (HCCL_CONNECT_TIMEOUT, 120 s)"
_HOST_PORT = "ss -ltnp | grep PORT"
_OWN_PORTS = (
    "end the process that holds the port, or give each job ports of its own (HCCL_IF_BASE_PORT,"
    " HCCL_HOST_SOCKET_PORT_RANGE), as `hccl-kit env TABLE` plans them; keep them out of the ephemeral range"
    " (net.ipv4.ip_local_reserved_ports)"
)
_PORT_HELD = (
    "another job on this host uses the same ports",
    "a leftover process holds the port",
    "the port is in the ephemeral range and some connection took it",
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


def _listen_failed(message: LogMessage) -> Iterator[Fact]:
    fields = message.fields()
    kind = fields.number("type")
    if kind is not None:
        yield ListenFailed("host" if kind == 2 else "card", fields.text("ip"), fields.rank("port"))


ROWS = (
    *in_stage(
        STAGE,
        known("""cause EI0019
a port of the host is in use, by default one from 60000: end the job that uses it, or set other ports
    (HCCL_IF_BASE_PORT)
""")._replace(causes=_PORT_HELD, tells_apart=_HOST_PORT, fix=_OWN_PORTS),
        known(r"""cause EI0019
a port of the host is taken: HCCL could not listen on it
line: socket type ?\[2\], ?listen on ip ?\[(?P<ip>[^\]\n]{0,100})\][^\n]{0,30}?port ?\[(?P<port>[0-9]{1,5})\] ?fail
mention: listening for the host network adapter socket(?:[^\n]{0,60}?IP address (?P<ip>\S{1,80}) and port (?P<port>
    [0-9]{1,5}))?
mention: StartRootNetwork failed(?:, ?ret ?\[(?P<result>[0-9]{1,3})\])?
mention: SetupServer failed, ?hostIP ?\[(?P<ip>[^\]\n]{0,100})\] and hostPort ?\[(?P<port>[0-9]{1,5})\]
mention: host nic listen start failed, ?port ?\[(?P<port>[0-9]{1,5})\]
mention: Cannot bind IF\. ?ip is (?P<ip>[^,\n]{1,80}), ?port is (?P<port>[0-9]{1,5})
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78] socket type[2], listen on
    ip[10.1.2.4%eth0] and specific port[60000] fail. Please check the port status
says: address {ip}, port {port}
""")._replace(fact=_listen_failed, causes=_PORT_HELD, tells_apart=_HOST_PORT, fix=_OWN_PORTS),
        known(r"""cause
the ports for retries of operators are in use: this rank connected to another program, or could not bind
line: \[OpRetryConnection\][^\n]{0,60}?Connect to server failed, ?serverIp_? ?\[(?P<ip>
    [^\]\n]{1,80})\],? ?serverPort ?\[(?P<port>[0-9]{1,5})\]
line: OpRetry used port range ?\[(?P<range>[0-9]{1,5}-[0-9]{1,5})\]
line: \[OpRetryConnection\][^\n]{0,60}?Recv unmatched ack
example: OpRetry used port range [61000-61015]
says: the server is {ip}, port {port}
says: the ports are {range}
cause: another job on this host uses the same ports
cause: the ports are in the ephemeral range, and a connection or another program took one
apart: on that host: ss -ltnp | grep :600; sysctl net.ipv4.ip_local_port_range
fix: reserve the ports on all hosts (sysctl -w net.ipv4.ip_local_reserved_ports=60000-60015), or set another
    HCCL_IF_BASE_PORT on all ranks
"""),
        known(r"""cause EJ0003
an address and port could not be bound; older releases use it for ports of the host and of the card
line: Failed to bind the IP port(?:\. ?Reason: ?(?P<reason>[^\n]{1,120}))?
line: Communication_Error_Bind_IP_Port\(EJ0003\)
example: EJ0003: [PID: 500] 2026-03-02-10:00:01.816.428 Failed to bind the IP port. Reason: it has been bound already.
says: the reason: {reason}
cause: another job, or a leftover process, holds the port: 60000 and up on the host, 16666 on the card
apart: ss -ltnp | grep 6000; grep -rh "socket type" ~/ascend/log/debug/plog: 2 is the host, 0 and 1 the card
fix: end that process, or set HCCL_IF_BASE_PORT (host) and HCCL_NPU_SOCKET_PORT_RANGE=auto (card) on all ranks
"""),
        known(r"""cause EI0019 EI0020 EJ0003
an address and port could not be bound: the port of the host or of the card is in use
line: [Tt]he IP address (?P<ip>\S{1,80}) (?:and|add) port (?P<port>[0-9]{1,5}) (?:have|has) already been bound
line: [Tt]he IP (?:address )?and port have been bound already
example: EI0019: The IP address 10.1.2.3 and port 60000 have already been bound.
says: address {ip}, port {port}; 16666 is a port of the card, 60000 and up one of the host
cause: another job on this host or card uses the same ports
cause: a leftover process holds the port
apart: ss -ltnp; npu-smi info
fix: end that process, or set HCCL_IF_BASE_PORT (host) and HCCL_NPU_SOCKET_PORT_RANGE=auto (card) on all ranks
"""),
    ),
    *in_stage(
        LINK_STAGE,
        known("""cause EI0020
a port of the card is in use, by default 16666. No rule of a table detects this: end the job that uses it, or set
    another "device_port"
""")._replace(causes=_CARD_CAUSES, tells_apart=_CARD_PORT, fix=_CARD_FIX),
        known(r"""cause EI0020 EI0019
a port of the card is taken: HCCL could not listen on it
line: socket type ?\[[01]\], ?listen on ip ?\[(?P<ip>[^\]\n]{0,100})\][^\n]{0,30}?port ?\[(?P<port>[0-9]{1,5})\] ?fail
mention: listening for the NPU network adapter socket(?:[^\n]{0,60}?IP address (?P<ip>\S{1,80}) (?:and|add) port (?P<por
    t>[0-9]{1,5}))?
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78] socket type[0], listen on
    ip[192.168.7.5] and specific port[16666] fail. Please check the port status
says: card address {ip}, port {port}; timeouts that follow are consequences
""")._replace(fact=_listen_failed, causes=_CARD_CAUSES, tells_apart=_CARD_PORT, fix=_CARD_FIX),
    ),
    known(r"""fact
a port of a card is open
line: Listen on ip ?\[(?P<ip>[^\]\n]{1,80})\], ?port ?\[(?P<port>[0-9]{1,5})\] ?suc+es{1,2}(?:, ?devPhyId ?\[(?P<card>
    [0-9]{1,6})\])?
example: [INFO] HCCL(77,python3):2025-06-15-15:06:40.500.000 [op_base.cc:12] [78][Start][Vnic]Listen on ip[192.168.7.5],
    port[16666] sucess, devPhyId[5]
says: address {ip}, port {port}
says: physical card {card}
cause: it maps a card address to a card
"""),
)
