"""Many nodes of one job in one process, for link_scale.py: the clients of the rendezvous without a script around each.

    python -m benchmarks.link_nodes FIRST COUNT TOTAL PORT SECRET_FILE

Every node connects from an address of its own in 127.1.0.0/16, as nodes of a cluster do, and speaks the protocol by the
code that launch scripts contain. A line of standard input is what all of them, or the first, report: `done`, `fail`,
or `lose`, which closes the connection of the first without a word. Every node prints its events, one line each.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from hccl_kit.launch.payload.handshake import Channel, read_secret
from hccl_kit.launch.payload.messages import Done, Failed
from hccl_kit.launch.payload.node import Options, Stop, send_heartbeats, send_to_script
from hccl_kit.launch.payload.rendezvous_client import connect, receive

SHA256 = "ab" * 32
DONE, FAIL, LOSE = "done", "fail", "lose"
JOINED = "joined"
"""What a node prints when its connection stands, before the messages of the job."""
_SOURCE: ContextVar[str] = ContextVar("source")
_open = asyncio.open_connection


async def open_from_source(*args: Any, **more: Any) -> Any:
    """A connection from the address of the node that asks for it."""
    return await _open(*args, **more, local_addr=(_SOURCE.get(), 0))


async def node(options: Options, secret: bytes, channels: dict[int, Channel]) -> None:
    """One node until the job is over."""
    _SOURCE.set(f"127.1.{options.node // 250}.{options.node % 250 + 1}")
    try:
        channel = channels[options.node] = await connect(options, secret)
        send_to_script(JOINED)
        heartbeats = asyncio.ensure_future(send_heartbeats([channel], options))
        try:
            send_to_script((await receive(channel, options)).line())
        finally:
            heartbeats.cancel()
    except Stop as stop:
        send_to_script(f"stop {stop}".partition("\n")[0])


async def obey(channels: dict[int, Channel]) -> None:
    """Carry out the commands on standard input."""
    while line := (await asyncio.to_thread(sys.stdin.readline)).strip():
        first = channels[min(channels)]
        if line == LOSE:
            first.writer.transport.abort()
        elif line == FAIL:
            first.send(Failed(5, 1).line())
        else:
            for channel in channels.values():
                channel.send(Done().line())


async def main() -> None:
    """Run the nodes."""
    first, count, total, port = map(int, sys.argv[1:5])
    servers = tuple(f"server-{number}" for number in range(total))
    asyncio.open_connection = open_from_source
    secret = read_secret(sys.argv[5])
    channels: dict[int, Channel] = {}
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    orders = asyncio.ensure_future(obey(channels))
    made = (
        Options(n, "127.0.0.1", port, "PORT", SHA256, 600.0, "1-2", 0, sys.argv[5], servers, os.getppid())
        for n in range(first, first + count)
    )
    await asyncio.gather(*(node(options, secret, channels) for options in made))
    orders.cancel()


if __name__ == "__main__":
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with suppress(KeyboardInterrupt):
        asyncio.run(main())
    os._exit(0)  # without the thread that waits for standard input
