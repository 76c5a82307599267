"""The messages of servers that were started over ssh: they travel in the output of each server, marked by a token.

Carried by the launch scripts. The token is random, and a server hears it on the standard input of its ssh, where it
also hears the messages for it. No port is open, and whatever else a server prints is not taken for a message.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from hccl_kit.launch.payload.meeting import Meeting, named
from hccl_kit.launch.payload.messages import (
    LONGEST,
    LOST,
    LOST_CODE,
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

PATIENCE, PATIENCE_AGAIN = 600.0, 60.0
"""Seconds that the servers wait for each other, at the first start and at later ones."""
REMIND = 10.0
"""Seconds between two lines about who is waited for."""


class Sieve:
    """Separates the messages from the other output of one server, however the stream is cut into pieces."""

    def __init__(self, token: str) -> None:
        self.mark = f"{token} ".encode()
        self.rest = b""

    def feed(self, data: bytes) -> tuple[bytes, list[bytes]]:
        """What is to be shown, and the messages; the beginning of a message is kept until the rest comes."""
        data, shown, messages = self.rest + data, b"", []
        while (at := data.find(self.mark)) >= 0:
            end = data.find(b"\n", at, at + LONGEST)
            if end < 0 and len(data) - at < LONGEST:
                break
            end = end if end >= 0 else at + LONGEST
            messages.append(data[at + len(self.mark) : end])
            shown, data = shown + data[:at], data[end + 1 :]
        at = at if at >= 0 else len(data) - _overlap(data, self.mark)
        self.rest = data[at:]
        return shown + data[:at], messages


def _overlap(data: bytes, mark: bytes) -> int:
    """The bytes at the end of `data` with which `mark` may begin."""
    sizes = range(min(len(data), len(mark) - 1), 0, -1)
    return next((size for size in sizes if data.endswith(mark[:size])), 0)


class Relay:
    """All starts of a job. `send` gives a line to a server, `tell` one to the user."""

    def __init__(self, servers: Sequence[str], send: Callable[[int, str], None], tell: Callable[[str], None]) -> None:
        self.servers, self.send, self.tell = [printable(name) for name in servers], send, tell
        self.gone: set[int] = set()
        self.meeting = Meeting(len(servers))

    def hear(self, node: int, line: bytes) -> None:
        """A message of a server; one from before its last `here` is about a start that is over."""
        try:
            message = parse_from_node(line)
        except Malformed as malformed:
            self.tell(f"error: unexpected message from server {self.servers[node]}: '{malformed}'")
            return
        is_here = node in self.meeting.here
        if isinstance(message, Here) and self.gone:
            self.send(node, Over(LOST, LOST_CODE, min(self.gone)).line())
        elif isinstance(message, Here) and is_here:
            self.meeting.fail(Over(RANK_LOST, LOST_CODE, node))
        elif isinstance(message, Here) or is_here:
            self.meeting.hear(node, message)

    def leave(self, node: int) -> None:
        """The script of a server has ended, or its ssh."""
        self.gone.add(node)
        self.meeting.leave(node)

    async def run(self) -> None:
        """Bring the servers together, again and again, until all are done or one is gone."""
        patience = PATIENCE
        while True:
            await self.gather(patience)
            if not self.meeting.failures:
                self.broadcast(Start(*self.meeting.here[0]))
            end = await self.meeting.end()
            self.meeting = Meeting(len(self.servers))
            self.broadcast(end)
            if self.gone or end == Done():
                return
            patience = PATIENCE_AGAIN

    async def gather(self, patience: float) -> None:
        """Wait until all are here or one has failed; after `patience` seconds the missing ones have."""
        began = told = time.monotonic()
        while self.meeting.missing and not self.meeting.failures:
            await self.meeting.change()
            now, missing = time.monotonic(), self.meeting.missing
            names = named([self.servers[node] for node in missing])
            if missing and now > began + patience:
                self.tell(f"error: {names} did not get ready within {patience:g} s")
                self.meeting.leave(missing[0])
            elif missing and now > told + REMIND:
                told = now
                self.tell(f"waiting for {names}")

    def broadcast(self, message: FromNode0) -> None:
        """One message to every server."""
        for node in range(len(self.servers)):
            self.send(node, message.line())
