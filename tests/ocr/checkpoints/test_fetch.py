"""Weights from a URL are fetched once, completely, and with a checksum, even from a hostile server."""

import hashlib
import os
import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.base.temporary import beside
from hccl_kit.ocr.checkpoints import download, fetch

DATA = b"weights" * 1000
SHA = hashlib.sha256(DATA).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Serves the kind of response that the path names; records the requests."""

    asked: list[str]
    data = DATA

    def do_GET(self) -> None:
        self.asked.append(self.path)
        kind, _, rest = self.path[1:].partition("/")
        if kind == "to":
            self._head(302, Location=rest)
        elif kind == "loop":
            self._head(302, Location=f"/loop/{rest}x")
        elif kind == "missing":
            self._head(404)
        elif kind == "page":
            self._head(200, **{"Content-Type": "text/html"})
            self.wfile.write(b"<html>log in</html>")
        elif kind == "short":
            self._head(200, **{"Content-Length": str(len(self.data) + 5)})
            self.wfile.write(self.data)
        elif kind == "huge":
            self._head(200, **{"Content-Length": str(1 << 50)})
        elif kind == "empty":
            self._head(200, **{"Content-Length": "0"})
        else:
            self._head(200, **({} if kind == "unsaid" else {"Content-Length": str(len(self.data))}))
            self.wfile.write(self.data)

    def _head(self, code: int, **headers: str) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Suppresses the log of the server."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(Handler, "asked", [], raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()


def model(name: str | None, backbone: Any = False, sha: str | None = None, *, strict: bool = True) -> dict[str, Any]:
    return {
        "pretrained": name,
        "pretrained_sha256": sha,
        "pretrained_strict": strict,
        "backbone": {"name": "det_resnet18", "pretrained": backbone},
    }


def get(folder: Path, name: str | None, **options: Any) -> tuple[list[str], list[str]]:
    said: list[str] = []
    return fetch.fetch(model(name, **options), {fetch.CACHE: str(folder)}, said.append), said


def place(folder: Path, url: str) -> Path:
    return fetch.local_path("model.pretrained", url, {fetch.CACHE: str(folder)})


def test_a_file_is_fetched_once_and_kept_with_its_checksum(tmp_path: Path, server: str) -> None:
    url = f"{server}/a/net.ckpt"
    (note,), said = get(tmp_path / "cache", url)
    path = place(tmp_path / "cache", url)
    assert path.read_bytes() == DATA
    assert path.name == "net.ckpt"
    assert note == f"weights: downloaded from {url} to {path}; SHA-256 {SHA}"
    assert said == [f"downloading {url}, 0.0 MB"]
    assert sorted(file.name for file in path.parent.iterdir()) == ["net.ckpt", "net.ckpt.sha256"]
    (note,), said = get(tmp_path / "cache", url)
    assert note.startswith(f"weights: {path}, downloaded from {url} before")
    assert said == []
    assert Handler.asked == ["/a/net.ckpt"]


def test_a_checksum_of_the_user_is_verified(tmp_path: Path, server: str) -> None:
    url, path = f"{server}/a/net.ckpt", place(tmp_path, f"{server}/a/net.ckpt")
    with pytest.raises(KitError, match=f"the download has the SHA-256 {SHA}; expected {'0' * 64}"):
        get(tmp_path, url, sha="0" * 64)
    assert list(path.parent.iterdir()) == []
    get(tmp_path, url, sha=SHA.upper())
    with pytest.raises(KitError, match="expected 000"):
        get(tmp_path, url, sha="0" * 64)
    with pytest.raises(KitError, match="expected 000"):
        get(tmp_path, str(path), sha="0" * 64)
    assert get(tmp_path, str(path), sha=SHA) == ([], [])


def test_a_file_changed_in_the_cache_is_refused(tmp_path: Path, server: str) -> None:
    url = f"{server}/a/net.ckpt"
    get(tmp_path, url)
    path = place(tmp_path, url)
    path.write_bytes(DATA[:-1] + b"!")
    with pytest.raises(KitError, match=f"expected {SHA}") as caught:
        get(tmp_path, url)
    assert f"remove {path}" in str(caught.value.hint)


def test_a_file_copied_to_the_cache_by_hand_is_accepted(tmp_path: Path) -> None:
    url = "https://127.0.0.1:9/net.ckpt"
    path = place(tmp_path, url)
    with pytest.raises(KitError, match=f"cannot download {url}: ") as caught:
        get(tmp_path, url)
    assert caught.value.hint == f"download it manually to {path}, or give the path of the file instead of the URL"
    path.write_bytes(DATA)
    assert len(get(tmp_path, url)[0]) == 1
    path.write_bytes(b"other")
    with pytest.raises(KitError, match=SHA):
        get(tmp_path, url)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("missing", "the server answers 404 Not Found"),
        ("page", "the server returned an HTML page"),
        ("short", f"incomplete: {len(DATA)} of {len(DATA) + 5} bytes"),
        ("huge", "accepted: up to"),
        ("empty", "incomplete: 0 of 0 bytes"),
        ("loop", "the server answers 302"),
        ("to/ftp://127.0.0.1/", "it redirects from http to ftp"),
        ("to/file:///etc/", "302"),
        ("to/http://user:word@127.0.0.1/", "a user name or a password"),
    ],
)
def test_a_failed_download_leaves_no_file(tmp_path: Path, server: str, kind: str, words: str) -> None:
    url = f"{server}/{kind}/net.ckpt"
    with pytest.raises(KitError) as caught:
        get(tmp_path, url)
    assert words in caught.value.message
    assert "\n" not in caught.value.message
    assert list(place(tmp_path, url).parent.iterdir()) == []
    assert len(Handler.asked) <= 6


def test_a_redirect_and_an_unknown_size_are_accepted(tmp_path: Path, server: str) -> None:
    get(tmp_path, f"{server}/to//unsaid/net.ckpt")
    assert Handler.asked == ["/to//unsaid/net.ckpt", "/unsaid/net.ckpt"]


def test_at_most_five_redirects_are_followed(tmp_path: Path, server: str) -> None:
    get(tmp_path, f"{server}{'/to/' * 5}/net.ckpt")
    with pytest.raises(KitError, match="the server answers 302"):
        get(tmp_path, f"{server}{'/to/' * 6}/other.ckpt")


def test_https_never_falls_back_to_http() -> None:
    secure, plain = (urlsplit(f"{scheme}://127.0.0.1/a") for scheme in ("https", "http"))
    assert download.reason_to_refuse(secure, plain) == "from https to http"
    assert download.reason_to_refuse(plain, secure) is None


def test_the_limit_holds_if_the_size_is_unknown(tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "MAX_BYTES", 1000)
    with pytest.raises(KitError, match="it is larger than 1000 bytes"):
        get(tmp_path, f"{server}/unsaid/net.ckpt")


def test_a_silent_server_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(download, "SILENCE", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(KitError, match="timed out"):
        get(tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}/net.ckpt")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://example.org/a.ckpt", "accepted: a path, or a URL that begins with https://"),
        ("https:/example.org/a.ckpt", "accepted: a path, or a URL that begins with https://"),
        ("file://example.org/a.ckpt", "accepted: a path, or a URL that begins with https://"),
        ("https://example.org/", "names no file"),
        ("https://example.org/..", "names no file"),
        ("https://example.org/a b.ckpt", "visible ASCII"),
        ("https://example.org/\x1b[2Ja.ckpt", "visible ASCII"),
        ("https://example.org:port/a.ckpt", "is not a valid URL"),
        ("https://[::1/a.ckpt", "is not a valid URL"),
        ("https://user:secret@example.org/a.ckpt", "before example.org; no credentials are sent"),
    ],
)
def test_an_invalid_url_is_refused(tmp_path: Path, url: str, words: str) -> None:
    with pytest.raises(KitError) as caught:
        get(tmp_path, url)
    assert words in caught.value.message
    assert "secret" not in caught.value.render()
    assert list(tmp_path.iterdir()) == []


def test_a_file_name_cannot_escape_from_the_cache(tmp_path: Path) -> None:
    for url in ("https://h/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "https://h/a/..%5c..;b", f"https://h/{'x' * 5000}"):
        path = place(tmp_path, url)
        assert path.resolve().is_relative_to(tmp_path)
        assert len(path.relative_to(tmp_path).parts) == 2
        assert len(path.name) <= 128
    assert place(tmp_path, "https://h/one/a.ckpt") != place(tmp_path, "https://h/two/a.ckpt")


def test_paths_and_file_urls_are_not_fetched(tmp_path: Path) -> None:
    assert place(tmp_path, "a/b.ckpt") == Path("a/b.ckpt")
    assert place(tmp_path, "file:///a/b%20c.ckpt") == Path("/a/b c.ckpt")
    assert get(tmp_path, str(tmp_path / "missing")) == ([], [])  # reported when it is loaded


def test_the_location_of_the_cache(tmp_path: Path) -> None:
    assert fetch.cache({fetch.CACHE: "c", "HOME": "/h"}) == Path("c")
    assert fetch.cache({"XDG_CACHE_HOME": "/x", "HOME": "/h"}) == Path("/x/hccl_kit")
    assert fetch.cache({"XDG_CACHE_HOME": "relative", "HOME": "/h"}) == Path("/h/.cache/hccl_kit")
    with pytest.raises(KitError, match="no home folder"):
        fetch.cache({"HOME": "~no-such-user"})
    (tmp_path / "file").touch()
    with pytest.raises(KitError, match="cannot write"):
        get(tmp_path / "file", "http://127.0.0.1:9/a.ckpt")


def test_several_processes_fetch_a_file_only_once(tmp_path: Path, server: str) -> None:
    url = f"{server}/a/net.ckpt"
    notes: list[str] = []
    threads = [threading.Thread(target=lambda: notes.extend(get(tmp_path, url)[0])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(notes) == 4
    assert Handler.asked == ["/a/net.ckpt"]


def test_temporary_files_of_a_killed_process_are_removed(tmp_path: Path, server: str) -> None:
    path = place(tmp_path, f"{server}/a/net.ckpt")
    path.parent.mkdir()
    with subprocess.Popen(["true"]) as ended:
        pass
    left = beside(path)
    left.with_name(left.name.replace(f".{os.getpid()}.", f".{ended.pid}.")).write_bytes(b"half")
    get(tmp_path, f"{server}/a/net.ckpt")
    assert sorted(one.name for one in path.parent.iterdir()) == ["net.ckpt", "net.ckpt.sha256"]


def test_weights_that_another_user_may_have_put_there_need_a_checksum(tmp_path: Path, server: str) -> None:
    path = place(tmp_path, f"{server}/a/net.ckpt")
    path.parent.mkdir()
    path.parent.chmod(0o777)
    with pytest.raises(KitError, match=f"others may write into {path.parent}"):
        get(tmp_path, f"{server}/a/net.ckpt")
    get(tmp_path, f"{server}/a/net.ckpt", sha=SHA)


def test_a_backbone_is_not_fetched_if_the_network_weights_include_it() -> None:
    keys = ["model.backbone.pretrained", "model.pretrained"]
    assert list(fetch.wanted(model("a", "b", strict=False))) == keys
    assert list(fetch.wanted(model("a", "b"))) == keys[1:]
    assert list(fetch.wanted(model(None, "b"))) == keys[:1]
    for off in (True, False, None, ""):
        assert fetch.wanted(model(None, off)) == {}


def raw_server(answer: bytes, endless: int = 0) -> tuple[str, list[int]]:
    """Sends the bytes to each client, then up to `endless` MiB as long as they are read; yields the MiB sent."""
    listening, taken = socket.create_server(("127.0.0.1", 0)), []

    def serve() -> None:
        with listening:
            connection, _ = listening.accept()
        with connection, suppress(OSError):
            connection.recv(1 << 16)
            connection.sendall(answer)
            for number in range(endless):
                connection.sendall(bytes(1 << 20))
                taken.append(number)

    threading.Thread(target=serve, daemon=True).start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}/net.ckpt", taken


@pytest.mark.parametrize("line", ["HTTP/1.1 404", "HTTP/1.1 404 ", "HTTP/1.1 206 "])
def test_a_status_line_without_a_reason_is_a_one_line_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    url, _ = raw_server(f"{line}\r\nContent-Length: 0\r\n\r\n".encode())
    with pytest.raises(KitError) as caught:
        get(tmp_path, url)
    assert caught.value.message == f"cannot download {url}: the server answers {line.split()[1]}"


def test_the_body_of_a_redirect_is_not_read(tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be kept in memory, whatever its size."""
    monkeypatch.setenv("no_proxy", "*")
    url, taken = raw_server(f"HTTP/1.1 302 Found\r\nLocation: {server}/a/net.ckpt\r\n\r\n".encode(), endless=64)
    get(tmp_path, url)
    assert len(taken) < 64


