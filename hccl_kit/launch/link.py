"""How the nodes of a job tell each other how it goes; the launch script of several servers carries this text.

    link.py NODE ADDRESS PORT PORT_NAME TABLE_SHA256 PATIENCE RUN MASTER_PORT SERVER ...

Node 0 listens on PORT, the others come to ADDRESS. When all are there, every node prints `start RUN MASTER_PORT`, as
node 0 has them, and its script starts the ranks. After that it hears from the script, on standard input, `done` or
`failed RANK CODE SECONDS` with the seconds that have passed since. Node 0 tells all who failed first:
`over RANK CODE NODE`. A node that leaves without a word, or is silent for SILENCE seconds, has failed with rank -1.

Exit codes: 0 all are done, 1 somebody failed, 2 the nodes did not come together. It needs nothing but Python 3.8, and
ends with the script that started it. `messages` parses every line, of the network and of the script, before it is used.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from hccl_kit.launch.messages import (
    LONGEST,
    LOST,
    LOST_CODE,
    OTHER_TABLE,
    TWICE,
    Done,
    Failed,
    FromNode,
    FromNode0,
    Malformed,
    Over,
    Refused,
    Start,
    is_sha256,
    number,
    parse_from_node,
    parse_from_node_0,
    printable,
)

BEAT, SILENCE = 1.0, 6.0
"""Seconds between two signs of life, and after which a node counts as lost."""
JUDGING = 0.3
"""Seconds after the first bad news in which a node may tell of an earlier failure."""
PR_SET_PDEATHSIG = 1
"""Of Linux: a signal to this process at the death of the one that started it."""
REMIND = 10.0
"""Seconds between two words about what is waited for."""


class Options(NamedTuple):
    """The command line. `patience`: seconds that the nodes wait for each other; `servers`: what messages call them;
    `port_name`: the variable that sets `port`. And the id of the `script`, with which this program ends.
    """

    node: int
    address: str
    port: int
    port_name: str
    sha256: str
    patience: float
    run: str
    master_port: int
    servers: tuple[str, ...]
    script: int

    def assert_script_lives(self) -> None:
        """A link without its script would speak for a node that is not there. The connections close, and all know."""
        if os.getppid() != self.script:
            os._exit(1)


class Stop(Exception):  # noqa: N818 - it is no error where all went well
    """Ends this program with an exit code, after a text for the user where there is one."""

    def __init__(self, code: int, text: str = "") -> None:
        super().__init__(text)
        self.code, self.text = code, text


def say(line: str) -> None:
    """One line to the script."""
    os.write(1, f"{line}\n".encode())


def tell(text: str) -> None:
    """One text to the user."""
    os.write(2, f"{text}\n".encode())


def send(writer: asyncio.StreamWriter, line: str) -> None:
    """One line to another node; that it is gone is noticed by whoever reads."""
    with suppress(OSError, RuntimeError):
        writer.write(f"{line}\n".encode())


async def lines_of(reader: asyncio.StreamReader, silence: float | None) -> AsyncIterator[bytes]:
    """Each line, signs of life left out; ends where the other side is gone, silent or sends too long a line."""
    with suppress(OSError, asyncio.TimeoutError, ValueError):
        while (line := await asyncio.wait_for(reader.readline(), silence)).endswith(b"\n"):
            if line.strip():
                yield line


async def script_lines() -> AsyncIterator[FromNode]:
    """What the script says on standard input, which has no end of its own."""
    reader = asyncio.StreamReader(LONGEST)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async for line in lines_of(reader, None):
        try:
            yield parse_from_node(line)
        except Malformed as malformed:
            tell(f"error: unexpected message from the launch script: '{malformed}'")


class Meeting:
    """Node 0: who is here, who is done, who has failed and when by the clock of this node."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.peers: dict[int, asyncio.StreamWriter] = {}
        self.done: set[int] = set()
        self.failures: list[tuple[float, Over]] = []
        self.changed = asyncio.Event()

    @property
    def missing(self) -> list[str]:
        """The servers that have not come yet."""
        return [name for node, name in enumerate(self.options.servers) if node and node not in self.peers]

    def hear(self, node: int, message: FromNode) -> None:
        """What the script of a node says of its ranks."""
        if isinstance(message, Done):
            self.done.add(node)
        elif isinstance(message, Failed):
            self.fail(Over(message.rank, message.code, node), message.ago)
        self.changed.set()

    def fail(self, over: Over, ago: float = 0.0) -> None:
        """A node has failed `ago` seconds before now."""
        self.failures.append((time.monotonic() - ago, over))
        self.changed.set()

    async def welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its hello to its end."""
        node = None
        try:
            async for line in lines_of(reader, SILENCE):
                if node is not None:
                    self.hear(node, parse_from_node(line))
                    continue
                node = self.greet(line, writer)
                if node is None:
                    break
        except Malformed as malformed:
            tell(f"error: unexpected message from server {self.options.servers[node or 0]}: '{malformed}'")
        except asyncio.CancelledError:  # at the end of this program
            pass
        if node is not None and node not in self.done:
            self.fail(Over(LOST, LOST_CODE, node))
        writer.close()

    def greet(self, line: bytes, writer: asyncio.StreamWriter) -> int | None:
        """`hello NODE SHA256`: the node, where it is one of this job with the table of this job."""
        words = line.decode("ascii", "replace").split()
        node = number(words[1], 1, len(self.options.servers) - 1) if len(words) == 3 and words[0] == "hello" else None
        if node is None or not is_sha256(words[2]):
            return None
        if node in self.peers:
            send(writer, Refused(TWICE, self.options.sha256).line())
            return None
        if words[2] != self.options.sha256:
            send(writer, Refused(OTHER_TABLE, self.options.sha256).line())
            tell(f"error: {self.options.servers[node]} has another rank table, sha256 {words[2]}")
            tell(f"  this one is    sha256 {self.options.sha256}\n  fix: copy table and script of this node there")
            return None
        self.peers[node] = writer
        self.changed.set()
        return node

    def broadcast(self, message: FromNode0) -> None:
        """One message to every node, this one's script included."""
        for writer in self.peers.values():
            send(writer, message.line())
        say(message.line())


