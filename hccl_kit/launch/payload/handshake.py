"""The handshake of two nodes: both prove that they know the secret of the job, then every line is authenticated.

    node     hello NODE TABLE_SHA256 NONCE
    node 0   answer TABLE_SHA256 NONCE PROOF      HMAC-SHA256 by the secret over all of the above, as "node 0"
    node     proof PROOF                          the same as "node"
    both     MAC LINE                             HMAC-SHA256 by a session key over direction, count of lines and LINE
    node 0   MAC                                  the first of these, empty: the node is in

The secret is never sent, and node 0 authenticates first, so an impostor learns nothing. Both sides use fresh nonces, so
proofs and lines cannot be replayed. All nodes share the secret and trust each other: one can join in the place of
another that has not joined yet. Part of programs that launch scripts contain.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import re
import secrets
import shlex
import stat
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import NamedTuple

from hccl_kit.launch.payload.messages import Malformed, is_sha256, number, printable

PROTOCOL = "hccl-kit rendezvous 1"
MAX_SECRET = 4096
"""Bytes that are read from the file of a secret."""


class SecretError(Exception):
    """The secret of the job cannot be used; the message has the reason and the fix."""


class Hello(NamedTuple):
    """The first message of a node; `nonce` has the form of a SHA-256."""

    node: int
    sha256: str
    nonce: str


class Answer(NamedTuple):
    """The first message of node 0."""

    sha256: str
    nonce: str
    proof: str


def read_secret(path: str) -> bytes:
    """Read the secret from a file that only its owner can read. Raises SecretError."""
    make = f"(umask 077; openssl rand -hex 32 >{shlex.quote(path)}), then copy it to every server, mode 600"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise SecretError(
            f"error: the servers of this job need a secret, but {path} cannot be read: {error.strerror}\n  fix: {make}"
        ) from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise SecretError(
                f"error: the secret {path} is not a file that you own and that only you can read\n"
                f"  fix: chmod 600 {shlex.quote(path)}, as its owner"
            )
        text = os.read(descriptor, MAX_SECRET)
    finally:
        os.close(descriptor)
    if not re.fullmatch(rb"\s*(?:[0-9a-fA-F]{2}){16,512}\s*", text) or len(set(text.strip().lower())) < 6:
        raise SecretError(
            f"error: the secret {path} is not 32 to 1024 random hexadecimal digits (128 bits or more)\n  fix: {make}"
        )
    return bytes.fromhex(text.decode())


def new_nonce() -> str:
    """A random number that is used once."""
    return secrets.token_hex(32)


def parse_hello(line: bytes, servers: int) -> Hello:
    """Parse the first line of a node. Raises Malformed."""
    words = _words(line, "hello", 3)
    node = number(words[0], 1, servers - 1)
    if node is None or not is_sha256(words[1]) or not is_sha256(words[2]):
        raise Malformed(printable(line))
    return Hello(node, words[1], words[2])


def parse_answer(line: bytes) -> Answer:
    """Parse the first line of node 0. Raises Malformed."""
    words = _words(line, "answer", 3)
    if not all(map(is_sha256, words)):
        raise Malformed(printable(line))
    return Answer(*words)


def parse_proof(line: bytes) -> str:
    """Parse the second line of a node. Raises Malformed."""
    (proof,) = _words(line, "proof", 1)
    if not is_sha256(proof):
        raise Malformed(printable(line))
    return proof


def proof_of(secret: bytes, role: str, hello: Hello, sha256: str, nonce: str) -> str:
    """A proof of knowing the secret; `sha256` and `nonce` are those of node 0."""
    text = "\n".join((PROTOCOL, role, str(hello.node), hello.sha256, hello.nonce, sha256, nonce))
    return hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()


def equal(text: str, other: str) -> bool:
    """Compare two proofs in constant time."""
    return hmac.compare_digest(text.encode(), other.encode())


class Channel:
    """A connection of two authenticated nodes; its lines cannot be forged or replayed."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, session: str, *, is_node_0: bool
    ) -> None:
        self.reader, self.writer = reader, writer
        sent, received = ("node 0", "node") if is_node_0 else ("node", "node 0")
        self.sent, self.received = _LineCodes(session, sent), _LineCodes(session, received)

    def send(self, line: str) -> None:
        """Send a line; an empty one is a heartbeat. A broken connection is detected by the reader."""
        if self.writer.is_closing():  # asyncio would print a line for each
            return
        with suppress(OSError, RuntimeError):
            self.writer.write(f"{self.sent.next(line.encode())} {line}\n".encode())

    async def next(self) -> bytes:
        """The next line, empty if it is a heartbeat. Raises EOFError if the connection ends, Malformed."""
        line = await self.reader.readline()
        if not line.endswith(b"\n"):
            raise EOFError("the connection ended")
        mac, _, text = line[:-1].partition(b" ")
        if not hmac.compare_digest(mac, self.received.next(text).encode()):
            raise Malformed(printable(line[:-1]))
        return text

    async def lines(self, silence: float) -> AsyncIterator[bytes]:
        """Lines other than heartbeats, until the connection ends or is silent for too long. Raises Malformed."""
        with suppress(OSError, EOFError, asyncio.TimeoutError, ValueError):
            while True:
                text = await asyncio.wait_for(self.next(), silence)
                if text:
                    yield text


class _LineCodes:
    """The message authentication codes of the lines in one direction, which are counted."""

    def __init__(self, session: str, direction: str) -> None:
        self.key, self.count = f"{session} {direction}".encode(), 0

    def next(self, text: bytes) -> str:
        """The code of the next line."""
        self.count += 1
        return hmac.new(self.key, b"%d %s" % (self.count, text), hashlib.sha256).hexdigest()


def _words(line: bytes, kind: str, count: int) -> list[str]:
    words = line.decode("ascii", "replace").rstrip("\n").split(" ")
    if words[0] != kind or len(words) != count + 1:
        raise Malformed(printable(line.rstrip(b"\n")))
    return words[1:]
