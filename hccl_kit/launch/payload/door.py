"""The door of node 0: who connects has a deadline and few lines to prove that he knows the secret of the job.

Carried by the launch scripts. Unknown connections are bounded, in all and from one address, and a new one takes the
place of the oldest: whoever floods the door drops his own connections, and a node comes through in between.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress

from hccl_kit.launch.payload.lock import Channel, Hello, equal, fresh, parse_hello, parse_proof, proof_of
from hccl_kit.launch.payload.messages import Malformed, printable

DEADLINE = 5.0
"""Seconds from the connection to the proof."""
MAX_UNKNOWN, MAX_OF_ADDRESS = 256, 16
"""Connections that have not proven themselves yet."""
MAX_COMPLAINTS = 8
"""Lines about wrong proofs, so that nobody fills the screen."""
BACKLOG = 1024


class Door:
    """Lets those in who prove the secret; `serve` is given each of them."""

    def __init__(
        self,
        secret: bytes,
        sha256: str,
        servers: int,
        serve: Callable[[Channel, Hello], Awaitable[None]],
        tell: Callable[[str], None],
    ) -> None:
        self.secret, self.sha256, self.servers, self.serve, self.tell = secret, sha256, servers, serve, tell
        self.unknown: dict[asyncio.StreamWriter, str] = {}
        self.complaints = 0

    async def welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its beginning to its end."""
        with suppress(OSError, ValueError, asyncio.TimeoutError, asyncio.CancelledError, Malformed):
            self.make_room(writer)
            try:
                channel, hello = await asyncio.wait_for(self.prove(reader, writer), DEADLINE)
            finally:
                self.unknown.pop(writer, None)
            await self.serve(channel, hello)
        writer.close()

    def make_room(self, writer: asyncio.StreamWriter) -> None:
        """Take a connection in; where there are too many, the oldest goes, of its address or of the busiest."""
        address = _network(str((writer.get_extra_info("peername") or ("?",))[0]))
        counted = Counter(self.unknown.values())
        crowd = address if counted[address] >= MAX_OF_ADDRESS else None
        if crowd is None and len(self.unknown) >= MAX_UNKNOWN:
            ((crowd, _),) = counted.most_common(1)
        if crowd is not None:
            oldest = next(other for other, place in self.unknown.items() if place == crowd)
            del self.unknown[oldest]
            oldest.transport.abort()
        self.unknown[writer] = address

    async def prove(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[Channel, Hello]:
        """Prove that this is node 0, and hear a proof. Raises Malformed where there is none."""
        hello = parse_hello(await reader.readline(), self.servers)
        heard = hello, self.sha256, fresh()
        answer = " ".join(("answer", *heard[1:], proof_of(self.secret, "node 0", *heard)))
        writer.write(f"{answer}\n".encode())
        line = await reader.readline()
        if not equal(parse_proof(line), proof_of(self.secret, "node", *heard)):
            if self.complaints < MAX_COMPLAINTS:
                self.complaints += 1
                address = printable(str((writer.get_extra_info("peername") or ("?",))[0]))
                self.tell(f"warning: {address} tried to join without the secret of this job")
            raise Malformed(printable(line))
        return Channel(reader, writer, proof_of(self.secret, "session", *heard), is_node_0=True), hello


def _network(address: str) -> str:
    """What counts as one address: of IPv6, the first half, of which anybody has all the others."""
    with suppress(ValueError):
        found = ipaddress.ip_address(address.partition("%")[0])
        if isinstance(found, ipaddress.IPv6Address):
            return str(found.ipv4_mapped or found.packed[:8].hex())
    return address


def listener(address: str, port: int, tell: Callable[[str], None]) -> socket.socket:
    """A socket at one address of this host; at all of them where others cannot reach this one. Raises OSError."""
    try:
        family, _, _, _, place = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        if place[0] == address or not ipaddress.ip_address(str(place[0]).partition("%")[0]).is_loopback:
            return socket.create_server(place, family=family, backlog=BACKLOG)
        why = f"is {place[0]} here"
    except socket.gaierror:
        why = "is not known here"
    except OSError as error:
        if error.errno != errno.EADDRNOTAVAIL:
            raise
        why = "is not an address of this host"
    tell(f"note: {address} {why}, so this node listens at all of its addresses")
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, backlog=BACKLOG, dualstack_ipv6=True)
    return socket.create_server(("", port), backlog=BACKLOG)