def named(servers: list[str]) -> str:
    """The first of many names."""
    return ", ".join(servers[:8]) + (f" and {len(servers) - 8} more" if len(servers) > 8 else "")


async def serve(options: Options) -> None:
    """Node 0. Raises Stop."""
    meeting = Meeting(options)
    try:
        server = await asyncio.start_server(meeting.welcome, None, options.port, limit=LONGEST)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise Stop(
            2,
            f"error: the nodes of the job cannot meet at port {options.port}: {why}\n"
            f"  fix: export {options.port_name}=PORT, the same free one on every server",
        ) from error
    background = [
        asyncio.ensure_future(beat(meeting.peers, options)),
        asyncio.ensure_future(listen_to_script(meeting.hear)),
    ]
    began = told = time.monotonic()
    while meeting.missing and not meeting.failures:
        now = time.monotonic()
        if now > began + options.patience:
            raise Stop(
                2,
                f"error: {named(meeting.missing)} did not come within {options.patience:g} s\n"
                f"  fix: start this script there too; it must reach this node's port {options.port}",
            )
        if now > told + REMIND:
            told = now
            tell(f"waiting for {named(meeting.missing)}; start this script there too")
        await change(meeting)
    meeting.broadcast(Start(options.run, options.master_port))
    while len(meeting.done) < len(options.servers) and not meeting.failures:
        await change(meeting)
    if meeting.failures:
        await asyncio.sleep(JUDGING)
        meeting.broadcast(min(meeting.failures)[1])
    else:
        meeting.broadcast(Done())
    await farewell(meeting.peers)
    server.close()
    for task in background:
        task.cancel()
    raise Stop(1 if meeting.failures else 0)


