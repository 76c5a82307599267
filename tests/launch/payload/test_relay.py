"""Messages in the output of servers, and their handling by the relay of --ssh."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.launch.payload import relay
from hccl_kit.launch.payload.messages import MAX_LINE
from hccl_kit.launch.payload.relay import MessageFilter, Relay

TOKEN = "0123456789abcdef" * 2
MARK = f"{TOKEN} ".encode()


def fed(data: bytes, cuts: list[int]) -> tuple[bytes, list[bytes]]:
    """The result of a filter on a stream that arrives in pieces."""
    filter_, shown, found, begin = MessageFilter(TOKEN), b"", [], 0
    for end in [*sorted({cut % (len(data) + 1) for cut in cuts}), len(data)]:
        more, messages = filter_.feed(data[begin:end])
        shown, begin = shown + more, end
        found += messages
    return shown + filter_.rest, found


@given(
    st.lists(st.one_of(st.binary(max_size=9), st.sampled_from([MARK[:9], TOKEN.encode(), b"0", b"\n"])), max_size=9),
    st.lists(st.integers(0, 999)),
)
def test_messages_are_found_however_the_stream_is_split(output: list[bytes], cuts: list[int]) -> None:
    """The token is random, so it does not occur in other output; parts of it may."""
    texts = [text for text in output if MARK not in text]
    data = b"".join(text + MARK + b"done %d\n" % number for number, text in enumerate(texts))
    if data.count(MARK) == len(texts):
        assert fed(data, cuts) == (b"".join(texts), [b"done %d" % number for number in range(len(texts))])


@given(st.binary(max_size=200), st.lists(st.integers(0, 999)))
def test_other_output_passes_unchanged(output: bytes, cuts: list[int]) -> None:
    assert fed(output, cuts) == (output, [])


def test_an_endless_message_takes_bounded_memory() -> None:
    filter_ = MessageFilter(TOKEN)
    for _ in range(100):
        filter_.feed(MARK + b"x" * 999)
    assert len(filter_.rest) <= MAX_LINE


class Servers:
    """Records the messages of a relay to its servers, and its log."""

    def __init__(self, count: int) -> None:
        self.sent: list[tuple[int, str]] = []
        self.logged: list[str] = []
        self.relay = Relay([f"s{number}" for number in range(count)], lambda *pair: self.sent.append(pair), self.log)
        self.count = count

    def log(self, text: str) -> None:
        self.logged.append(text)

    def ready(self) -> None:
        for node in range(self.count):
            self.relay.receive(node, b"here 1-2 4711" if node == 0 else b"here 1-2 0")

    async def all_get(self, line: str) -> None:
        """Wait until the line has been sent to every server, and remove it from the record."""
        while [pair for pair in self.sent if pair[1] == line] != [(node, line) for node in range(self.count)]:
            await asyncio.sleep(0.01)
        self.sent.clear()


def played(count: int, play: Callable[[Servers], Awaitable[None]]) -> Servers:
    async def both() -> Servers:
        made = Servers(count)
        running = asyncio.ensure_future(made.relay.run())
        await asyncio.wait_for(play(made), 20)
        running.cancel()
        return made

    return asyncio.run(both())


def test_the_first_server_sets_run_and_port_and_all_finish_together() -> None:
    async def play(servers: Servers) -> None:
        servers.ready()
        await servers.all_get("start 1-2 4711")
        for node in range(3):
            servers.relay.receive(node, b"done")
            servers.relay.leave(node)
        await servers.all_get("done")

    assert played(3, play).logged == []


def test_the_earliest_failure_is_reported_and_a_restart_clears_it() -> None:
    async def play(servers: Servers) -> None:
        servers.ready()
        await servers.all_get("start 1-2 4711")
        servers.relay.receive(0, b"failed 0 1 0")
        servers.relay.receive(1, b"failed 2 7 5")
        await servers.all_get("over 2 7 1")
        servers.relay.receive(0, b"failed 0 1 0")  # of the previous start
        servers.ready()
        await servers.all_get("start 1-2 4711")

    assert played(2, play).logged == []


@pytest.mark.parametrize("is_here", [True, False])
def test_a_disconnected_server_ends_the_job_at_once(is_here: bool) -> None:
    async def play(servers: Servers) -> None:
        if is_here:
            servers.ready()
            await servers.all_get("start 1-2 4711")
        servers.relay.leave(1)
        await servers.all_get("over -1 255 1")
        servers.relay.receive(0, b"here 1-2 4711")
        assert servers.sent == [(0, "over -1 255 1")]

    played(2, play)


def test_a_malformed_message_is_one_line() -> None:
    async def play(servers: Servers) -> None:
        for line in (b"over 1 2 x", b"failed a[$(id)] 1 0", b"\x1b[2J", b""):
            servers.relay.receive(1, line)

    logged = played(2, play).logged
    assert [line.startswith("error: unexpected message from server s1: '") for line in logged] == [True] * 4
    assert "\x1b" not in "".join(logged)


def test_a_server_that_is_not_ready_in_time_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "TIMEOUT", 0.1)

    async def play(servers: Servers) -> None:
        servers.relay.receive(0, b"here 1-2 4711")
        await servers.all_get("over -1 255 1")

    assert played(2, play).logged == ["error: s1 did not become ready within 0.1 s"]
