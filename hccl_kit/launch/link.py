"""How the nodes of a job tell each other how it goes; the launch script of several servers carries this text.

    link.py NODE ADDRESS PORT PORT_NAME TABLE_SHA256 PATIENCE RUN MASTER_PORT SERVER ...

Node 0 listens on PORT, the others come to ADDRESS. When all are there, every node prints `start RUN MASTER_PORT`, as
node 0 has them, and its script starts the ranks. After that it hears from the script, on standard input, `done` or
`failed RANK CODE SECONDS` with the seconds that have passed since. Node 0 tells all who failed first:
`over RANK CODE SERVER`. A node that leaves without a word, or is silent for SILENCE seconds, has failed with rank -1.

Exit codes: 0 all are done, 1 somebody failed, 2 the nodes did not come together. It needs nothing but Python 3.8, and
ends with the script that started it. Numbers and names of at most LONGEST bytes cross the network, nothing else.
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

LONGEST = 1024
"""Bytes of a line."""
BEAT, SILENCE = 1.0, 6.0
"""Seconds between two signs of life, and after which a node counts as lost."""
JUDGING = 0.3
"""Seconds after the first bad news in which a node may tell of an earlier failure."""
LOST = "-1", "255"
"""Rank and exit code of a node that is gone."""
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
    master_port: str
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


async def lines_of(reader: asyncio.StreamReader, silence: float | None) -> AsyncIterator[list[str]]:
    """The words of each line, signs of life left out; ends where the other side is gone, silent or talks nonsense."""
    with suppress(OSError, asyncio.TimeoutError, ValueError):
        while line := await asyncio.wait_for(reader.readline(), silence):
            words = line.decode().split()
            if words:
                yield words


async def script_lines() -> AsyncIterator[list[str]]:
    """What the script says on standard input, which has no end of its own."""
    reader = asyncio.StreamReader(LONGEST)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async for words in lines_of(reader, None):
        yield words


class Meeting:
    """Node 0: who is here, who is done, who has failed and when by the clock of this node."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.peers: dict[int, asyncio.StreamWriter] = {}
        self.done: set[int] = set()
        self.failures: list[tuple[float, str, str, str]] = []
        self.changed = asyncio.Event()

    @property
    def missing(self) -> list[str]:
        """The servers that have not come yet."""
        return [name for node, name in enumerate(self.options.servers) if node and node not in self.peers]

    def hear(self, node: int, words: list[str]) -> None:
        """What the script of a node says of its ranks."""
        if words == ["done"]:
            self.done.add(node)
        elif words[0] == "failed":
            _, rank, code, ago = words
            self.fail(node, str(int(rank)), str(int(code)), float(ago))
        self.changed.set()

    def fail(self, node: int, rank: str, code: str, ago: float = 0.0) -> None:
        """A node has failed `ago` seconds before now."""
        self.failures.append((time.monotonic() - ago, rank, code, self.options.servers[node]))
        self.changed.set()

    async def welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its hello to its end."""
        node = None
        with suppress(ValueError, asyncio.CancelledError):  # cancelled at the end of this program
            async for words in lines_of(reader, SILENCE):
                if node is not None:
                    self.hear(node, words)
                    continue
                node = self.greet(words, writer)
                if node is None:
                    break
        if node is not None and node not in self.done:
            self.fail(node, *LOST)
        writer.close()

    def greet(self, words: list[str], writer: asyncio.StreamWriter) -> int | None:
        """`hello NODE SHA256`: the node, where it is one of this job with the table of this job."""
        if len(words) != 3 or words[0] != "hello" or not 0 < int(words[1]) < len(self.options.servers):
            return None
        node, sha256 = int(words[1]), words[2]
        if node in self.peers:
            send(writer, f"refused {self.options.servers[node]}-has-come-already")
            return None
        if sha256 != self.options.sha256:
            send(writer, f"refused node-0-has-the-table-{self.options.sha256}")
            tell(f"error: {self.options.servers[node]} has another rank table, sha256 {sha256[:64]}")
            tell(f"  this one is    sha256 {self.options.sha256}\n  fix: copy table and script of this node there")
            return None
        self.peers[node] = writer
        self.changed.set()
        return node

    def broadcast(self, line: str) -> None:
        """One line to every node, this one's script included."""
        for writer in self.peers.values():
            send(writer, line)
        say(line)


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
    meeting.broadcast(f"start {options.run} {options.master_port}")
    while len(meeting.done) < len(options.servers) and not meeting.failures:
        await change(meeting)
    if meeting.failures:
        await asyncio.sleep(JUDGING)
        _, rank, code, name = min(meeting.failures)
        meeting.broadcast(f"over {rank} {code} {name}")
    else:
        meeting.broadcast("done")
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


async def listen_to_script(hear: Callable[[int, list[str]], None]) -> None:
    """Hand on what the script says of the ranks of this node."""
    async for words in script_lines():
        hear(0, words)


async def join(options: Options) -> None:
    """Any other node. Raises Stop."""
    reader, writer = await knock(options)
    send(writer, f"hello {options.node} {options.sha256}")
    background = [
        asyncio.ensure_future(beat({0: writer}, options)),
        asyncio.ensure_future(listen_to_script(lambda _, words: send(writer, " ".join(words)))),
    ]
    over = f"over {' '.join(LOST)} {options.servers[0]}"
    async for words in lines_of(reader, SILENCE):
        if words[0] == "refused":
            raise Stop(2, f"error: {options.servers[0]} refuses this node: {words[1].replace('-', ' ')}")
        over = " ".join(words)
        if words[0] != "start":
            break
        say(over)
        over = f"over {' '.join(LOST)} {options.servers[0]}"
    say(over)
    for task in background:
        task.cancel()
    raise Stop(0 if over == "done" else 1)


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
            now, where = time.monotonic(), f"{options.servers[0]} ({options.address} port {options.port})"
            if now > began + options.patience:
                raise Stop(
                    2,
                    f"error: {where} did not answer within {options.patience:g} s: {error}\n"
                    "  fix: start this script there too",
                ) from error
            if now > told + REMIND:
                told = now
                tell(f"waiting for {where}; start this script there too")
            await asyncio.sleep(0.1)


def main(argv: Sequence[str]) -> int:
    """The program; returns its exit code."""
    script = os.getppid()
    with suppress(OSError, AttributeError):  # at once, so that a job which is started again does not meet this one
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the script hears them, and says here what becomes of the job
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a connection to every node
    node, address, port, port_name, sha256, patience, run, master_port, *servers = argv
    options = Options(
        int(node), address, int(port), port_name, sha256, float(patience), run, master_port, tuple(servers), script
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