async def change(meeting: Meeting) -> None:
    """Until something happens, or for a second."""
    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(meeting.changed.wait(), 1.0)
    meeting.changed.clear()


async def farewell(peers: dict[int, asyncio.StreamWriter]) -> None:
    """Give the others the last word, as long as they take it."""
    for writer in peers.values():
        with suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(writer.drain(), 1.0)
            writer.close()
            await asyncio.wait_for(writer.wait_closed(), 1.0)


async def beat(peers: dict[int, asyncio.StreamWriter], options: Options) -> None:
    """Signs of life to the others, as long as the script lives."""
    while True:
        options.assert_script_lives()
        for writer in peers.values():
            send(writer, "")
        await asyncio.sleep(BEAT)


async def listen_to_script(hear: Callable[[int, FromNode], None]) -> None:
    """Hand on what the script says of the ranks of this node."""
    async for message in script_lines():
        hear(0, message)


async def join(options: Options) -> None:
    """Any other node. Raises Stop."""
    reader, writer = await knock(options)
    send(writer, f"hello {options.node} {options.sha256}")
    background = [
        asyncio.ensure_future(beat({0: writer}, options)),
        asyncio.ensure_future(listen_to_script(lambda _, message: send(writer, message.line()))),
    ]
    try:
        over = await hear_node_0(reader, options)
    finally:
        for task in background:
            task.cancel()
    say(over.line())
    raise Stop(0 if over == Done() else 1)


async def hear_node_0(reader: asyncio.StreamReader, options: Options) -> Over | Done:
    """Pass the start on to the script, and return how the job ended. Raises Stop before the start."""
    started = False
    try:
        async for line in lines_of(reader, SILENCE):
            message = parse_from_node_0(line, len(options.servers))
            if isinstance(message, (Over, Done)):
                return message
            if isinstance(message, Refused):
                raise Stop(2, f"error: {options.servers[0]} refuses this node: {reason(message, options)}")
            say(message.line())
            started = True
    except Malformed as malformed:
        text = f"error: unexpected message from {where(options)}: '{malformed}'"
        if not started:
            raise Stop(2, text) from malformed
        tell(text)
    return Over(LOST, LOST_CODE, 0)


def reason(refused: Refused, options: Options) -> str:
    """Why node 0 refuses this node."""
    if refused.reason == TWICE:
        return f"{options.servers[options.node]} has come already"
    return f"node 0 has the table {refused.sha256}"


def where(options: Options) -> str:
    """Node 0 by its name and address."""
    return f"{options.servers[0]} ({printable(options.address)} port {options.port})"


async def knock(options: Options) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to node 0, which may be started later than this one."""
    began = told = time.monotonic()
    while True:
        options.assert_script_lives()
        try:
            return await asyncio.wait_for(
                asyncio.open_connection(options.address, options.port, limit=LONGEST), SILENCE
            )
        except (OSError, asyncio.TimeoutError) as error:
            now = time.monotonic()
            if now > began + options.patience:
                raise Stop(
                    2,
                    f"error: {where(options)} did not answer within {options.patience:g} s: {error}\n"
                    "  fix: start this script there too",
                ) from error
            if now > told + REMIND:
                told = now
                tell(f"waiting for {where(options)}; start this script there too")
            await asyncio.sleep(0.1)


def main(argv: Sequence[str]) -> int:
    """The program; returns its exit code."""
    script = os.getppid()
    with suppress(OSError, AttributeError):  # at once, so that a job which is started again does not meet this one
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for deadly in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(deadly, signal.SIG_IGN)  # the script hears them, and says here what becomes of the job
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a connection to every node
    node, address, port, port_name, sha256, patience, run, master_port, *servers = argv
    options = Options(
        int(node), address, int(port), port_name, sha256, float(patience), run, int(master_port), tuple(servers), script
    )
    try:
        asyncio.run(join(options) if options.node else serve(options))
    except Stop as stop:
        if stop.text:
            tell(stop.text)
        return stop.code
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
