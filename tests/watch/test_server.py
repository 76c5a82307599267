"""The page on loopback: only accessible with its secret URL."""

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
    """Whether the page is served: a client is rejected while all slots are in use."""
    with suppress(ConnectionError):
        return ask(address)[0] == 200
    return False


def test_the_url_has_a_token_and_a_loopback_address(address: str) -> None:
    parts = urlsplit(address)
    assert parts.hostname == "127.0.0.1"
    assert len(parts.path.strip("/")) >= 32
    assert ask(address) == (200, "<p>héllo</p>")
    assert ask(address, method="HEAD") == (200, "")


def test_without_the_token_nothing_is_served(address: str) -> None:
    token = urlsplit(address).path
    for path in ("/", "/favicon.ico", token[:-1], token + "x", token.upper(), "/../" + token, "//", "/%00/", "*"):
        assert ask(address, path) == (403, "")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "", "127.0.0.1", "127.0.0.1:1", "[::1]"])
def test_requests_from_other_sites_are_refused(address: str, host: str) -> None:
    assert ask(address, host=host) == (403, "")


def test_localhost_is_accepted_as_host_name(address: str) -> None:
    assert ask(address, host=f"localhost:{urlsplit(address).port}")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT"])
def test_only_reading_methods_are_allowed(address: str, method: str) -> None:
    assert ask(address, method=method)[0] == 501


def test_it_listens_on_loopback_only(address: str) -> None:
    port = urlsplit(address).port
    assert port
    with pytest.raises(OSError, match="refused"), socket.create_connection(("127.0.0.2", port), timeout=300):
        pass


def test_silent_clients_do_not_block_others(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_very_slow_client_is_disconnected(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PATIENCE", 1.0)
    with socket.create_connection(place_of(address), timeout=300) as client, pytest.raises(OSError):
        for _ in range(150):
            client.send(b"G")
            time.sleep(0.2)


def test_an_endless_line_is_refused(address: str) -> None:
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
