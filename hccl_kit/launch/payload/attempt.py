"""One attempt to run a job: which nodes are ready, which have finished, and what failed first.

Independent of connections: node 0 has one in `rendezvous_server`, the program for --ssh in `relay`. Part of programs
that launch scripts contain.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from hccl_kit.launch.payload.messages import LOST, LOST_CODE, Done, Failed, FromNode, Here, Over

SETTLE = 0.3
"""Seconds after the first failure in which a node may report an earlier one."""
REMIND = 10.0
"""Seconds between two messages about missing nodes."""


class Attempt:
    """The nodes 0 to `count` - 1."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.ready: dict[int, Here] = {}
        self.done: set[int] = set()
        self.failures: list[tuple[float, Over]] = []
        self.changed = asyncio.Event()

    @property
    def is_complete(self) -> bool:
        """Whether all nodes are ready."""
        return len(self.ready) == self.count

    @property
    def missing(self) -> list[int]:
        """The nodes that are not ready."""
        return [node for node in range(self.count) if node not in self.ready]

    def receive(self, node: int, message: FromNode) -> None:
        """Handle a message of a node."""
        if isinstance(message, Here):
            self.ready[node] = message
        elif isinstance(message, Failed):
            self.fail(Over(message.rank, message.code, node), message.ago)
        else:
            self.done.add(node)
        self.changed.set()

    def leave(self, node: int) -> None:
        """A node has disconnected, which is a failure unless its ranks have succeeded."""
        if node not in self.done:
            self.fail(Over(LOST, LOST_CODE, node))

    def fail(self, over: Over, ago: float = 0.0) -> None:
        """A node failed `ago` seconds before now, by the clock of this host."""
        self.failures.append((time.monotonic() - ago, over))
        self.changed.set()

    async def change(self) -> None:
        """Wait for an event, at most a second."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.changed.wait(), 1.0)
        self.changed.clear()

    async def all_ready(self, timeout: float, remind: Callable[[list[int]], None]) -> bool:
        """Wait until all nodes are ready or one has failed; False after `timeout` seconds.

        While it waits, it calls `remind` with the missing nodes from time to time.
        """
        began = reminded = time.monotonic()
        while not self.is_complete and not self.failures:
            await self.change()
            now = time.monotonic()
            if not self.is_complete and now > began + timeout:
                return False
            if not self.is_complete and now > reminded + REMIND:
                reminded = now
                remind(self.missing)
        return True

    async def result(self) -> Over | Done:
        """Wait until all nodes have finished or one has failed; the earliest failure counts."""
        while len(self.done) < self.count and not self.failures:
            await self.change()
        if not self.failures:
            return Done()
        await asyncio.sleep(SETTLE)
        return min(self.failures)[1]


def listed(names: list[str]) -> str:
    """The first of many names."""
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
