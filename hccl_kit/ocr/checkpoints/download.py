"""Download of one file by http or https: size, time and redirects bounded, certificates verified, no passwords."""

from __future__ import annotations

import hashlib
import http.client
import re
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import IO

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message

MAX_BYTES = 4 << 30
MAX_REDIRECTS = 5
SILENCE, DEADLINE = 30.0, 3600.0
"""Maximum seconds without data from the server, and for the whole download."""
BLOCK = 1 << 20
Say = Callable[[str], None]


def copy(url: str, file: IO[bytes], say: Say) -> str:
    """Write the content of a URL into `file`; returns its SHA-256. Raises KitError if it is incomplete."""
    end, digest, count = time.monotonic() + DEADLINE, hashlib.sha256(), 0
    with _opened(url) as answer:
        size = _size(answer, file)
        say(f"downloading {url}" + (f", {size / 1e6:.1f} MB" if size is not None else ""))
        while block := _read(answer):
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


def _opened(url: str) -> http.client.HTTPResponse:
    try:
        # S310 warns of other schemes: the caller and _Redirects let only http and https through.
        request = urllib.request.Request(url, headers={"User-Agent": "hccl_kit"})  # noqa: S310
        answer: http.client.HTTPResponse = urllib.request.build_opener(_Redirects).open(request, timeout=SILENCE)
    except urllib.error.HTTPError as error:
        error.close()
        raise KitError(_answered(error.code, str(error.reason))) from error
    except urllib.error.URLError as error:
        raise KitError(str(getattr(error.reason, "strerror", None) or error.reason)) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise KitError(str(error) or type(error).__name__) from error
    return answer


def _answered(code: int, reason: str) -> str:
    """A message with the status of a response: the reason may be empty, and urllib appends further lines to it."""
    first = reason.strip().partition("\n")[0]
    return f"the server answers {code} {first}".rstrip()


def _size(answer: http.client.HTTPResponse, file: IO[bytes]) -> int | None:
    """The size announced by the server, if any. Raises KitError if it is too large, or the answer is an HTML page."""
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


def _read(answer: http.client.HTTPResponse) -> bytes:
    try:
        return answer.read1(BLOCK)  # returns what has arrived, so that the deadline also stops a slow server
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise KitError(
            "ocr.download.connection-broke", "the connection broke: {name}", name=error or type(error).__name__
        ) from error


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Few redirects, to http and https only, never from https to http and never with a password."""

    max_redirections = MAX_REDIRECTS
    max_repeats = 1

    def redirect_request(  # noqa: PLR0917  # urllib's signature
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """The next request. Raises KitError if the redirect is refused."""
        fp.close()  # urllib would read the body of the redirect into memory, whatever its size
        refusal = reason_to_refuse(*(urllib.parse.urlsplit(url) for url in (req.full_url, newurl)))
        if refusal:
            raise KitError(
                "ocr.download.redirects-not-followed", "it redirects {refusal}, which is not followed", refusal=refusal
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def reason_to_refuse(before: urllib.parse.SplitResult, after: urllib.parse.SplitResult) -> Message | None:
    """Why a redirect is not followed; None if it is."""
    if after.scheme not in ("http", "https") or (before.scheme == "https" and after.scheme == "http"):
        return Message("ocr.download.scheme", "from {before} to {after}", before=before.scheme, after=after.scheme[:20])
    if "@" in after.netloc:
        return Message("ocr.download.credentials", "to a URL with a user name or a password")
    return None
