"""Starts a launch script on all servers over ssh; launch scripts of several servers contain this program for --ssh.

    ssh_start.py SCRIPT COUNT SERVER_0 SERVER_1 ... ADDRESS_0 ADDRESS_1 ... ARGUMENT ...

The script must have the same path on every server, and starts in the same folder as here. The output of the servers is
printed line by line, prefixed with the server's name except for the first server. Each server gets heartbeats on
standard input and ends with this program, however that ends. Messages between servers go through this program too
(`relay`), so no port is open and no secret is needed. At the end, logs that are not in this folder are fetched into it.

HCCL_KIT_SSH replaces `ssh`, for example "ssh -F FILE -p 2222". It needs Python 3.8 only.

Exit codes: that of the job, or 2 if a server does not answer.
"""

from __future__ import annotations

import asyncio
import os
import resource
import secrets
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from hccl_kit.launch.payload.diagnose_logs import diagnose
from hccl_kit.launch.payload.fetch_logs import MARK, fetch_all
from hccl_kit.launch.payload.messages import printable
from hccl_kit.launch.payload.relay import MessageFilter, Relay
from hccl_kit.launch.payload.ssh_command import (
    ADDRESS,
    OWN_CODE,
    SSH,
    SSH_FAILED,
    Node,
    remote_command,
    ssh_command,
    write,
)

HEARTBEAT = 1.0
"""Seconds between two heartbeats."""
MAX_SHOWN = 1 << 20
"""Bytes of a line that is printed as a whole."""
GRACE = 12.0
"""Seconds that the servers have to end after a failure."""


class Job:
    """All servers of a job, and the exit code of its first failure or signal."""

    def __init__(self, nodes: Sequence[Node], *, has_names: bool) -> None:
        self.nodes, self.has_names = nodes, has_names
        self.relay = Relay([node.name for node in nodes], self.send, lambda text: write(2, f"{text}\n".encode()))
        self.processes: dict[Node, asyncio.subprocess.Process] = {}
        self.code = 0
        self.over = asyncio.Event()
        self.last_lines: dict[Node, str] = {}
        self.lost: set[Node] = set()
        self.is_stopping = False
        self.is_interrupted = False

    async def run(self, commands: Sequence[str]) -> int:
        """Start all servers and wait for them; after a failure, the others end or are stopped."""
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self.interrupt, number)
        watches = [asyncio.ensure_future(self.watch(*pair)) for pair in zip(self.nodes, commands)]  # noqa: B905 - 3.8
        over = asyncio.ensure_future(self.over.wait())
        everything = asyncio.ensure_future(asyncio.wait(watches))
        relaying = asyncio.ensure_future(self.relay.run())
        await asyncio.wait([over, everything], return_when=asyncio.FIRST_COMPLETED)
        if self.code <= 128:
            await asyncio.wait(watches, timeout=GRACE)
        await self.stop(watches)
        over.cancel()
        relaying.cancel()
        # Other servers exit with this code too if one is lost, maybe before its ssh does.
        return 2 if self.lost and self.code == SSH_FAILED else self.code

    def interrupt(self, number: int) -> None:
        """End the job by a signal to this program."""
        self.is_interrupted = not self.code
        self.fail(128 + number)

    def fail(self, code: int) -> None:
        """End the job; the first code counts."""
        self.code = self.code or code
        self.over.set()

    def send(self, number: int, line: str) -> None:
        """Send a message to a server; `watch` detects a broken connection."""
        process = self.processes.get(self.nodes[number])
        if process and process.stdin:
            with suppress(OSError, RuntimeError):
                process.stdin.write(f"{line}\n".encode())

    async def watch(self, node: Node, command: str) -> None:
        """Run one server."""
        try:
            await self.run_server(node, command)
        finally:
            self.relay.leave(self.nodes.index(node))

    async def run_server(self, node: Node, command: str) -> None:
        """Start a server, print its output, and handle its end."""
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
            self.fail(2)
            return
        self.processes[node] = process
        assert process.stdin and process.stdout and process.stderr
        token = secrets.token_hex(16)
        self.send(self.nodes.index(node), token)
        heartbeats = asyncio.ensure_future(self.send_heartbeats(process.stdin))
        await asyncio.gather(self.read(node, process.stdout, 1, token), self.read(node, process.stderr, 2, token))
        code = await process.wait()
        heartbeats.cancel()
        why = self.last_lines.get(node, "no reason given")
        if code == SSH_FAILED and why != OWN_CODE:
            code = 2
            if not self.is_stopping:
                self.lost.add(node)
                write(2, f"error: server {node.name} does not answer or was lost: {printable(why, 300)}\n".encode())
        if code:
            self.fail(code)

    async def read(self, node: Node, stream: asyncio.StreamReader, target: int, token: str) -> None:
        """Print the output of a server; the messages in it go to the relay."""
        message_filter, line = MessageFilter(token), b""
        while data := await stream.read(1 << 16):
            shown, messages = message_filter.feed(data)
            *lines, line = (line + shown).split(b"\n")
            for whole in lines:
                self.show(node, whole + b"\n", target)
            if len(line) > MAX_SHOWN:
                self.show(node, line, target)
                line = b""
            for message in messages:
                self.relay.receive(self.nodes.index(node), message)
        if line + message_filter.rest:
            self.show(node, line + message_filter.rest, target)

    def show(self, node: Node, line: bytes, target: int) -> None:
        """Print a line of a server, prefixed with its name unless the line is from the first or has a prefix."""
        if target == 2:
            self.last_lines[node] = line.decode("utf-8", "replace").strip()
            if self.last_lines[node] == OWN_CODE:
                return
        prefix = b"" if node == self.nodes[0] or self.has_names else f"[{node.name}] ".encode()
        write(target, prefix + line)

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
        _, left = await asyncio.wait(watches, timeout=GRACE)
        for process in self.processes.values():
            if process.returncode is None:
                process.kill()
        if left:
            await asyncio.wait(left, timeout=1)


