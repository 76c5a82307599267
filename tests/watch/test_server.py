"""The page on loopback: for whoever has its address, and nobody else."""

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.watch import server
from hccl_kit.watch.server import serving
from tests.waiting import wait_until


@pytest.fixture
def address() -> Iterator[str]:
    with serving(lambda: "<p>héllo</p>") as made:
        yield made


def place_of(address: str) -> tuple[str, int]:
    parts = urlsplit(address)
    assert parts.port
    return parts.hostname or "", parts.port


def ask(address: str, path: str | None = None, *, method: str = "GET", host: str | None = None) -> tuple[int, str]:
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=300)
    headers = {} if host is None else {"Host": host}
    connection.request(method, parts.path if path is None else path, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def answered(address: str) -> bool:
    """Whether the page comes: a client is turned away as long as no place is free."""
    with suppress(ConnectionError):
        return ask(address)[0] == 200
    return False


def test_the_address_has_a_token_and_is_of_this_machine(address: str) -> None:
    parts = urlsplit(address)
    assert parts.hostname == "127.0.0.1"
    assert len(parts.path.strip("/")) >= 32
    assert ask(address) == (200, "<p>héllo</p>")
    assert ask(address, method="HEAD") == (200, "")


def test_without_the_token_there_is_nothing(address: str) -> None:
    token = urlsplit(address).path
    for path in ("/", "/favicon.ico", token[:-1], token + "x", token.upper(), "/../" + token, "//", "/%00/", "*"):
        assert ask(address, path) == (403, "")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "", "127.0.0.1", "127.0.0.1:1", "[::1]"])
def test_a_page_of_another_site_cannot_ask(address: str, host: str) -> None:
    assert ask(address, host=host) == (403, "")


def test_localhost_is_a_name_of_this_machine(address: str) -> None:
    assert ask(address, host=f"localhost:{urlsplit(address).port}")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT"])
def test_nothing_can_be_changed(address: str, method: str) -> None:
    assert ask(address, method=method)[0] == 501


def test_it_listens_on_loopback_alone(address: str) -> None:
    port = urlsplit(address).port
    assert port
    with pytest.raises(OSError, match="refused"), socket.create_connection(("127.0.0.2", port), timeout=300):
        pass


def test_clients_that_say_nothing_do_not_stop_others(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PATIENCE", 0.5)
    place = place_of(address)
    mute = [socket.create_connection(place) for _ in range(server.AT_ONCE - 1)]
    assert ask(address)[0] == 200
    mute += [socket.create_connection(place) for _ in range(40)]
    threads = threading.active_count()
    assert threads < 60, "no thread for each of any number of clients"
    for one in mute[: server.AT_ONCE - 1]:
        one.settimeout(30)
        assert one.recv(100) == b"", "it was given up"
    assert wait_until(lambda: answered(address)), "their places are free soon after"
    for one in mute:
        one.close()


def test_a_client_that_sends_a_byte_now_and_then_is_given_up(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PATIENCE", 1.0)
    with socket.create_connection(place_of(address), timeout=300) as client, pytest.raises(OSError):
        for _ in range(150):
            client.send(b"G")
            time.sleep(0.2)


def test_a_line_without_end_is_refused(address: str) -> None:
    with socket.create_connection(place_of(address), timeout=300) as client:
        client.sendall(b"GET /" + b"x" * 100_000)
        assert b"414" in client.recv(200)


def test_nothing_listens_after_the_block() -> None:
    with serving(lambda: "") as made:
        port = urlsplit(made).port
        assert port
        with pytest.raises(KitError, match=f"cannot listen on 127.0.0.1 port {port}: Address already in use"):
            serving(lambda: "", port).__enter__()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), timeout=300)
