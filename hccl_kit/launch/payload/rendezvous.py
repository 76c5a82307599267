"""How the nodes of a job tell each other how it goes; the launch script of several servers carries this text.

    link.py NODE ADDRESS PORT PORT_NAME TABLE_SHA256 PATIENCE RUN MASTER_PORT SECRET_FILE SERVER ...

Node 0 listens on PORT of ADDRESS, the others come there. Both sides prove that they know the secret of the job, see
`lock`. When all are there, every node prints `start RUN MASTER_PORT`, as node 0 has them, and its script starts the
ranks. After that it hears from the script, on standard input, `done` or `failed RANK CODE SECONDS` with the seconds
that have passed since. Node 0 tells all who failed first: `over RANK CODE NODE`. A node that leaves without a word, or
is silent for SILENCE seconds, has failed with rank -1.

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
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from hccl_kit.launch.payload.door import Door, listener
from hccl_kit.launch.payload.lock import Channel, Hello, SecretError, equal, fresh, parse_answer, proof_of, read_secret
from hccl_kit.launch.payload.meeting import Meeting, named
from hccl_kit.launch.payload.messages import (
    LONGEST,
    LOST,
    LOST_CODE,
    OTHER_TABLE,
    TWICE,
    Done,
    FromNode,
    Here,
    Malformed,
    Over,
    Refused,
    Start,
    parse_from_node,
    parse_from_node_0,
    printable,
)

BEAT, SILENCE = 1.0, 6.0
"""Seconds between two signs of life, and after which a node counts as lost."""
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
    secret_file: str
    servers: tuple[str, ...]
    script: int

    @property
    def where(self) -> str:
        """Node 0 by its name and address."""
        return f"{self.servers[0]} ({self.address} port {self.port})"

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


async def script_lines() -> AsyncIterator[FromNode]:
    """What the script says on standard input, which has no end of its own."""
    reader = asyncio.StreamReader(LONGEST)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    with suppress(ValueError):  # a line that is too long
        while line := await reader.readline():
            try:
                yield parse_from_node(line)
            except Malformed as malformed:
                tell(f"error: unexpected message from the launch script: '{malformed}'")


class Host:
    """Node 0: its meeting, and the connections to the others."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.peers: dict[int, Channel] = {}
        self.meeting = Meeting(len(options.servers))
        self.meeting.hear(0, Here(options.run, options.master_port))

    async def serve(self, channel: Channel, hello: Hello) -> None:
        """A node that has proven itself, from then to its end."""
        name, is_here = self.options.servers[hello.node], False
        try:
            if self.admits(channel, hello):
                is_here = True
                async for line in channel.lines(SILENCE):
                    self.meeting.hear(hello.node, parse_from_node(line))
        except Malformed as malformed:
            tell(f"error: unexpected message in the name of server {name}: '{malformed}'")
        if is_here:
            self.meeting.leave(hello.node)

    def admits(self, channel: Channel, hello: Hello) -> bool:
        """Whether a node may join; it hears why not."""
        if hello.node in self.peers:
            channel.send(Refused(TWICE, self.options.sha256).line())
            return False
        if hello.sha256 != self.options.sha256:
            channel.send(Refused(OTHER_TABLE, self.options.sha256).line())
            tell(f"error: {self.options.servers[hello.node]} has another rank table, sha256 {hello.sha256}")
            tell(f"  this one is    sha256 {self.options.sha256}\n  fix: copy table and script of this node there")
            return False
        self.peers[hello.node] = channel
        self.meeting.hear(hello.node, Here(self.options.run, 0))
        return True

    async def gather(self) -> None:
        """Wait until all are here or one has failed. Raises Stop."""
        began = told = time.monotonic()
        while self.meeting.missing and not self.meeting.failures:
            await self.meeting.change()
            now, missing = time.monotonic(), [self.options.servers[node] for node in self.meeting.missing]
            if missing and now > began + self.options.patience:
                raise Stop(
                    2,
                    f"error: {named(missing)} did not come within {self.options.patience:g} s\n"
                    f"  fix: start this script there too; it must reach this node's port {self.options.port}",
                )
            if missing and now > told + REMIND:
                told = now
                tell(f"waiting for {named(missing)}; start this script there too")

    def broadcast(self, line: str) -> None:
        """One message to every node, this one's script included."""
        for channel in self.peers.values():
            channel.send(line)
        say(line)


async def serve(options: Options, secret: bytes) -> None:
    """Node 0. Raises Stop."""
    host = Host(options)
    door = Door(secret, options.sha256, len(options.servers), host.serve, tell)
    try:
        server = await asyncio.start_server(
            door.welcome, sock=listener(options.address, options.port, tell), limit=LONGEST
        )
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise Stop(
            2,
            f"error: the nodes of the job cannot meet at port {options.port}: {why}\n"
            f"  fix: export {options.port_name}=PORT, the same free one on every server",
        ) from error
    background = [
        asyncio.ensure_future(beat(host.peers.values(), options)),
        asyncio.ensure_future(listen_to_script(lambda message: host.meeting.hear(0, message))),
    ]
    await host.gather()
    host.broadcast(Start(options.run, options.master_port).line())
    end = await host.meeting.end()
    host.broadcast(end.line())
    await farewell(host.peers.values())
    server.close()
    for task in background:
        task.cancel()
    raise Stop(0 if end == Done() else 1)


