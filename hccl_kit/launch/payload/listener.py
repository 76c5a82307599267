"""The listener of node 0: a client must prove within a deadline that it knows the secret of the job.

Connections that are not authenticated yet are bounded, in total and per address, and a new one replaces the oldest: a
flood drops its own connections, and nodes get through in between. Part of programs that launch scripts contain.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress

from hccl_kit.launch.payload.handshake import Channel, Hello, equal, new_nonce, parse_hello, parse_proof, proof_of
from hccl_kit.launch.payload.messages import Malformed, printable

DEADLINE = 5.0
"""Seconds from the connection to the proof."""
MAX_UNKNOWN, MAX_OF_ADDRESS = 256, 16
"""Connections that are not authenticated yet, in total beside those of the servers, and per address."""
MAX_WARNINGS = 8
"""Warnings about wrong proofs."""
BACKLOG = 1024


class Listener:
    """Authenticates clients, and calls `serve` with each that knows the secret."""

    def __init__(
        self,
        secret: bytes,
        sha256: str,
        servers: int,
        serve: Callable[[Channel, Hello], Awaitable[None]],
        log: Callable[[str], None],
    ) -> None:
        self.secret, self.sha256, self.servers, self.serve, self.log = secret, sha256, servers, serve, log
        self.unknown: dict[asyncio.StreamWriter, str] = {}
        self.warnings = 0

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle one connection until it ends."""
        with suppress(OSError, ValueError, asyncio.TimeoutError, asyncio.CancelledError, Malformed):
            self.make_room(writer)
            try:
                channel, hello = await asyncio.wait_for(self.authenticate(reader, writer), DEADLINE)
            finally:
                self.unknown.pop(writer, None)
            await self.serve(channel, hello)
        writer.close()

    def make_room(self, writer: asyncio.StreamWriter) -> None:
        """Add a connection; if there are too many, abort the oldest one of its address, or of the busiest address."""
        address = _network(str((writer.get_extra_info("peername") or ("?",))[0]))
        counted = Counter(self.unknown.values())
        busiest = address if counted[address] >= MAX_OF_ADDRESS else None
        if busiest is None and len(self.unknown) >= MAX_UNKNOWN + self.servers:
            ((busiest, _),) = counted.most_common(1)
        if busiest is not None:
            oldest = next(other for other, origin in self.unknown.items() if origin == busiest)
            del self.unknown[oldest]
            oldest.transport.abort()
        self.unknown[writer] = address

    async def authenticate(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[Channel, Hello]:
        """Prove that this is node 0, and check the proof of the client. Raises Malformed if it is wrong."""
        hello = parse_hello(await reader.readline(), self.servers)
        exchanged = hello, self.sha256, new_nonce()
        answer = " ".join(("answer", *exchanged[1:], proof_of(self.secret, "node 0", *exchanged)))
        writer.write(f"{answer}\n".encode())
        line = await reader.readline()
        if not equal(parse_proof(line), proof_of(self.secret, "node", *exchanged)):
            if self.warnings < MAX_WARNINGS:
                self.warnings += 1
                address = printable(str((writer.get_extra_info("peername") or ("?",))[0]))
                self.log(f"warning: {address} tried to join without the secret of this job")
            raise Malformed(printable(line))
        if self.unknown.pop(writer, None) is None:
            raise ConnectionAbortedError("dropped to make room")  # with its proof already here; the node comes again
        channel = Channel(reader, writer, proof_of(self.secret, "session", *exchanged), is_node_0=True)
        channel.send("")  # from now on the connection is not dropped
        return channel, hello


def _network(address: str) -> str:
    """The address to count by: for IPv6 its first half, since one host may have all addresses with it."""
    with suppress(ValueError):
        found = ipaddress.ip_address(address.partition("%")[0])
        if isinstance(found, ipaddress.IPv6Address):
            return str(found.ipv4_mapped or found.packed[:8].hex())
    return address


def listening_socket(address: str, port: int, log: Callable[[str], None]) -> socket.socket:
    """A socket at `address`; at all addresses of this host if others cannot reach that one. Raises OSError."""
    try:
        family, _, _, _, target = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        if target[0] == address or not ipaddress.ip_address(str(target[0]).partition("%")[0]).is_loopback:
            return socket.create_server(target, family=family, backlog=BACKLOG)
        why = f"is {target[0]} here"
    except socket.gaierror:
        why = "is unknown here"
    except OSError as error:
        if error.errno != errno.EADDRNOTAVAIL:
            raise
        why = "is not an address of this host"
    log(f"note: {address} {why}, so this node listens on all its addresses")
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, backlog=BACKLOG, dualstack_ipv6=True)
    return socket.create_server(("", port), backlog=BACKLOG)
