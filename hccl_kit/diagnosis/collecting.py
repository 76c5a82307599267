"""What a diagnosis needs as one masked archive: logs, excerpts of the kernel's messages, and what the caller adds.

The marks of the mask become names of the same form, such as 198.18.0.7 for an address, so the archive is read back like
the logs themselves. Packed files and dumps are left out, since what is in them cannot be masked.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.wording import listed
from hccl_kit.diagnosis.logs import archives, sources
from hccl_kit.diagnosis.logs.sources import Given
from hccl_kit.diagnosis.masking import Masker

FIRST, LAST = 1 << 20, 4 << 20
"""Bytes of the start and the end of a log that are kept."""
MOST = 128 << 20
"""Bytes of all logs together."""
OF_KERNEL = 256 << 10
"""Bytes of the end of each log of the kernel: what it printed last."""
KERNEL_LOGS = ("/var/log/messages", "/var/log/syslog", "/var/log/kern.log")
_MARK = re.compile(r"<(address|host|user|name) ([0-9]{1,5})>")


class Collected(NamedTuple):
    """A compressed archive, and what is not in it, a sentence each."""

    data: bytes
    notes: tuple[str, ...]


def collect(given: Sequence[Given], others: Mapping[str, str], mask: Masker) -> Collected:
    """The archive of these files, of `others` (texts by name, masked already) and of the kernel's messages here."""
    notes: list[str] = []
    texts: dict[str, str] = {}
    size = 0
    top = os.path.commonpath([log.path.absolute().parent for log in given]) if given else "/"
    for log in given:
        if size >= MOST:
            most = MOST >> 20
            notes.append(Message("collect.most", "only the first {size} MiB of the logs are collected", size=most))
            break
        text = _text(log, notes)
        if text is not None:
            texts[f"logs/{os.path.relpath(log.path.absolute(), top)}"] = text
            size += len(text)
    kernel = {f"kernel/{name}": text for name, text in kernel_messages(notes)}
    mask.learn([*texts, *texts.values(), *kernel.values()])
    masked = {stood_in(mask.path(name)): stood_in(mask.text(text)) for name, text in texts.items()}
    masked |= {name: stood_in(mask.text(text)) for name, text in kernel.items()}
    return Collected(packed("hccl-kit-logs", {**masked, **others}), tuple(notes))


def packed(folder: str, texts: Mapping[str, str]) -> bytes:
    """A compressed archive of texts by their names in the folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name, text in texts.items():
            data = text.encode()
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size, member.mode = len(data), 0o600
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def _text(given: Given, notes: list[str]) -> str | None:
    """The start and the end of a log; None if it cannot be read, or is packed."""
    try:
        with sources.opened(given) as descriptor:
            start = os.read(descriptor, FIRST)
            if archives.is_packed(start) or (not start.isascii() and b"\0" in start):
                notes.append(_left_out(given, Message("collect.packed", "it is packed, or not text")))
                return None
            rest = given.size - len(start)
            if rest > LAST:
                os.lseek(descriptor, -LAST, os.SEEK_END)
                notes.append(
                    Message("collect.part", "of {file} the first and the last lines are collected", file=given.path)
                )
            end = b"".join(iter(lambda: os.read(descriptor, FIRST), b""))[-LAST:] if rest > 0 else b""
    except OSError as error:
        notes.append(_left_out(given, sources.why(error)))
        return None
    if rest > LAST:
        start, end = start[: start.rfind(b"\n") + 1], end[end.find(b"\n") + 1 :]
    return (start + end).decode("utf-8", "replace")


def _left_out(given: Given, why: str) -> Message:
    return Message("collect.left-out", "{file} is not collected: {reason}", file=given.path, reason=why)


def kernel_messages(notes: list[str]) -> list[tuple[str, str]]:
    """The end of dmesg and of the system's logs, by name, as far as this user may read them."""
    logs = []
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(["dmesg", "-T"], check=False, capture_output=True, timeout=10, stdin=subprocess.DEVNULL)
        if done.stdout:
            logs.append(("dmesg", done.stdout[-OF_KERNEL:].decode("utf-8", "replace")))
    for name in KERNEL_LOGS:
        with suppress(OSError), Path(name).open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - OF_KERNEL))
            logs.append((Path(name).name, file.read(OF_KERNEL).decode("utf-8", "replace")))
    if not logs:
        notes.append(
            Message(
                "collect.no-kernel",
                "neither dmesg nor {logs} can be read: run this as root for the kernel's messages",
                logs=listed(KERNEL_LOGS),
            )
        )
    return logs


def stood_in(text: str) -> str:
    """The text with a name of the same form for each mark: 198.18.0.0/15 is reserved for tests."""

    def stand_in(match: re.Match[str]) -> str:
        number = int(match[2])
        return f"198.18.{number // 250}.{number % 250 + 1}" if match[1] == "address" else f"{match[1]}-{number}"

    return _MARK.sub(stand_in, text)
