"""Messages between servers that were started over ssh, which need no open port.

A server writes messages to its output, marked with a random token that it gets on standard input, so other output is
not taken for a message. It reads messages from standard input. Part of programs that launch scripts contain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hccl_kit.launch.payload.attempt import Attempt, listed
from hccl_kit.launch.payload.messages import (
    LOST,
    LOST_CODE,
    MAX_LINE,
    RANK_LOST,
    Done,
    FromNode0,
    Here,
    Malformed,
    Over,
    Start,
    parse_from_node,
    printable,
)

TIMEOUT, RESTART_TIMEOUT = 600.0, 60.0
"""Seconds that the servers wait for each other, at the first start and at restarts."""


class MessageFilter:
    """Separates messages from the other output of a server, wherever the stream is split."""

    def __init__(self, token: str) -> None:
        self.mark = f"{token} ".encode()
        self.rest = b""

    def feed(self, data: bytes) -> tuple[bytes, list[bytes]]:
        """The output to print, and the messages; the start of a message is kept until the rest arrives."""
        data, shown, messages = self.rest + data, b"", []
        while (at := data.find(self.mark)) >= 0:
            end = data.find(b"\n", at, at + MAX_LINE)
            if end < 0 and len(data) - at < MAX_LINE:
                break
            end = end if end >= 0 else at + MAX_LINE
            messages.append(data[at + len(self.mark) : end])
            shown, data = shown + data[:at], data[end + 1 :]
        at = at if at >= 0 else len(data) - _overlap(data, self.mark)
        self.rest = data[at:]
        return shown + data[:at], messages


def _overlap(data: bytes, mark: bytes) -> int:
    """The number of bytes at the end of `data` that may be the start of `mark`."""
    sizes = range(min(len(data), len(mark) - 1), 0, -1)
    return next((size for size in sizes if data.endswith(mark[:size])), 0)


class Relay:
    """All attempts of a job. `send` sends a line to a server, `log` prints one."""

    def __init__(self, servers: Sequence[str], send: Callable[[int, str], None], log: Callable[[str], None]) -> None:
        self.servers, self.send, self.log = [printable(name) for name in servers], send, log
        self.gone: set[int] = set()
        self.came: set[int] = set()  # the servers that were ready once
        self.starts = 0
        self.attempt = Attempt(len(servers))

    def receive(self, node: int, line: bytes) -> None:
        """Handle a message of a server; one from before its last `here` belongs to an earlier attempt."""
        try:
            message = parse_from_node(line)
        except Malformed as malformed:
            self.log(f"error: unexpected message from server {self.servers[node]}: '{malformed}'")
            return
        is_ready = node in self.attempt.ready
        if isinstance(message, Here) and self.gone:
            self.send(node, Over(LOST, LOST_CODE, min(self.gone)).line())
        elif isinstance(message, Here) and is_ready:
            self.attempt.fail(Over(RANK_LOST, LOST_CODE, node))
        elif isinstance(message, Here) or is_ready:
            self.came.add(node)
            self.attempt.receive(node, message)

    def leave(self, node: int) -> None:
        """The script of a server, or its ssh, has ended."""
        self.gone.add(node)
        self.attempt.leave(node)

    async def run(self) -> None:
        """Start the servers together, again after each failure, until all have finished or one is gone."""
        timeout = TIMEOUT
        while True:
            await self.gather(timeout)
            if not self.attempt.failures:
                self.starts += 1
                self.broadcast(Start(*self.attempt.ready[0]))
            result = await self.attempt.result()
            self.attempt = Attempt(len(self.servers))
            self.broadcast(result)
            if self.gone or result == Done():
                return
            timeout = RESTART_TIMEOUT

    async def gather(self, timeout: float) -> None:
        """Wait until all servers are ready or one has failed; a server that is missing after `timeout` has failed."""
        if not await self.attempt.all_ready(timeout, lambda missing: self.log(f"waiting for {self.names(missing)}")):
            missing = self.attempt.missing
            self.log(f"error: {self.names(missing)} did not become ready within {timeout:g} s")
            self.attempt.leave(missing[0])

    def names(self, nodes: Sequence[int]) -> str:
        """The servers of some nodes."""
        return listed([self.servers[node] for node in nodes])

    def broadcast(self, message: FromNode0) -> None:
        """Send a message to every server."""
        for node in range(len(self.servers)):
            self.send(node, message.line())
