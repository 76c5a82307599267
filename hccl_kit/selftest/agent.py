"""The agent of a server: starts the ranks there, and passes messages between them and the selftest.

    python -m hccl_kit.selftest.agent

Its standard input has a line with the ranks to start, then commands for all of them; its standard output has the
messages of the ranks. Ranks connect to a Unix socket in a folder that only this user can enter. When standard input
ends, so do all of its ranks.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import stat
import struct
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.base.own_program import own_program
from hccl_kit.base.process_end import killed_by
from hccl_kit.base.schemas import object_in
from hccl_kit.runtime.worker_env import MISLEADING, VISIBLE_DEVICES
from hccl_kit.selftest.protocol import MAX_ERRORS, MAX_LINE, SOCKET, Fields, encode, event_of, text_of

_ONE_CORE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Variables of the ranks unless the user has set them: the ranks of a server share its cores."""
_ROOT_MAY_RUN = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
_PREFIX = "hccl-kit-selftest-"
_MAX_PATH = 107
"""Bytes of the path of a Unix socket."""
_LOOK = 0.05
"""Seconds between two polls of the states of the processes."""
_LOOKS = 20
"""Polls between two reports of the states."""
_LAST = 1.0
"""Seconds to wait for the end of killed processes."""
_GRACE = 0.5
"""Seconds to wait for the last output of a dead rank."""


class Order(NamedTuple):
    """The ranks to start: the variables of each, those of all, and the framework."""

    backend: str
    environ: Mapping[str, str]
    workers: Sequence[Mapping[str, str]]

    @classmethod
    def parse(cls, message: Fields | None) -> Order | None:
        """The order in the first line that the selftest has sent; None for any other line."""
        return cls(**message) if message is not None and message.keys() == {*cls._fields} else None


class Agent:
    """The ranks of one server: their processes by rank (one of mpirun under None), and their connections."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.folder = _new_folder()
        self.writers: dict[int, asyncio.StreamWriter] = {}
        self.processes: dict[int | None, Process] = {}
        self.errors: dict[int | None, bytearray] = {}
        """The end of what each process has written to its standard error."""
        self.early: list[bytes] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def run(self, commands: asyncio.StreamReader) -> None:
        """Start the ranks and pass messages until `commands` ends."""
        path = str(self.folder / "socket")
        server = await asyncio.start_unix_server(self.connected, path, limit=MAX_LINE)
        try:
            await self.start(path)
            self.tasks.append(asyncio.create_task(self.tell_states()))
            while line := await _line(commands):
                if len(self.writers) < len(self.order.workers):
                    self.early.append(line)  # for ranks that are not connected yet
                for writer in self.writers.values():
                    writer.write(line)
        finally:
            server.close()
            await self.end()

    async def start(self, path: str) -> None:
        """Start a process for each rank, or one mpirun for all."""
        base = {name: value for name, value in os.environ.items() if name not in (*MISLEADING, VISIBLE_DEVICES)}
        base = {**_ONE_CORE, **base, **self.order.environ, SOCKET: path}
        program = own_program("hccl_kit.selftest.ranks.worker", self.order.backend)
        if self.order.backend == "mpi":
            options = ["-n", str(len(self.order.workers)), "--oversubscribe", "--bind-to", "none"]
            # Open MPI 5 does not start where a killed mpirun with its PID has left files, and `end` kills this one.
            own_folder = {"TMPDIR": str(self.folder)}
            await self.start_one(None, [_mpirun(), *options, *program], {**_ROOT_MAY_RUN, **base, **own_folder})
            return
        for worker in self.order.workers:
            await self.start_one(int(worker["RANK"]), program, {**base, **worker})

    async def start_one(self, rank: int | None, command: Sequence[str], environ: Mapping[str, str]) -> None:
        """Start a process in a group of its own, and watch it."""
        ranks = [int(worker["RANK"]) for worker in self.order.workers] if rank is None else [rank]
        try:
            process = await asyncio.create_subprocess_exec(
                *command, env=environ, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE, start_new_session=True
            )
        except OSError as error:
            for lost in ranks:
                say({"rank": lost, "event": "gone", "detail": f"{command[0]} cannot be started: {error.strerror}"})
            return
        self.processes[rank] = process
        self.tasks.append(asyncio.create_task(self.watch(rank, ranks, process)))

    async def watch(self, rank: int | None, ranks: Sequence[int], process: Process) -> None:
        """Keep the end of its errors; when it has ended, report the ranks that never connected."""
        assert process.stderr
        end = self.errors.setdefault(rank, bytearray())
        while piece := await process.stderr.read(MAX_ERRORS):
            end += piece
            del end[:-MAX_ERRORS]
        code = await process.wait()
        for lost in ranks:
            if lost not in self.writers:
                say({"rank": lost, "event": "gone", "detail": self.error_of(rank) or f"exit code {code}"})

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on the messages of a rank until its connection ends, which is its end."""
        line = await _line(reader)
        event = event_of(line)
        if event is None or event.rank in self.writers:
            writer.close()
            return
        rank = event.rank
        self.writers[rank] = writer
        for command in self.early:
            writer.write(command)
        while line:
            write(line)
            line = await _line(reader)
        await asyncio.sleep(_GRACE)
        say({"rank": rank, "event": "gone", "detail": self.why(rank)})

    async def tell_states(self) -> None:
        """Report for each rank in which part of the polls its process was stopped by a signal. The rank cannot know:
        a clock does not tell a process that is stopped from one that waits for a busy core.
        """
        while True:
            stopped: Counter[int] = Counter()
            for _ in range(_LOOKS):
                await asyncio.sleep(_LOOK)
                stopped.update(rank for rank, writer in self.writers.items() if _is_stopped(writer))
            for rank in list(self.writers):
                say({"rank": rank, "event": "state", "stopped": stopped[rank] / _LOOKS})

    def why(self, rank: int) -> str:
        """How the process of a rank ended."""
        if self.order.backend == "mpi":
            return ""
        code = self.processes[rank].returncode if rank in self.processes else None
        if code is not None and code < 0:
            return killed_by(-code)
        return self.error_of(rank)

    def error_of(self, rank: int | None) -> str:
        """The most informative line of its standard error; "" if it wrote nothing."""
        return text_of(_telling(self.errors.get(rank, b"").decode("utf-8", "replace").strip().splitlines()))

    async def end(self) -> None:
        """Kill all ranks and wait for their end; the group of a process, since mpirun and frameworks start more."""
        for writer in self.writers.values():
            writer.close()
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)
        with suppress(TimeoutError, asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.gather(*(process.wait() for process in self.processes.values())), _LAST)


