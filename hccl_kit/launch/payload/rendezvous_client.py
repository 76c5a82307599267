"""The rendezvous at all nodes but node 0: connects to node 0, and passes on messages between it and the launch script.

Part of programs that launch scripts contain.
"""

from __future__ import annotations

import asyncio
import random
import time

from hccl_kit.launch.payload.attempt import REMIND
from hccl_kit.launch.payload.handshake import Channel, Hello, equal, new_nonce, parse_answer, proof_of
from hccl_kit.launch.payload.messages import (
    LOST,
    LOST_CODE,
    MAX_LINE,
    TWICE,
    Done,
    Malformed,
    Over,
    Refused,
    parse_from_node_0,
    printable,
)
from hccl_kit.launch.payload.node import SILENCE, Options, Stop, log, read_script, send_heartbeats, send_to_script

FIRST_PAUSE, LAST_PAUSE = 0.1, 1.0
"""Seconds between two attempts to connect. They grow while nobody listens: a thousand nodes may wait for node 0. A node
that was dropped comes back at once: in a flood, who tries more often gets in."""
SLOW = 3.0
"""Seconds after which a failed attempt was slow: node 0 has more to do than it can, for each attempt costs it work."""
LONGEST_PAUSE = 32.0
"""Seconds after many slow attempts, each of which doubles the pause; so fewer nodes come at once, and these get in."""


async def join(options: Options, secret: bytes) -> None:
    """Run a node other than node 0. Raises Stop."""
    channel = await connect(options, secret)
    background = [
        asyncio.ensure_future(send_heartbeats([channel], options)),
        asyncio.ensure_future(read_script(lambda message: channel.send(message.line()))),
    ]
    result = await receive(channel, options)
    for task in background:
        task.cancel()
    send_to_script(result.line())
    raise Stop(0 if result == Done() else 1)


async def receive(channel: Channel, options: Options) -> Over | Done:
    """Pass the start on to the script, and return the result of the job. Raises Stop if node 0 refuses this node."""
    try:
        async for line in channel.lines(SILENCE):
            message = parse_from_node_0(line, len(options.servers))
            if isinstance(message, (Over, Done)):
                return message
            if isinstance(message, Refused):
                raise Stop(2, f"error: {options.servers[0]} refuses this node: {reason(message, options)}")
            send_to_script(message.line())
    except Malformed as malformed:
        log(f"error: unexpected message in the name of {options.node_0}: '{malformed}'")
    return Over(LOST, LOST_CODE, 0)


def reason(refused: Refused, options: Options) -> str:
    """Why node 0 refuses this node."""
    if refused.reason == TWICE:
        return f"{options.servers[options.node]} has already joined"
    return f"node 0 has the table {refused.sha256}"


async def connect(options: Options, secret: bytes) -> Channel:
    """A connection to node 0, which may be started later than this node. Raises Stop after the timeout."""
    began = reminded = time.monotonic()
    pause, slow = FIRST_PAUSE, 0
    while True:
        options.exit_without_script()
        tried = time.monotonic()
        try:
            return await asyncio.wait_for(authenticate(options, secret), SILENCE)
        except Malformed as malformed:
            raise Stop(
                2,
                f"error: {options.node_0} does not prove that it knows the secret of this job: '{malformed}'\n"
                f"  fix: copy {options.secret_file} of {options.servers[0]} here; or, if another program has that\n"
                f"  port, export {options.port_name}=PORT, the same free one on every server",
            ) from malformed
        except (OSError, EOFError, ValueError, asyncio.TimeoutError) as error:
            now = time.monotonic()
            if now > began + options.timeout:
                raise Stop(
                    2,
                    f"error: {options.node_0} did not answer within {options.timeout:g} s: {printable(str(error))}\n"
                    "  fix: start this script there too",
                ) from error
            if now > reminded + REMIND:
                reminded = now
                log(f"waiting for {options.node_0}; start this script there too")
            if isinstance(error, ConnectionRefusedError):
                pause = min(LAST_PAUSE, pause * 1.3)
            elif now - tried > SLOW:
                slow += 1
                pause = min(LONGEST_PAUSE, 2.0**slow)
            else:
                pause = FIRST_PAUSE
            await asyncio.sleep(pause * random.uniform(0.1, 1.0))  # noqa: S311 - so that they do not come together


async def authenticate(options: Options, secret: bytes) -> Channel:
    """One attempt: node 0 authenticates, then this node. Raises Malformed if another program answers."""
    reader, writer = await asyncio.open_connection(options.address, options.port, limit=MAX_LINE)
    try:
        hello = Hello(options.node, options.sha256, new_nonce())
        writer.write(f"hello {hello.node} {hello.sha256} {hello.nonce}\n".encode())
        line = await reader.readline()
        if not line.endswith(b"\n"):
            raise EOFError("the connection ended")
        answer = parse_answer(line)
        exchanged = hello, answer.sha256, answer.nonce
        if not equal(answer.proof, proof_of(secret, "node 0", *exchanged)):
            raise Malformed(printable(line.rstrip(b"\n")))
        writer.write(f"proof {proof_of(secret, 'node', *exchanged)}\n".encode())
        channel = Channel(reader, writer, proof_of(secret, "session", *exchanged), is_node_0=False)
        await channel.next()
        return channel
    except BaseException:
        writer.close()
        raise
