"""The agents of all servers as processes: start them, give each step to their ranks, collect results in bounded time.

What the ranks report is kept by `rank_states`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple, cast

from hccl_kit.base.message import Message
from hccl_kit.selftest.agent import Order
from hccl_kit.selftest.protocol import MAX_ERRORS, MAX_LINE, Fields, Put, Result, encode, event_of, text_of
from hccl_kit.selftest.rank_states import RankStates

SILENCE = 6.0
"""Seconds without a sign of life after which a rank counts as stopped."""
MARGIN = 5.0
"""Seconds beyond the timeout of a step in which its results arrive."""
GRACE = 3.0
"""Seconds in which an agent ends its ranks."""
_LAST = 1.0
"""Seconds in which the last errors of an agent arrive; a process that it left behind may keep its stderr open."""
_POLL = 0.1
_MAX_UNREAD = 8 << 20
"""Bytes that wait for a server; one that does not read them gets no more."""
_MAX_EARLY = 1000
"""What ranks may put before all agents were started; frameworks load for longer."""


class Server(NamedTuple):
    """A server: its id, the command that starts its agent, its ranks and what the agent reads first.

    `payload` is what the command reads before: the agent, where it is not installed.
    """

    id: str
    command: Sequence[str]
    ranks: tuple[int, ...]
    order: Order
    payload: bytes = b""


class AgentProcess(asyncio.SubprocessProtocol):
    """The process of an agent: calls `hear` with each of its lines, and `lost` once it has ended, with the reason."""

    transport: asyncio.SubprocessTransport

    def __init__(self, hear: Callable[[bytes], None], lost: Callable[[str], None]) -> None:
        self.exited = asyncio.Event()
        self._hear, self._lost = hear, lost
        self._line, self._errors = bytearray(), bytearray()
        self._has_all_errors = self._is_closing = False
        self._why: Message | None = None
        """Why it counts as ended; None while it runs."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._errors += data
            del self._errors[:-MAX_ERRORS]
        elif self._why is None:
            *lines, self._line = (self._line + data).split(b"\n")
            for line in lines:
                self._hear(bytes(line))
            if max(map(len, (*lines, self._line))) > MAX_LINE:
                self._end(
                    Message("selftest.long-line", "its agent wrote a line of more than {most} bytes", most=MAX_LINE)
                )

    def pipe_connection_lost(self, fd: int, _exc: Exception | None) -> None:
        if fd == 1:
            self._end(Message("selftest.agent-ended", "its agent ended"))
        elif fd == 2:
            self._has_all_errors = True
            if self._why is not None:
                self._report()

    def process_exited(self) -> None:
        self.exited.set()

    def write(self, line: bytes) -> None:
        """Write a line to its standard input, unless it reads no more."""
        if not self._stdin.is_closing() and self._stdin.get_write_buffer_size() < _MAX_UNREAD:
            self._stdin.write(line)

    def close(self) -> None:
        """Close its standard input, at which it ends its ranks and itself."""
        self._is_closing = True
        self._stdin.close()

    @property
    def _stdin(self) -> asyncio.WriteTransport:
        return cast("asyncio.WriteTransport", self.transport.get_pipe_transport(0))

    def kill(self) -> None:
        """Kill it and all that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.transport.get_pid(), signal.SIGKILL)

    def _end(self, why: Message) -> None:
        if self._why is not None:
            return
        self._why = why
        if not self._is_closing:
            self.kill()
        if self._has_all_errors:
            self._report()
        else:
            asyncio.get_running_loop().call_later(_LAST, self._report)

    def _report(self) -> None:
        lines = self._errors.decode("utf-8", "replace").strip().splitlines()
        error = next((text_of(line) for line in reversed(lines) if line.strip()), None)
        self._lost(error or self._why or "")
        self._lost = lambda _: None


@asynccontextmanager
async def session(servers: Sequence[Server], *, shares_fate: bool) -> AsyncIterator[Session]:
    """The agents of the servers, started; at the end nothing runs any more, on any server.

    `shares_fate` is that of `RankStates`.
    """
    ranks = RankStates((rank for server in servers for rank in server.ranks), shares_fate=shares_fate)
    started = Session(ranks)
    try:
        for server in servers:
            await started.start(server)
        started.pass_on_early()
        yield started
    finally:
        await started.end()


class Session:
    """The agents that run, by the ranks of their servers, and what these ranks have reported."""

    def __init__(self, ranks: RankStates) -> None:
        self.ranks = ranks
        self._agents: dict[int, AgentProcess] = {}
        self._step = 0
        self._is_ending = False
        self._early: list[Put] | None = []
        self._news = asyncio.Event()

    async def start(self, server: Server) -> None:
        """Start the agent of a server; its ranks are lost if that fails."""
        loop = asyncio.get_running_loop()
        try:
            _, agent = await loop.subprocess_exec(
                lambda: AgentProcess(lambda line: self._hear(server, line), lambda why: self._lose(server, why)),
                *server.command,
                start_new_session=True,
            )
        except OSError as error:
            program, reason = server.command[0], error.strerror
            why = Message("selftest.no-agent", "{program} cannot be started: {reason}", program=program, reason=reason)
            self._lose(server, why)
            return
        self._agents |= dict.fromkeys(server.ranks, agent)
        agent.write(server.payload + encode(server.order.to_message()))

    def pass_on_early(self) -> None:
        """All agents were started: those that came later get what ranks had put before."""
        early, self._early = self._early or [], None
        for put in early:
            self._pass_on(put)

    async def end(self) -> None:
        """End all agents, and wait for that: they end their ranks when their input ends, and are killed after GRACE."""
        self._is_ending = True
        agents = set(self._agents.values())
        for agent in agents:
            agent.close()
        with suppress(TimeoutError, asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.gather(*(agent.exited.wait() for agent in agents)), GRACE)
        for agent in agents:
            if not agent.exited.is_set():
                agent.kill()
        await asyncio.gather(*(agent.exited.wait() for agent in agents))
        for agent in agents:
            agent.transport.close()  # a pipe whose other end a process that it left behind has open

    async def ready(self, seconds: float) -> None:
        """Wait until all ranks are ready. If none makes progress for `seconds`, those that are not ready are lost."""
        end = time.monotonic() + seconds
        phases = self.ranks.phases()
        while time.monotonic() < end and not self.ranks.is_over and self.ranks.unready():
            await self._wait()
            self.ranks.lose_silent(self.ranks.unready(), time.monotonic(), SILENCE)
            if self.ranks.phases() != phases:  # busy servers load their frameworks one after the other
                phases, end = self.ranks.phases(), time.monotonic() + seconds
        if not self.ranks.is_doomed:
            self.ranks.lose_unready(seconds)

    async def step(self, command: Mapping[str, Any], ranks: Sequence[int], timeout: float) -> dict[int, Result]:
        """Give a step to `ranks`; their results. A rank without one is lost, or gets a result with its problem."""
        self._step += 1
        self._send({**command, "step": self._step, "timeout": timeout, "to": list(ranks)}, ranks)
        end = time.monotonic() + timeout + MARGIN
        while (missing := self.ranks.without(self._step, ranks)) and not self.ranks.is_doomed:
            if time.monotonic() > end:
                break
            await self._wait()
            self.ranks.lose_silent(missing, time.monotonic(), SILENCE)
        self.ranks.lose_late(self._step, ranks)
        problem = Message("selftest.late", "no end after {seconds:g} s", seconds=timeout + MARGIN)
        return self.ranks.results(self._step, ranks, problem)

    async def _wait(self) -> None:
        """Wait for news, at most _POLL seconds."""
        with suppress(TimeoutError, asyncio.TimeoutError):
            await asyncio.wait_for(self._news.wait(), _POLL)
        self._news.clear()

    def _hear(self, server: Server, line: bytes) -> None:
        event = event_of(line)
        if event is None or event.rank not in server.ranks or self._is_ending:
            return
        self.ranks.hear(event, time.monotonic())
        if isinstance(event, Put):
            if self._early is None:
                self._pass_on(event)
            elif len(self._early) < _MAX_EARLY:
                self._early.append(event)
        self._news.set()

    def _pass_on(self, put: Put) -> None:
        to = [rank for rank in put.to if rank in self._agents]
        self._send({"do": "put", "key": put.key, "value": put.value, "to": to}, to)

    def _lose(self, server: Server, why: str) -> None:
        if not self._is_ending:
            self.ranks.lose(server.ranks, "unreachable", why)
            self._news.set()

    def _send(self, fields: Fields, ranks: Sequence[int]) -> None:
        line = encode(fields)
        if len(line) <= MAX_LINE:  # an agent would end at a longer one
            for agent in dict.fromkeys(self._agents[rank] for rank in ranks if rank in self._agents):
                agent.write(line)
