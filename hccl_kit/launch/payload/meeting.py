"""What becomes of one start of a job's nodes: who is here, who is done, who failed first.

Carried by the launch scripts. It knows nothing of connections: node 0 has one of these in `link`, the starter of
--ssh in `relay`.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from hccl_kit.launch.payload.messages import LOST, LOST_CODE, Done, Failed, FromNode, Here, Over

JUDGING = 0.3
"""Seconds after the first failure in which a node may report an earlier one."""


class Meeting:
    """The nodes 0 to `count` - 1; only a node that is here is heard."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.here: dict[int, Here] = {}
        self.done: set[int] = set()
        self.failures: list[tuple[float, Over]] = []
        self.changed = asyncio.Event()

    @property
    def missing(self) -> list[int]:
        """The nodes that have not come yet."""
        return [node for node in range(self.count) if node not in self.here]

    def hear(self, node: int, message: FromNode) -> None:
        """What a node says of itself and of its ranks."""
        if isinstance(message, Here):
            self.here[node] = message
        elif isinstance(message, Failed):
            self.fail(Over(message.rank, message.code, node), message.ago)
        else:
            self.done.add(node)
        self.changed.set()

    def leave(self, node: int) -> None:
        """A node is gone; it may go once its ranks have succeeded."""
        if node not in self.done:
            self.fail(Over(LOST, LOST_CODE, node))

    def fail(self, over: Over, ago: float = 0.0) -> None:
        """A node has failed `ago` seconds before now, by the clock of this host."""
        self.failures.append((time.monotonic() - ago, over))
        self.changed.set()

    async def change(self) -> None:
        """Wait until something happens, or for a second."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.changed.wait(), 1.0)
        self.changed.clear()

    async def end(self) -> Over | Done:
        """Wait until all are done or one has failed; the earliest failure counts."""
        while len(self.done) < self.count and not self.failures:
            await self.change()
        if not self.failures:
            return Done()
        await asyncio.sleep(JUDGING)
        return min(self.failures)[1]


def named(servers: list[str]) -> str:
    """The first of many names."""
    return ", ".join(servers[:8]) + (f" and {len(servers) - 8} more" if len(servers) > 8 else "")