def main(argv: Sequence[str]) -> int:
    """Run the program, and return its exit code."""
    script, end = argv[0], 2 + int(argv[1])
    servers = [Node(*pair) for pair in zip(argv[2:end], argv[end:])]  # noqa: B905 - 3.8
    arguments = argv[end + len(servers) :]
    for node in servers:
        if not ADDRESS.fullmatch(node.address):
            write(2, f"error: server {node.name!r} has no address for ssh: {node.address!r}\n".encode())
            write(2, b'  fix: add "host_ip", an address of that host, to it in the table\n')
            return 2
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # three pipes to every server
    run = time.strftime("%Y%m%d-%H%M%S-") + str(os.getpid())
    folder = Path(os.environ.get("PWD") or Path.cwd())  # with symbolic links, as the user entered it
    logs = folder / "hccl_logs" / run
    try:
        shlex.split(os.environ.get(SSH, ""))
    except ValueError as error:
        write(2, f"error: {SSH} is {os.environ[SSH]!r}: {error}\n".encode())
        return 2
    sys.unraisablehook = lambda _: None  # asyncio complains about the pipes of a killed ssh
    try:
        logs.mkdir(parents=True)
        (logs / MARK).touch()
        commands = [remote_command(script, str(folder), node, run, arguments) for node in servers]
        code, is_interrupted = asyncio.run(start(servers, commands, has_names="--prefix" in arguments))
        try:
            fetch_all(servers, logs)
            unmark(logs)
        except KeyboardInterrupt:
            unmark(logs)
            write(2, b"interrupted; the missing logs are on their servers\n")
            os._exit(code)  # without waiting for transfers
        if code and not is_interrupted:
            with suppress(KeyboardInterrupt):
                diagnose(logs)
    except OSError as error:
        write(2, f"error: {error.filename or 'ssh'}: {error.strerror}\n".encode())
        return 2
    return code


def unmark(logs: Path) -> None:
    """Remove MARK, unless the user has removed the folder."""
    with suppress(OSError):
        (logs / MARK).unlink()


async def start(nodes: Sequence[Node], commands: Sequence[str], *, has_names: bool) -> tuple[int, bool]:
    """Run all servers in an event loop; returns the exit code, and whether a signal to this program ended the job.

    `has_names`: their lines already have a prefix.
    """
    job = Job(nodes, has_names=has_names)
    return await job.run(commands), job.is_interrupted


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
