"""Download of one file by http or https: size and time bounded, certificates verified, never from https to http."""

from __future__ import annotations

import hashlib
import http.client
import re
import shutil
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import IO
from urllib.parse import urlsplit

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message

MAX_BYTES = 4 << 30
SILENCE, DEADLINE = 30.0, 3600.0
"""Maximum seconds without data from the server, and for the whole download."""
BLOCK = 1 << 20
Say = Callable[[str], None]


def copy(url: str, file: IO[bytes], say: Say) -> str:
    """Write the content of a URL into `file`; returns its SHA-256. Raises KitError if it is incomplete."""
    try:
        # S310 warns of other schemes: the caller lets only http and https through.
        request = urllib.request.Request(url, headers={"User-Agent": "hccl_kit"})  # noqa: S310
        with urllib.request.build_opener().open(request, timeout=SILENCE) as answer:
            return _copied(url, answer, file, say)
    except urllib.error.HTTPError as error:
        error.close()
        raise KitError(_answered(error.code, str(error.reason))) from error
    except urllib.error.URLError as error:
        raise KitError(str(getattr(error.reason, "strerror", None) or error.reason)) from error
    except (TimeoutError, ConnectionError, ssl.SSLError, http.client.HTTPException, ValueError) as error:
        raise KitError(
            "ocr.download.connection-broke", "the connection broke: {name}", name=error or type(error).__name__
        ) from error


def _copied(url: str, answer: http.client.HTTPResponse, file: IO[bytes], say: Say) -> str:
    end, digest, count, size = time.monotonic() + DEADLINE, hashlib.sha256(), 0, _size(url, answer, file)
    say(f"downloading {url}" + (f", {size / 1e6:.1f} MB" if size is not None else ""))
    while block := answer.read1(BLOCK):  # returns what has arrived, so that the deadline also stops a slow server
        count += len(block)
        if count > MAX_BYTES:
            raise KitError("ocr.download.larger-bytes", "it is larger than {max_bytes} bytes", max_bytes=MAX_BYTES)
        if time.monotonic() > end:
            raise KitError("ocr.download.took-longer-s", "it took longer than {deadline:.0f} s", deadline=DEADLINE)
        digest.update(block)
        file.write(block)
    if not count or (size is not None and count != size):
        raise KitError(
            "ocr.download.incomplete-bytes",
            "incomplete: {count}{size} bytes",
            count=count,
            size="" if size is None else Message("ocr.download.size", " of {size}", size=size),
        )
    return digest.hexdigest()


def _answered(code: int, reason: str) -> str:
    """A message with the status of a response: the reason may be empty, and urllib appends further lines to it."""
    first = reason.strip().partition("\n")[0]
    return f"the server answers {code} {first}".rstrip()


def _size(url: str, answer: http.client.HTTPResponse, file: IO[bytes]) -> int | None:
    """The size that the server announces, if any. Raises KitError if the answer is not to be copied."""
    asked = urlsplit(url).scheme
    if urlsplit(answer.url).scheme not in ("https", asked):
        raise KitError("ocr.download.not-https", "it redirects from {scheme} to {url}", scheme=asked, url=answer.url)
    if answer.status != http.client.OK:
        raise KitError(_answered(answer.status, answer.reason))
    if answer.headers.get_content_type() == "text/html":
        raise KitError("ocr.download.server-returned-html", "the server returned an HTML page")
    announced = answer.headers.get("Content-Length") or ""
    if not re.fullmatch("[0-9]{1,18}", announced):
        return None
    size, free = int(announced), shutil.disk_usage(file.fileno()).free
    if size > min(MAX_BYTES, free):
        raise KitError(
            "ocr.download.bytes",
            "it has {size} bytes; accepted: up to {max_bytes}, and the disk has {free} free",
            size=size,
            max_bytes=MAX_BYTES,
            free=free,
        )
    return size
