"""The servers of a job that are started over ssh: their processes, output and heartbeats.

Part of programs that launch scripts contain.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from hccl_kit.launch.payload.messages import printable
from hccl_kit.launch.payload.relay import MessageFilter, Relay
from hccl_kit.launch.payload.ssh_command import OWN_CODE, SSH_FAILED, Node, Variables, ssh_command, write

HEARTBEAT = 1.0
"""Seconds between two heartbeats."""
MAX_SHOWN = 1 << 20
"""Bytes of a line that is printed as a whole."""
GRACE = 12.0
"""Seconds that the servers have to end after a failure."""
UNFIT = 3
"""The exit code of a script whose preflight finds errors."""
AT_ONCE = 64
"""Connections that are being made at a time; each is a process that computes keys."""
CONNECTING = 15.0
"""Seconds after which a connection no longer counts as being made, even if its server has sent nothing."""


class Job:
    """All servers of a job, and the exit code of its first failure or signal."""

    def __init__(self, nodes: Sequence[Node], *, has_names: bool, variables: Variables) -> None:
        self.nodes, self.has_names, self.variables = nodes, has_names, variables
        self.relay = Relay([node.name for node in nodes], self.send, self.log)
        self.processes: dict[Node, asyncio.subprocess.Process] = {}
        self.code = 0
        self.over = asyncio.Event()
        self.connecting = asyncio.Semaphore(AT_ONCE)
        # A terminal that takes no output (Ctrl-S, a pager) must not stop the heartbeats: one thread prints in order.
        self.printer = ThreadPoolExecutor(1)
        self.to_print = self.printed = 0
        self.last_lines: dict[Node, str] = {}
        self.lost: set[Node] = set()
        self.lost_at = 0.0
        self.unfit: set[Node] = set()
        self.is_stopping = False
        self.is_interrupted = False
        self.signaled = asyncio.Event()
        self.signal_code = 0

    async def run(self, commands: Sequence[str]) -> int:
        """Start all servers and wait for them; after a failure, the others end or are stopped."""
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self.interrupt, number)
        watches = [asyncio.ensure_future(self.watch(*one)) for one in zip(range(len(commands)), commands)]  # noqa: B905
        over = asyncio.ensure_future(self.over.wait())
        everything = asyncio.ensure_future(asyncio.wait(watches))
        relaying = asyncio.ensure_future(self.relay.run())
        await asyncio.wait([over, everything], return_when=asyncio.FIRST_COMPLETED)
        if self.code <= 128:
            await self.wait_for_end(watches)
        await self.stop(watches)
        over.cancel()
        relaying.cancel()
        # Other servers exit with this code too if one is lost, maybe before its ssh does.
        return 2 if self.lost and self.code == SSH_FAILED else self.code

    def interrupt(self, number: int) -> None:
        """End the job by a signal to this program."""
        self.is_interrupted = not self.code
        self.signal_code = 128 + number
        self.signaled.set()
        self.fail(self.signal_code)

    def fail(self, code: int) -> None:
        """End the job; the first code counts."""
        self.code = self.code or code
        self.over.set()

    def log(self, text: str) -> None:
        """Print a message of the relay."""
        self.printer.submit(write, 2, f"{text}\n".encode())

    def send(self, number: int, line: str) -> None:
        """Send a message to a server; `watch` detects a broken connection."""
        process = self.processes.get(self.nodes[number])
        if process and process.stdin:
            with suppress(OSError, RuntimeError):
                process.stdin.write(f"{line}\n".encode())

    async def watch(self, number: int, command: str) -> None:
        """Run one server."""
        try:
            await self.run_server(number, command)
        finally:
            self.relay.leave(number)

    async def run_server(self, number: int, command: str) -> None:
        """Start a server when it is its turn, print its output, and handle its end."""
        node = self.nodes[number]
        await self.connecting.acquire()
        if self.over.is_set():
            self.connecting.release()
            return
        try:
            process = await asyncio.create_subprocess_exec(
                *ssh_command(node),
                command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            if not self.code:
                write(2, f"error: {error.filename}: {error.strerror}\n".encode())
            self.connecting.release()
            self.fail(2)
            return
        self.processes[node] = process
        assert process.stdin and process.stdout and process.stderr
        token = secrets.token_hex(16)
        self.send(number, self.variables.message + token)
        heartbeats = asyncio.ensure_future(self.send_heartbeats(process.stdin))
        answered = asyncio.Event()
        turn = asyncio.ensure_future(self.end_turn(answered))
        streams = ((process.stdout, 1), (process.stderr, 2))
        await asyncio.gather(*(self.read(number, stream, target, token, answered) for stream, target in streams))
        answered.set()
        await turn
        code = await process.wait()
        heartbeats.cancel()
        why = self.last_lines.get(node, "no reason given")
        if code < 0:
            why = f"its ssh was ended by signal {-code}"
        if code < 0 or (code == SSH_FAILED and why != OWN_CODE):
            code = 2
            if not self.is_stopping:
                self.lost.add(node)
                self.lost_at = time.monotonic()
                write(2, f"error: server {node.name} does not answer or was lost: {printable(why, 300)}\n".encode())
        if code == UNFIT and number not in self.relay.came:
            self.unfit.add(node)
        if code:
            self.fail(code)

    @property
    def lost_with_ranks(self) -> bool:
        """Whether ranks may still run on a server that was lost."""
        return bool(self.lost & {self.nodes[number] for number in self.relay.came})

    async def end_turn(self, answered: asyncio.Event) -> None:
        """Let the next server be connected when this one has answered, or after CONNECTING seconds."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(answered.wait(), CONNECTING)
        self.connecting.release()

    async def read(
        self, number: int, stream: asyncio.StreamReader, target: int, token: str, answered: asyncio.Event
    ) -> None:
        """Print the output of a server; the messages in it go to the relay."""
        node, message_filter, line = self.nodes[number], MessageFilter(token), b""
        while data := await stream.read(1 << 16):
            answered.set()
            shown, messages = message_filter.feed(data)
            *lines, line = (line + shown).split(b"\n")
            whole = [one + b"\n" for one in lines]
            if len(line) > MAX_SHOWN:
                whole, line = [*whole, line], b""
            for message in messages:
                self.relay.receive(number, message)
            await self.show(node, whole, target)
        if line + message_filter.rest:
            await self.show(node, [line + message_filter.rest], target)

    async def show(self, node: Node, lines: Sequence[bytes], target: int) -> None:
        """Print lines of a server, prefixed with its name unless they are from the first or have a prefix."""
        if target == 2 and lines:
            self.last_lines[node] = lines[-1].decode("utf-8", "replace").strip()
            lines = [line for line in lines if line.strip() != OWN_CODE.encode()]
        prefix = b"" if node == self.nodes[0] or self.has_names else f"[{node.name}] ".encode()
        if lines:
            text = b"".join(prefix + line for line in lines)
            self.to_print += 1
            await asyncio.get_running_loop().run_in_executor(self.printer, write, target, text)
            self.printed += 1

    async def wait_for_end(self, watches: Sequence[asyncio.Future[None]]) -> set[asyncio.Future[None]]:
        """Wait GRACE seconds for the servers, and return those that are left.

        Seconds in which the terminal takes no output do not count, or the report would be lost, except after a signal.
        """
        left, seconds = set(watches), GRACE
        while left and seconds > 0:
            printed = self.printed
            _, left = await asyncio.wait(left, timeout=1.0)
            if self.signal_code or self.to_print == printed or self.printed > printed:
                seconds -= 1.0
        return left

    async def send_heartbeats(self, stdin: asyncio.StreamWriter) -> None:
        """Send heartbeats; a server without them ends its ranks after some seconds."""
        with suppress(OSError):
            while True:
                stdin.write(b"\n")
                await stdin.drain()
                await asyncio.sleep(HEARTBEAT)

    async def stop(self, watches: Sequence[asyncio.Future[None]]) -> None:
        """End all servers: a server ends its ranks when its standard input ends."""
        self.is_stopping = True
        for process in self.processes.values():
            if process.returncode is None and process.stdin:
                process.stdin.close()
        left = await self.wait_for_end(watches)
        for process in self.processes.values():
            if process.returncode is None:
                process.kill()
        if left:
            await asyncio.wait(left, timeout=1)
