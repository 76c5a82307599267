"""A session with the ranks of all servers: start them, give each step to all, collect results in bounded time.

A rank is dead if its process ended, stopped if it shows no sign of life while others do, and unreachable if its server
is. A rank that waits for one of them is not lost.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from statistics import fmean
from typing import Any, NamedTuple

from hccl_kit.selftest.agent import Order
from hccl_kit.selftest.bandwidth import Operator
from hccl_kit.selftest.measured import Loss, LostRank
from hccl_kit.selftest.protocol import (
    MAX_LINE,
    Message,
    Result,
    decode,
    encode,
    keep_end,
    result_of,
    skipped_of,
    stopped_of,
    text_of,
)

SILENCE = 6.0
"""Seconds without a sign of life after which a rank counts as stopped."""
MARGIN = 5.0
"""Seconds beyond the timeout of a step in which its results arrive."""
GRACE = 3.0
"""Seconds in which an agent ends its ranks."""
_LAST = 1.0
"""Seconds in which the last output of an agent arrives; a process that it left behind may keep its stderr open."""
_POLL = 0.1
_MAX_UNREAD = 8 << 20
"""Bytes that wait for a server; one that does not read them gets no more."""


class Server(NamedTuple):
    """A server: its id, the command that starts its agent, its ranks and what the agent reads first."""

    id: str
    command: Sequence[str]
    ranks: tuple[int, ...]
    order: Order


class Session:
    """An asynchronous context manager: at its end nothing runs any more, on any server."""

    def __init__(self, servers: Sequence[Server], *, shares_fate: bool) -> None:
        """`shares_fate`: if one rank is lost, so is the whole job (MPI, MindSpore), and only the first is to blame."""
        self.servers, self.shares_fate = servers, shares_fate
        self.lost: dict[int, LostRank] = {}
        self.skipped: tuple[Operator, ...] = ()
        self._home = {rank: place for place, server in enumerate(servers) for rank in server.ranks}
        self._processes: list[Process | None] = [None] * len(servers)
        self._readers: list[asyncio.Task[None]] = []
        self._seen: dict[int, float] = {}
        self._phase: dict[int, str] = {}
        self._results: dict[int, Result] = {}
        self._state: dict[int, float] = {}
        self._stopped: dict[int, list[float]] = {}
        self._stuck: set[int] = set()
        self._step = 0
        self._is_closing = False
        self._heard = asyncio.Event()

    @property
    def is_over(self) -> bool:
        """Whether no further step makes sense."""
        return len(self.available()) == 0 or (self.shares_fate and bool(self.lost or self._stuck))

    def available(self) -> list[int]:
        """The ranks that can take part in the next step, ascending."""
        return sorted(self._home.keys() - self.lost.keys() - self._stuck)

    def lose(self, problems: Mapping[int, str]) -> None:
        """Count ranks without a result as lost, with the reason; if all share their fate, only if none is lost yet."""
        if not (self.shares_fate and self.lost):
            for rank, problem in sorted(problems.items()):
                self._lose(rank, "no result", problem)

    def losses(self) -> tuple[LostRank, ...]:
        """The ranks that are lost, ascending."""
        return tuple(self.lost[rank] for rank in sorted(self.lost))

    def stalled(self, rank: int) -> float:
        """The part of the time since it was ready in which the process of a rank was stopped by a signal."""
        parts = self._stopped.get(rank)
        return fmean(parts) if parts else 0.0

    async def __aenter__(self) -> Session:
        try:
            await asyncio.gather(*(self._start(place) for place in range(len(self.servers))))
        except BaseException:  # Ctrl-C, after some have started
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_closing = True
        processes = [process for process in self._processes if process]
        for process in processes:
            if process.stdin:
                process.stdin.close()  # the agents end with their input, and end their ranks
        ends = asyncio.gather(*(process.wait() for process in processes))
        with suppress(TimeoutError, asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.shield(ends), GRACE)
        for process in processes:
            if process.returncode is None:
                _kill(process)
        await ends
        await asyncio.gather(*self._readers, return_exceptions=True)
        for process in processes:  # nothing public closes a pipe whose other end is open: see _LAST
            process._transport.close()  # type: ignore[attr-defined]

    async def ready(self, seconds: float) -> None:
        """Wait until all ranks are ready. If none makes progress for `seconds`, those that are not ready are lost."""
        end = time.monotonic() + seconds
        before = dict(self._phase)
        while time.monotonic() < end and not self.is_over and self._waiting_for_start():
            await self._hear()
            self._notice_silence(self._waiting_for_start())
            if self._phase != before:  # busy servers load their frameworks one after the other
                before, end = dict(self._phase), time.monotonic() + seconds
        if self.shares_fate and self.lost:
            return  # the others wait for it
        waiting = self._waiting_for_start()
        unloaded = [rank for rank in waiting if self._phase.get(rank) != "loaded"]
        for rank in unloaded or waiting:
            self._lose(rank, "not started", self._why_late(rank, seconds))

    def _waiting_for_start(self) -> list[int]:
        return [rank for rank in self.available() if self._phase.get(rank) != "ready"]

    def _why_late(self, rank: int, seconds: float) -> str:
        if self._phase.get(rank) == "loaded":
            return f"it did not join the group within {seconds:g} s"
        if rank in self._seen:
            return f"its framework did not load within {seconds:g} s"
        return f"no sign of it within {seconds:g} s"

    async def step(self, command: Mapping[str, Any], ranks: Sequence[int], timeout: float) -> dict[int, Result]:
        """Give a step to `ranks`; their results. A rank without one is lost, or gets a result with its problem."""
        self._step += 1
        self._results = {}
        self._send({**command, "step": self._step, "timeout": timeout, "to": list(ranks)}, ranks)
        end = time.monotonic() + timeout + MARGIN
        while missing := self._missing(ranks):
            if time.monotonic() > end or (self.shares_fate and self.lost):
                break
            await self._hear()
            self._notice_silence(missing)
        late = self._missing(ranks)
        self._stuck |= set(late)
        problem = f"no end after {timeout + MARGIN:g} s"
        return {rank: self._results.get(rank, Result(problem=problem)) for rank in ranks if rank not in self.lost}

    def _missing(self, ranks: Sequence[int]) -> list[int]:
        return [rank for rank in ranks if rank not in self._results and rank not in self.lost]

    def _notice_silence(self, ranks: Sequence[int]) -> None:
        """A rank counts as silent relative to the last that answered, since this program may have been held up;
        if none answers, all are silent.
        """
        latest = max(self._seen.values(), default=time.monotonic())
        everybody = time.monotonic() - latest > 2 * SILENCE
        for rank in ranks:
            if everybody or latest - self._seen.get(rank, latest) > SILENCE:
                is_stopped = self._state.get(rank) == 1.0
                why = "its process is stopped, as by SIGSTOP" if is_stopped else f"no sign of life for {SILENCE:g} s"
                self._lose(rank, "stopped", why)

    async def _hear(self) -> None:
        """Wait for a message, at most _POLL seconds."""
        with suppress(TimeoutError, asyncio.TimeoutError):
            await asyncio.wait_for(self._heard.wait(), _POLL)
        self._heard.clear()

    def _send(self, message: Message, ranks: Sequence[int]) -> None:
        line = encode(message)
        if len(line) > MAX_LINE:  # an agent would end
            return
        for place in sorted({self._home[rank] for rank in ranks}):
            process = self._processes[place]
            stdin = process.stdin if process else None
            if stdin and not stdin.is_closing() and stdin.transport.get_write_buffer_size() < _MAX_UNREAD:
                stdin.write(line)

    async def _start(self, place: int) -> None:
        server = self.servers[place]
        try:
            process = await asyncio.create_subprocess_exec(
                *server.command, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=MAX_LINE, start_new_session=True
            )
        except OSError as error:
            self._lose_all(server, f"{server.command[0]} cannot be started: {error.strerror}")
            return
        self._processes[place] = process
        assert process.stdin
        process.stdin.write(encode(server.order.to_message()))
        self._readers.append(asyncio.create_task(self._listen(server, process)))

    async def _listen(self, server: Server, process: Process) -> None:
        """Take the messages of a server until it ends."""
        assert process.stdout
        assert process.stderr
        errors = bytearray()
        reading = asyncio.create_task(keep_end(process.stderr, errors))
        why = "its agent ended"
        try:
            while line := await process.stdout.readline():
                message = decode(line)
                if message is not None and message.get("rank") in server.ranks:
                    self._take(message["rank"], message)
                    self._heard.set()
        except ValueError:
            why = f"its agent wrote a line of more than {MAX_LINE} bytes"
        except OSError:  # its pipe is broken
            pass
        if not self._is_closing:
            _kill(process)
        await asyncio.wait([reading], timeout=_LAST)
        reading.cancel()
        lines = errors.decode("utf-8", "replace").strip().splitlines()
        telling = next((line for line in reversed(lines) if line.strip("- ")), why)  # mpirun draws lines
        self._lose_all(server, text_of(telling))
        self._heard.set()

    def _take(self, rank: int, message: Message) -> None:
        event = message.get("event")
        if event == "state":
            part = self._state[rank] = stopped_of(message)
            if self._phase.get(rank) == "ready":
                self._stopped.setdefault(rank, []).append(part)
            if part == 1.0:
                return  # no sign of life
        self._seen[rank] = time.monotonic()
        if event == "ready" or (event == "loaded" and rank not in self._phase):
            self._phase[rank] = event
            self.skipped = skipped_of(message) if event == "ready" else self.skipped
        elif event == "result":
            if not self.shares_fate:
                self._stuck.discard(rank)  # it was late, and is free again
            if message.get("step") == self._step:
                self._results[rank] = result_of(message)
        elif event == "put":
            self._pass_on(message)
        elif event == "gone":
            self._lose(
                rank, "dead" if self._phase.get(rank) == "ready" else "not started", text_of(message.get("detail"))
            )

    def _pass_on(self, message: Message) -> None:
        key, value, to = message.get("key"), message.get("value"), message.get("to")
        if isinstance(key, str) and isinstance(value, str) and isinstance(to, list):
            ranks = [rank for rank in to if isinstance(rank, int) and rank in self._home]
            self._send({"do": "put", "key": key, "value": value, "to": ranks}, ranks)

    def _lose_all(self, server: Server, detail: str) -> None:
        for rank in server.ranks:
            self._lose(rank, "unreachable", detail)

    def _lose(self, rank: int, how: Loss, detail: str) -> None:
        """Note a loss. The first of a rank counts; if ranks share their fate, none counts after one has died."""
        others_died = self.shares_fate and any(one.how == "dead" for one in self.lost.values())
        if not (self._is_closing or others_died):
            self.lost.setdefault(rank, LostRank(rank, how, detail))


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
