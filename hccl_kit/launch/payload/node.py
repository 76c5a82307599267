"""What the rendezvous programs of all nodes share: options, the connection to the launch script, heartbeats.

Part of programs that launch scripts contain.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

from hccl_kit.launch.payload.handshake import Channel
from hccl_kit.launch.payload.messages import MAX_LINE, FromNode, Malformed, parse_from_node

HEARTBEAT, SILENCE = 1.0, 6.0
"""Seconds between two heartbeats, and without one until a node counts as lost."""


class Options(NamedTuple):
    """The command line. `timeout`: seconds that the nodes wait for each other; `servers`: their names in messages;
    `port_name`: the variable that sets `port`; `script`: process id of the launch script, with which this program ends.
    """

    node: int
    address: str
    port: int
    port_name: str
    sha256: str
    timeout: float
    run: str
    master_port: int
    secret_file: str
    servers: tuple[str, ...]
    script: int

    @property
    def node_0(self) -> str:
        """Name and address of node 0."""
        return f"{self.servers[0]} ({self.address} port {self.port})"

    def exit_without_script(self) -> None:
        """End this program if its script is gone. The connections close, so the other nodes notice."""
        if os.getppid() != self.script:
            os._exit(1)


class Stop(Exception):  # noqa: N818 - also raised on success
    """Ends this program with an exit code, after a message to the user if there is one."""

    def __init__(self, code: int, text: str = "") -> None:
        super().__init__(text)
        self.code, self.text = code, text


def send_to_script(line: str) -> None:
    """Write a line to the launch script."""
    os.write(1, f"{line}\n".encode())


def log(text: str) -> None:
    """Write a message to the user."""
    os.write(2, f"{text}\n".encode())


async def read_script(receive: Callable[[FromNode], None]) -> None:
    """Pass on the messages of the launch script, whose pipe has no end of its own."""
    reader = asyncio.StreamReader(MAX_LINE)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    with suppress(ValueError):  # a line that is too long
        while line := await reader.readline():
            try:
                receive(parse_from_node(line))
            except Malformed as malformed:
                log(f"error: unexpected message from the launch script: '{malformed}'")


async def send_heartbeats(peers: Iterable[Channel], options: Options) -> None:
    """Send heartbeats to other nodes while the script lives."""
    while True:
        options.exit_without_script()
        for channel in peers:
            channel.send("")
        await asyncio.sleep(HEARTBEAT)
