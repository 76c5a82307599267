"""Authentication of nodes: without the secret of a job, nobody can join it or prevent its nodes from joining."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.launch.payload import listener
from hccl_kit.launch.payload.handshake import (
    Channel,
    Hello,
    SecretError,
    equal,
    new_nonce,
    parse_answer,
    proof_of,
    read_secret,
)
from hccl_kit.launch.payload.listener import Listener, listening_socket
from hccl_kit.launch.secret_file import make_secret, secret_of
from tests.launch.payload.test_rendezvous import SHA, Nodes, connect, heard, say
from tests.launch.ways import SECRET, write_secret
from tests.waiting import PATIENCE, wait_until

KEY = bytes.fromhex(SECRET)


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    made = Nodes(tmp_path)
    yield made
    for process in made.processes:
        process.kill()
        process.communicate()


class Tap:
    """A man in the middle between a node and node 0."""

    def __init__(self, port: int) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.server.getsockname()[1]
        self.target = port
        self.heard = {"node": b"", "node 0": b""}
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        self.node, _ = self.server.accept()
        self.node_0 = connect(self.target)
        for name, source, target in (("node", self.node, self.node_0), ("node 0", self.node_0, self.node)):
            threading.Thread(target=self.pump, args=(name, source, target), daemon=True).start()

    def pump(self, name: str, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(4096):
                self.heard[name] += data
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        for end in (self.server, self.node, self.node_0):
            end.close()


@pytest.fixture
def tapped(nodes: Nodes) -> Iterator[Tap]:
    """A job that has started, whose second node connected through the tap."""
    nodes.start(0)
    tap = Tap(nodes.port)
    nodes.port, own = tap.port, nodes.port
    nodes.start(1)
    nodes.port = own
    assert [heard(node) for node in nodes.processes] == ["start 1-2 4711"] * 2
    yield tap
    tap.close()


def test_a_peer_with_the_table_but_no_secret_cannot_replace_a_node(nodes: Nodes) -> None:
    one = nodes.start(0)
    with connect(nodes.port) as stranger:
        stranger.sendall(f"hello 1 {SHA} {'0' * 64}\n".encode())
        assert stranger.makefile().readline().startswith("answer ")
        stranger.sendall(f"proof {'0' * 64}\ndone\n".encode())
        assert stranger.recv(1) == b""
    other = nodes.start(1)
    assert [heard(one), heard(other)] == ["start 1-2 4711"] * 2
    say(one, "done")
    say(other, "done")
    assert [one.wait(PATIENCE), other.wait(PATIENCE)] == [0, 0]
    assert one.stderr
    assert one.stderr.read() == "warning: 127.0.0.1 tried to join without the secret of this job\n"


def test_a_node_with_another_secret_gets_a_hint(nodes: Nodes) -> None:
    nodes.start(0)
    nodes.secret = write_secret(nodes.secret.with_name("other"), "fedcba9876543210" * 4)
    stranger = nodes.start(1)
    _, err = stranger.communicate(timeout=PATIENCE)
    assert stranger.returncode == 2
    where = f"first (127.0.0.1 port {nodes.port})"
    assert err.startswith(f"error: {where} does not prove that it knows the secret of this job: 'answer ")
    assert f"  fix: copy {nodes.secret} of first here; or" in err
    assert "export THE_PORT=PORT, the same free one on every server\n" in err


def test_a_replayed_session_is_refused(nodes: Nodes, tapped: Tap, tmp_path: Path) -> None:
    say(nodes.processes[0], "done")
    say(nodes.processes[1], "done")
    assert [node.wait(PATIENCE) for node in nodes.processes] == [0, 0]
    again = Nodes(tmp_path)
    nodes.processes.append(again.start(0, timeout=3))
    with connect(again.port) as stranger:
        stranger.sendall(tapped.heard["node"])
        answer = stranger.makefile("rb").read()
    assert answer.startswith(b"answer ")
    assert answer.count(b"\n") == 1
    _, err = again.processes[0].communicate(timeout=PATIENCE)
    assert "error: second did not join within 3 s\n" in err


@pytest.mark.parametrize("line", [b"done\n", b"\n", b"failed 0 0 0\n", b"0" * 64 + b" done\n", b"x" * 5000])
def test_an_injected_line_is_refused(nodes: Nodes, tapped: Tap, line: bytes) -> None:
    tapped.node_0.sendall(line)
    assert heard(nodes.processes[0]) == "over -1 255 1"
    assert nodes.processes[0].wait(PATIENCE) == 1


@pytest.mark.parametrize("side", ["node", "node 0"])
def test_a_repeated_line_is_refused(nodes: Nodes, tapped: Tap, side: str) -> None:
    assert wait_until(lambda: tapped.heard[side].count(b"\n") >= 4)  # a heartbeat is sent every second
    beat = tapped.heard[side].split(b"\n")[2 if side == "node" else 1] + b"\n"
    (tapped.node_0 if side == "node" else tapped.node).sendall(beat)
    number = 0 if side == "node" else 1
    assert heard(nodes.processes[number]) == f"over -1 255 {1 - number}"
    assert nodes.processes[number].wait(PATIENCE) == 1


def test_the_secret_never_crosses_the_network(nodes: Nodes, tapped: Tap) -> None:
    for data in tapped.heard.values():
        assert SECRET.encode() not in data
        assert KEY not in data
    for node in nodes.processes:
        for name in ("cmdline", "environ"):
            assert SECRET.encode() not in Path(f"/proc/{node.pid}/{name}").read_bytes()


def test_an_impostor_that_reflects_our_messages_is_refused(nodes: Nodes) -> None:
    """A message of a node is not valid as a response of node 0, although both prove the same secret."""
    hello = Hello(1, SHA, "1" * 64)
    assert len({proof_of(KEY, role, hello, SHA, "2" * 64) for role in ("node", "node 0", "session")}) == 3
    with socket.create_server(("127.0.0.1", nodes.port)) as impostor:
        node = nodes.start(1)
        connection, _ = impostor.accept()
        with connection:
            line = connection.makefile("rb").readline()
            connection.sendall(line)
            _, err = node.communicate(timeout=PATIENCE)
    assert node.returncode == 2
    assert "does not prove that it knows the secret of this job: 'hello 1 " in err


def test_a_silent_impostor_is_named(nodes: Nodes) -> None:
    with socket.create_server(("127.0.0.1", nodes.port)):
        node = nodes.start(1, timeout=0.5)
        _, err = node.communicate(timeout=PATIENCE)
    assert node.returncode == 2
    assert f"error: first (127.0.0.1 port {nodes.port}) did not answer within 0.5 s: " in err


def test_idle_connections_do_not_lock_a_node_out(nodes: Nodes) -> None:
    one = nodes.start(0)
    held = [connect(nodes.port) for _ in range(400)]
    for connection in held[::2]:
        with suppress(OSError):
            connection.sendall(b"h")
    other = nodes.start(1)
    assert [heard(one), heard(other)] == ["start 1-2 4711"] * 2
    for connection in held:
        connection.close()


def test_a_flood_of_connections_does_not_lock_a_node_out(nodes: Nodes) -> None:
    one = nodes.start(0)
    connect(nodes.port).close()
    over = threading.Event()

    def flood() -> None:
        kept: list[socket.socket] = []
        while not over.wait(0.002):  # without a pause, it would also take the processor from the nodes
            with suppress(OSError):
                kept.append(socket.create_connection(("127.0.0.1", nodes.port), timeout=1))
                kept[-1].sendall(b"\n" * 100)
            if len(kept) > 200:
                kept.pop(0).close()
        for connection in kept:
            connection.close()

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        other = nodes.start(1)
        assert [heard(one), heard(other)] == ["start 1-2 4711"] * 2
    finally:
        over.set()
        thread.join()


def test_a_deadline_counts_from_the_connection_and_not_from_the_last_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "DEADLINE", 0.3)

    async def drip() -> bytes:
        opened = Listener(KEY, SHA, 2, lambda *_: asyncio.sleep(0), print)
        server = await asyncio.start_server(opened.accept, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        ended = asyncio.ensure_future(reader.read())
        while not ended.done():
            writer.write(b"h")
            await asyncio.sleep(0.02)
        assert not opened.unknown
        writer.close()
        server.close()
        with suppress(OSError):
            return ended.result()
        return b""

    assert asyncio.run(asyncio.wait_for(drip(), PATIENCE)) == b""


class Writer:
    """A fake connection for `make_room`."""

    def __init__(self, address: str) -> None:
        self.address, self.is_open, self.transport = address, True, self

    def get_extra_info(self, _: str) -> tuple[str, int]:
        return self.address, 1

    def abort(self) -> None:
        self.is_open = False


def come(opened: Listener, *writers: Any) -> None:
    """Lets these connect, one after the other."""
    for writer in writers:
        opened.make_room(writer)


def test_a_flood_drops_its_own_connections() -> None:
    opened = Listener(KEY, SHA, 2, lambda *_: asyncio.sleep(0), print)
    node = Writer("10.0.0.1")
    flood = [Writer("10.0.0.2") for _ in range(1000)]
    crowd = [Writer(f"10.1.0.{number}") for _ in range(3) for number in range(100)]
    neighbours = [Writer(f"2001:db8::{number:x}%eth0") for number in range(100)]
    come(opened, node, *flood, *neighbours, *crowd)
    assert node.is_open
    assert sum(writer.is_open for writer in flood) <= listener.MAX_OF_ADDRESS
    assert sum(writer.is_open for writer in neighbours) <= listener.MAX_OF_ADDRESS
    assert len(opened.unknown) == listener.MAX_UNKNOWN + 2


def served_in_a_flood(monkeypatch: pytest.MonkeyPatch, moment: str) -> list[bool]:
    """For each served node, whether its connection is open; a flood starts at this moment of its handshake."""
    served: list[bool] = []

    async def serve(channel: Channel, _: Hello) -> None:
        served.append(not channel.writer.is_closing())

    opened = Listener(KEY, SHA, 2, serve, print)

    def flood() -> None:
        come(opened, *(Writer("127.0.0.1") for _ in range(listener.MAX_OF_ADDRESS)))

    def matching(one: str, other: str) -> bool:
        flood()
        return equal(one, other)

    class Flooded(Channel):
        def send(self, line: str) -> None:
            super().send(line)
            flood()

    async def handshake() -> None:
        server = await asyncio.start_server(opened.accept, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        hello = Hello(1, SHA, new_nonce())
        writer.write(f"hello 1 {SHA} {hello.nonce}\n".encode())
        answer = parse_answer(await reader.readline())
        writer.write(f"proof {proof_of(KEY, 'node', hello, answer.sha256, answer.nonce)}\n".encode())
        with suppress(OSError):
            await reader.read()
        writer.close()
        server.close()

    name, made = {"proof": ("equal", matching), "acceptance": ("Channel", Flooded)}[moment]
    monkeypatch.setattr(listener, name, made)
    asyncio.run(asyncio.wait_for(handshake(), PATIENCE))
    return served


def test_an_accepted_node_is_not_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    assert served_in_a_flood(monkeypatch, "acceptance") == [True]


def test_a_dropped_node_is_not_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if its proof has already arrived: node 0 would consider it lost."""
    assert served_in_a_flood(monkeypatch, "proof") == []


