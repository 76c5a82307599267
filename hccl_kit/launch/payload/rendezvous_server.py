"""The rendezvous at node 0: waits for the other nodes, starts the job and sends its result to all.

Part of programs that launch scripts contain.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from contextlib import suppress

from hccl_kit.launch.payload.attempt import Attempt, listed
from hccl_kit.launch.payload.handshake import Channel, Hello
from hccl_kit.launch.payload.listener import BACKLOG, Listener, listening_socket
from hccl_kit.launch.payload.messages import (
    MAX_LINE,
    OTHER_TABLE,
    TWICE,
    Done,
    Here,
    Malformed,
    Refused,
    Start,
    parse_from_node,
)
from hccl_kit.launch.payload.node import SILENCE, Options, Stop, log, read_script, send_heartbeats, send_to_script


class Node0:
    """The attempt, and the connections to the other nodes."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.peers: dict[int, Channel] = {}
        self.attempt = Attempt(len(options.servers))
        self.attempt.receive(0, Here(options.run, options.master_port))

    async def serve(self, channel: Channel, hello: Hello) -> None:
        """Handle an authenticated node until it disconnects."""
        name, has_joined = self.options.servers[hello.node], False
        try:
            if self.admit(channel, hello):
                has_joined = True
                async for line in channel.lines(SILENCE):
                    self.attempt.receive(hello.node, parse_from_node(line))
        except Malformed as malformed:
            log(f"error: unexpected message in the name of server {name}: '{malformed}'")
        if has_joined:
            self.attempt.leave(hello.node)

    def admit(self, channel: Channel, hello: Hello) -> bool:
        """Whether a node may join; if not, it gets the reason."""
        if hello.node in self.peers:
            channel.send(Refused(TWICE, self.options.sha256).line())
            return False
        if hello.sha256 != self.options.sha256:
            channel.send(Refused(OTHER_TABLE, self.options.sha256).line())
            log(f"error: {self.options.servers[hello.node]} has a different rank table, sha256 {hello.sha256}")
            log(f"  this one is    sha256 {self.options.sha256}\n  fix: copy table and script of this node there")
            return False
        self.peers[hello.node] = channel
        self.attempt.receive(hello.node, Here(self.options.run, 0))
        return True

    def names(self, nodes: Iterable[int]) -> str:
        """The servers of some nodes."""
        return listed([self.options.servers[node] for node in nodes])

    async def gather(self) -> None:
        """Wait until all nodes are ready or one has failed. Raises Stop after the timeout."""
        if not await self.attempt.all_ready(
            self.options.timeout, lambda missing: log(f"waiting for {self.names(missing)}; start this script there too")
        ):
            raise Stop(
                2,
                f"error: {self.names(self.attempt.missing)} did not join within {self.options.timeout:g} s\n"
                f"  fix: start this script there too; it must reach this node's port {self.options.port}",
            )

    def broadcast(self, line: str) -> None:
        """Send a message to every node, and to the script of this one."""
        for channel in self.peers.values():
            channel.send(line)
        send_to_script(line)


async def serve(options: Options, secret: bytes) -> None:
    """Run node 0. Raises Stop."""
    node = Node0(options)
    listener = Listener(secret, options.sha256, len(options.servers), node.serve, log)
    try:
        server = await asyncio.start_server(
            listener.accept,
            sock=listening_socket(options.address, options.port, log),
            limit=MAX_LINE,
            backlog=BACKLOG,  # asyncio sets it again
        )
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise Stop(
            2,
            f"error: cannot listen on port {options.port} for the other nodes of the job: {why}\n"
            f"  fix: export {options.port_name}=PORT, the same free one on every server",
        ) from error
    background = [
        asyncio.ensure_future(send_heartbeats(node.peers.values(), options)),
        asyncio.ensure_future(read_script(lambda message: node.attempt.receive(0, message))),
    ]
    await node.gather()
    node.broadcast(Start(options.run, options.master_port).line())
    result = await node.attempt.result()
    node.broadcast(result.line())
    await close(node.peers.values())
    server.close()
    for task in background:
        task.cancel()
    raise Stop(0 if result == Done() else 1)


async def close(peers: Iterable[Channel]) -> None:
    """Close the connections, after the other nodes have received what was sent."""

    async def close_one(channel: Channel) -> None:
        with suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(channel.writer.drain(), 1.0)
            channel.writer.close()
            await asyncio.wait_for(channel.writer.wait_closed(), 1.0)

    await asyncio.gather(*map(close_one, peers))
