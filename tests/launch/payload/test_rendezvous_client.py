"""A node has joined when node 0 confirms it; it reconnects if its connection is dropped before."""

import asyncio
import os
from types import SimpleNamespace

import pytest

from hccl_kit.launch.payload import rendezvous_client
from hccl_kit.launch.payload.handshake import Channel, new_nonce, parse_hello, parse_proof, proof_of
from hccl_kit.launch.payload.node import Options, Stop
from hccl_kit.launch.payload.rendezvous_client import connect
from hccl_kit.launch.payload.rendezvous_server import close

SECRET, SHA = b"0123456789abcdef", "ab" * 32


class Node0:
    """A node 0 that drops the first connections after the proof, as if it had too many of them."""

    def __init__(self, drops: int) -> None:
        self.drops, self.seen = drops, 0

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        exchanged = parse_hello(await reader.readline(), 2), SHA, new_nonce()
        writer.write(" ".join(("answer", *exchanged[1:], proof_of(SECRET, "node 0", *exchanged))).encode() + b"\n")
        assert parse_proof(await reader.readline()) == proof_of(SECRET, "node", *exchanged)
        self.seen += 1
        if self.seen <= self.drops:
            writer.transport.abort()
            await asyncio.sleep(0)
            return
        channel = Channel(reader, writer, proof_of(SECRET, "session", *exchanged), is_node_0=True)
        channel.send("")
        channel.send("done")
        await reader.read()
        writer.close()


@pytest.mark.parametrize("drops", [0, 2])
def test_a_node_that_is_dropped_before_it_has_joined_reconnects(drops: int) -> None:
    async def heard() -> list[bytes]:
        server = await asyncio.start_server(node_0.accept, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        options = Options(1, "127.0.0.1", port, "PORT", SHA, 60.0, "1-2", 0, "", ("a", "b"), os.getppid())
        channel = await connect(options, SECRET)
        lines = channel.lines(60.0)
        found = [await anext(lines)]
        channel.writer.close()
        await channel.writer.wait_closed()
        server.close()
        await server.wait_closed()
        await asyncio.sleep(0.1)  # closed connections are removed
        return found

    node_0 = Node0(drops)
    assert asyncio.run(heard()) == [b"done"]
    assert node_0.seen == drops + 1


@pytest.mark.parametrize(
    ("error", "lasts", "longest"),
    [
        (ConnectionRefusedError, 0.0, [0.13, 0.169, 0.2197]),  # nobody listens yet
        (EOFError, 0.1, [0.1, 0.1, 0.1]),  # dropped in a flood
        (EOFError, 5.0, [2.0, 4.0, 8.0, 16.0, 32.0, 32.0]),  # node 0 is overloaded
        (asyncio.TimeoutError, 6.0, [2.0, 4.0, 8.0]),
    ],
)
def test_a_node_reconnects_at_once_or_with_increasing_delays(
    error: type[Exception], lasts: float, longest: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, pauses = SimpleNamespace(now=0.0), list[float]()

    async def attempt(*_: object) -> None:
        clock.now += lasts
        raise error

    async def sleep(seconds: float) -> None:
        clock.now += seconds
        pauses.append(seconds)

    monkeypatch.setattr(rendezvous_client, "authenticate", attempt)
    monkeypatch.setattr(rendezvous_client, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(rendezvous_client, "random", SimpleNamespace(uniform=lambda _, high: high))
    monkeypatch.setattr(asyncio, "sleep", sleep)
    options = Options(1, "127.0.0.1", 1, "PORT", SHA, 200.0, "1-2", 0, "", ("a", "b"), os.getppid())
    with pytest.raises(Stop, match=r"did not answer within 200 s"):
        asyncio.run(connect(options, SECRET))
    assert pauses[: len(longest)] == pytest.approx(longest)


def test_a_node_that_joins_while_the_job_ends_does_not_disturb_the_end() -> None:
    class Writer:
        closed = 0

        async def drain(self) -> None:
            peers[len(peers)] = peers[0]
            await asyncio.sleep(5)  # a server that is lost; the others do not wait for it

        def close(self) -> None:
            Writer.closed += 1

        async def wait_closed(self) -> None:
            pass

    async def seconds() -> float:
        began = asyncio.get_running_loop().time()
        await close(peers.values())
        return asyncio.get_running_loop().time() - began

    made = Channel(None, Writer(), "key", is_node_0=True)  # type: ignore[arg-type]  # it has all used attributes
    peers = dict.fromkeys(range(100), made)
    assert asyncio.run(seconds()) < 50
    assert len(peers) == 200