async def farewell(peers: Iterable[Channel]) -> None:
    """Give the others the last word, as long as they take it."""
    for channel in peers:
        with suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(channel.writer.drain(), 1.0)
            channel.writer.close()
            await asyncio.wait_for(channel.writer.wait_closed(), 1.0)


async def beat(peers: Iterable[Channel], options: Options) -> None:
    """Signs of life to the others, as long as the script lives."""
    while True:
        options.assert_script_lives()
        for channel in peers:
            channel.send("")
        await asyncio.sleep(BEAT)


async def listen_to_script(hear: Callable[[FromNode], None]) -> None:
    """Hand on what the script says of the ranks of this node."""
    async for message in script_lines():
        hear(message)


async def join(options: Options, secret: bytes) -> None:
    """Any other node. Raises Stop."""
    channel = await knock(options, secret)
    background = [
        asyncio.ensure_future(beat([channel], options)),
        asyncio.ensure_future(listen_to_script(lambda message: channel.send(message.line()))),
    ]
    over = await hear_node_0(channel, options)
    for task in background:
        task.cancel()
    say(over.line())
    raise Stop(0 if over == Done() else 1)


async def hear_node_0(channel: Channel, options: Options) -> Over | Done:
    """Pass the start on to the script, and return how the job ended. Raises Stop where node 0 refuses this node."""
    try:
        async for line in channel.lines(SILENCE):
            message = parse_from_node_0(line, len(options.servers))
            if isinstance(message, (Over, Done)):
                return message
            if isinstance(message, Refused):
                raise Stop(2, f"error: {options.servers[0]} refuses this node: {reason(message, options)}")
            say(message.line())
    except Malformed as malformed:
        tell(f"error: unexpected message in the name of {options.where}: '{malformed}'")
    return Over(LOST, LOST_CODE, 0)


def reason(refused: Refused, options: Options) -> str:
    """Why node 0 refuses this node."""
    if refused.reason == TWICE:
        return f"{options.servers[options.node]} has come already"
    return f"node 0 has the table {refused.sha256}"


async def knock(options: Options, secret: bytes) -> Channel:
    """A connection to node 0, which may be started later than this one. Raises Stop."""
    began = told = time.monotonic()
    while True:
        options.assert_script_lives()
        try:
            return await asyncio.wait_for(prove(options, secret), SILENCE)
        except Malformed as malformed:
            raise Stop(
                2,
                f"error: {options.where} does not prove that it knows the secret of this job: '{malformed}'\n"
                f"  fix: copy {options.secret_file} of {options.servers[0]} here; or, where another program has that\n"
                f"  port, export {options.port_name}=PORT, the same free one on every server",
            ) from malformed
        except (OSError, EOFError, ValueError, asyncio.TimeoutError) as error:
            now = time.monotonic()
            if now > began + options.patience:
                raise Stop(
                    2,
                    f"error: {options.where} did not answer within {options.patience:g} s: {printable(str(error))}\n"
                    "  fix: start this script there too",
                ) from error
            if now > told + REMIND:
                told = now
                tell(f"waiting for {options.where}; start this script there too")
            await asyncio.sleep(0.1)


async def prove(options: Options, secret: bytes) -> Channel:
    """One attempt: node 0 proves itself, then this node. Raises Malformed where somebody else answers."""
    reader, writer = await asyncio.open_connection(options.address, options.port, limit=LONGEST)
    try:
        hello = Hello(options.node, options.sha256, fresh())
        writer.write(f"hello {hello.node} {hello.sha256} {hello.nonce}\n".encode())
        line = await reader.readline()
        if not line.endswith(b"\n"):
            raise EOFError("the connection ended")
        answer = parse_answer(line)
        heard = hello, answer.sha256, answer.nonce
        if not equal(answer.proof, proof_of(secret, "node 0", *heard)):
            raise Malformed(printable(line.rstrip(b"\n")))
        writer.write(f"proof {proof_of(secret, 'node', *heard)}\n".encode())
        return Channel(reader, writer, proof_of(secret, "session", *heard), is_node_0=False)
    except BaseException:
        writer.close()
        raise


def main(argv: Sequence[str]) -> int:
    """The program; returns its exit code."""
    script = os.getppid()
    with suppress(OSError, AttributeError):  # at once, so that a job which is started again does not meet this one
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for deadly in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(deadly, signal.SIG_IGN)  # the script hears them, and says here what becomes of the job
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a connection to every node
    node, address, port, port_name, sha256, patience, run, master_port, secret_file, *servers = argv
    options = Options(
        *(int(node), address, int(port), port_name, sha256, float(patience), run, int(master_port), secret_file),
        servers=tuple(map(printable, servers)),
        script=script,
    )
    try:
        secret = read_secret(secret_file)
        asyncio.run(join(options, secret) if options.node else serve(options, secret))
    except SecretError as error:
        tell(str(error))
        return 2
    except Stop as stop:
        if stop.text:
            tell(stop.text)
        return stop.code
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