KEY = "model.backbone.pretrained"


@pytest.mark.parametrize("name", sorted(fetch.URLS))
def test_a_name_is_resolved_to_the_url_of_the_network(name: str) -> None:
    url = fetch.resolved(KEY, name)
    assert re.search(rf"/{name.removeprefix(fetch.PREFIX)}-[0-9a-f]{{8}}\.ckpt$", url)
    section = {"pretrained": None, "pretrained_strict": True, "backbone": {"pretrained": name}}
    assert fetch.wanted(section) == {KEY: url}


@pytest.mark.parametrize("name", ["resnet18", "a/mindcv:resnet18", "https://example.org/a.ckpt"])
def test_other_names_are_returned_unchanged(name: str) -> None:
    assert fetch.resolved(KEY, name) == name


@pytest.mark.parametrize("name", ["mindcv:", "mindcv:resnet101", "mindcv:resnet18 ", "mindcv:../x"])
def test_an_unknown_network_is_refused(name: str) -> None:
    with pytest.raises(KitError, match=f"{re.escape(name)}; accepted: mindcv:resnet18, mindcv:resnet50"):
        fetch.resolved(KEY, name)


def test_a_mindcv_name_is_refused_for_a_whole_network() -> None:
    section = {"pretrained": "mindcv:resnet18", "pretrained_strict": True, "backbone": {}}
    with pytest.raises(KitError, match=r"model\.pretrained is mindcv:resnet18, the weights of a backbone") as caught:
        fetch.wanted(section)
    assert caught.value.hint == "set model.backbone.pretrained: mindcv:resnet18"