def _new_folder() -> Path:
    """A temporary folder; in /tmp if TMPDIR is too long for a socket in it."""
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    if len(os.fsencode(folder / "socket")) > _MAX_PATH:
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir="/tmp"))  # mkdtemp makes a folder of its own
    return folder


def _is_stopped(writer: asyncio.StreamWriter) -> bool:
    """Whether the process at the other end of a Unix socket is stopped (T in its status)."""
    try:
        credentials = writer.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        pid, _, _ = struct.unpack("3i", credentials)
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:  # it has ended
        return False
    return status.rpartition(")")[2].split()[:1] in (["T"], ["t"])


def _mpirun() -> str:
    """The mpirun beside this Python, which belongs to its mpi4py, else that of the PATH."""
    beside = Path(sys.executable).with_name("mpirun")
    return str(beside) if beside.exists() else "mpirun"


def _telling(lines: Sequence[str]) -> str:
    """The most informative line: the last error, else the last line."""
    return next((line for line in reversed(lines) if "rror" in line), lines[-1] if lines else "")


async def _line(reader: asyncio.StreamReader) -> bytes:
    """The next line; empty at the end, and if it is too long or the connection breaks."""
    try:
        return await reader.readline()
    except (ValueError, OSError):
        return b""


def say(message: Fields) -> None:
    """Send a message to the selftest."""
    write(encode(message))


def write(line: bytes) -> None:
    """Write a whole line; if the selftest is gone, standard input ends too, and with it the agent."""
    with suppress(OSError):
        while line:
            line = line[os.write(1, line) :]


def _needs_order() -> KitError:
    return KitError("selftest.no-order", "the agent of hccl-kit selftest reads its ranks from standard input")


async def _run() -> int:
    mode = os.fstat(0).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        raise _needs_order()
    loop = asyncio.get_running_loop()
    commands = asyncio.StreamReader(limit=MAX_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), os.fdopen(os.dup(0), "rb"))
    order = Order.parse(object_in(await _line(commands)))
    if order is None:
        raise _needs_order()
    agent = Agent(order)
    serving = asyncio.create_task(agent.run(commands))
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        loop.add_signal_handler(number, serving.cancel)
    with suppress(asyncio.CancelledError):
        await serving
    return EXIT_OK


def main() -> None:
    """Run the agent, and end this process."""
    try:
        code = asyncio.run(_run())
    except KitError as error:
        sys.exit(error.render())
    sys.stdout.flush()
    os._exit(code)  # without waiting for readers of killed processes


if __name__ == "__main__":
    main()
