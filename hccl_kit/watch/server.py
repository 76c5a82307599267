"""Serve one page on loopback, to all who have its address: the path begins with a random token.

Other users of the machine can connect, but do not know the token. A page of another site cannot ask for it by a name of
its own that means 127.0.0.1, since the header Host is checked.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hccl_kit.base.errors import KitError

ADDRESS = "127.0.0.1"
AT_ONCE = 16
"""Requests that are answered at a time; others are turned away."""
PATIENCE = 5.0
"""Seconds in which a client must send its request and read the answer."""


@contextmanager
def serving(page: Callable[[], str], port: int = 0) -> Iterator[str]:
    """Serve what `page` returns while the block runs; the value is its address. Port 0: one that is free.

    Raises KitError if the port cannot be listened on.
    """
    token = secrets.token_urlsafe(24)
    try:
        server = _Server(page, token, port)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or "accepted: 0 to 65535"
        raise KitError(
            f"cannot listen on {ADDRESS} port {port}: {why}", hint="--serve without PORT finds one"
        ) from error
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield f"http://{ADDRESS}:{server.server_port}/{token}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = AT_ONCE

    def __init__(self, page: Callable[[], str], token: str, port: int) -> None:
        self.page, self.token = page, token
        self._free = threading.BoundedSemaphore(AT_ONCE)
        super().__init__((ADDRESS, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        too_late = threading.Timer(PATIENCE, _break_off, [request])
        too_late.daemon = True
        too_late.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            too_late.cancel()
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is not an error."""


def _break_off(request: socket.socket) -> None:
    """End a connection, whose client may send or take a byte now and then; nothing if it has ended."""
    with suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version, sys_version = "hccl-kit", ""

    def do_GET(self) -> None:
        """Answer with the page, or with an error without content."""
        name = self.headers.get("Host", "")
        port = self.server.server_port
        path = self.path.encode("utf-8", "replace")
        if name not in (f"{ADDRESS}:{port}", f"localhost:{port}") or not hmac.compare_digest(
            path, f"/{self.server.token}/".encode()
        ):
            self._answer(HTTPStatus.FORBIDDEN, b"")
            return
        self._answer(HTTPStatus.OK, self.server.page().encode())

    do_HEAD = do_GET  # noqa: N815 - the name that http.server looks for

    def _answer(self, status: HTTPStatus, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.end_headers()
        if self.command == "GET":
            with suppress(OSError):
                self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in http.server
        """Nothing is printed: the address has the token in it."""