def test_node_0_listens_at_its_own_address_only() -> None:
    logged: list[str] = []
    with closing(listening_socket("127.0.0.3", 0, logged.append)) as server:
        assert server.getsockname()[0] == "127.0.0.3"
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", server.getsockname()[1]), timeout=5)
    assert logged == []


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("192.0.2.77", "is not an address of this host"),
        ("localhost", "is 127.0.0.1 here|is ::1 here"),
        ("no-such-host.invalid", "is unknown here"),
    ],
)
def test_node_0_warns_and_listens_on_all_addresses_if_its_own_is_unavailable(address: str, why: str) -> None:
    logged: list[str] = []
    with closing(listening_socket(address, 0, logged.append)) as server:
        socket.create_connection(("127.0.0.1", server.getsockname()[1]), timeout=20).close()
    assert logged[0] in {f"note: {address} {one}, so this node listens on all its addresses" for one in why.split("|")}


def test_a_secret_is_created_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = secret_of(tmp_path / "job.sh")
    assert make_secret(path)
    assert path.stat().st_mode & 0o777 == 0o600
    key = read_secret(str(path))
    assert len(key) == 32
    assert not make_secret(path)
    assert read_secret(str(path)) == key


@pytest.mark.parametrize("text", ["", "abc", "0" * 64, SECRET[:30], SECRET + "g", SECRET + "\n" + SECRET, "\0" * 64])
def test_a_weak_secret_is_refused(tmp_path: Path, text: str) -> None:
    path = write_secret(tmp_path / "job.sh", text)
    with pytest.raises(SecretError, match=r"is not 32 to 1024 random hexadecimal digits") as error:
        read_secret(str(path))
    assert f"  fix: (umask 077; openssl rand -hex 32 >{path}), then copy it to every server" in str(error.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_secret_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = write_secret(tmp_path / "job.sh")
    path.chmod(mode)
    with pytest.raises(SecretError, match="only you can read\n  fix: chmod 600"):
        read_secret(str(path))


def test_a_secret_must_be_a_private_regular_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir(mode=0o700)
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("folder", "pipe"):
        with pytest.raises(SecretError):
            read_secret(str(tmp_path / name))
    path = write_secret(tmp_path / "job.sh")
    if os.geteuid() == 0:
        os.chown(path, 12345, -1)
        with pytest.raises(SecretError, match="not a file that you own"):
            read_secret(str(path))


def test_without_a_secret_the_hint_shows_how_to_make_one(nodes: Nodes, tmp_path: Path) -> None:
    nodes.secret = tmp_path / "a b"
    node = nodes.start(0)
    _, err = node.communicate(timeout=PATIENCE)
    assert node.returncode == 2
    assert err == (
        f"error: the servers of this job need a secret, but {nodes.secret} cannot be read: No such file or directory\n"
        f"  fix: (umask 077; openssl rand -hex 32 >'{nodes.secret}'), then copy it to every server, mode 600\n"
    )
