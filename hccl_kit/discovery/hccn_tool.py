"""Card addresses from the driver's own program, `hccn_tool -i N -ip -g`."""

from __future__ import annotations

import ipaddress
import os
import re
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from hccl_kit.discovery import is_there
from hccl_kit.errors import KitError

USUAL_PLACES = ("/usr/local/Ascend/driver/tools/hccn_tool",)
TIMEOUT = 10.0
"""Seconds one question may take; the tool answers in well under one when the driver is healthy."""
MAX_ANSWER = 64 << 10
"""Bytes; an answer is a few lines."""

_AT_ONCE = 8
_IPV4 = re.compile(r"^ipaddr:[ \t]*(\S+)", re.MULTILINE)
_IPV6 = re.compile(r"^ipv6_address:[ \t]*(\S+)", re.MULTILINE)
_NONE_SET = re.compile(r"no ip was preset|Get ip(conf)? failed", re.IGNORECASE)


class _CardError(Exception):
    """Why one card gave no address; the cards' reasons are joined into one KitError."""


def find() -> str | None:
    """The path of hccn_tool: the first on PATH, else in one of its usual folders, else None.

    A file in a usual folder counts even where it may not be executed: `addresses` then says so.
    """
    return shutil.which("hccn_tool") or next((place for place in USUAL_PLACES if is_there(Path(place))), None)


def addresses(tool: str, ids: Sequence[int], *, timeout: float = TIMEOUT) -> dict[int, str]:
    """The RoCE address of every card in `ids` (physical ids): its IPv4 address, else its IPv6 address.

    KitError names every card that has none and why; `timeout` is in seconds and per question.
    """

    def ask(device_id: int) -> str | _CardError:
        try:
            return _address(partial(_ask, tool, timeout), device_id)
        except _CardError as error:
            return error

    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        answers = dict(zip(ids, pool.map(ask, ids), strict=True))
    failures = {device_id: answer for device_id, answer in answers.items() if isinstance(answer, _CardError)}
    if failures:
        reasons = "".join(f"\n    card {device_id}: {reason}" for device_id, reason in failures.items())
        raise KitError(
            f"{tool} gave no address for {len(failures)} of {len(ids)} cards:{reasons}",
            hint=(
                f"set one with: hccn_tool -i {min(failures)} -ip -s address A.B.C.D netmask M.M.M.M\n"
                "or name another source: --hccn-conf FILE, --inventory FILE, --simulate"
            ),
        )
    return {device_id: answer for device_id, answer in answers.items() if isinstance(answer, str)}


def _address(ask: partial[str], device_id: int) -> str:
    """One card's address. IPv6 is asked only where the tool says that no IPv4 address is set."""
    answer = ask(["-i", str(device_id), "-ip", "-g"])
    found = _IPV4.search(answer)
    if not found and _NONE_SET.search(answer):
        found = _IPV6.search(ask(["-i", str(device_id), "-ip", "-inet6", "-g"]))
    if not found:
        raise _CardError(_shown(answer) or "the tool printed nothing")
    try:
        ipaddress.ip_address(found[1])
    except ValueError:
        raise _CardError(f"{found[1]!r} is not an IP address") from None
    return found[1]


def _ask(tool: str, timeout: float, arguments: Sequence[str]) -> str:
    """What the tool prints. Its exit code is not read: versions differ in it, the text says more."""
    try:
        process = subprocess.Popen(
            [tool, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            env=_environ(),
            start_new_session=True,
        )
    except OSError as error:
        raise _CardError(f"the tool cannot be started: {error.strerror}") from None
    with process:
        try:
            return _read(process, time.monotonic() + timeout).decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            _kill(process)
            raise _CardError(f"no answer in {timeout:g} s") from None
        except _CardError:
            _kill(process)
            raise


def _read(process: subprocess.Popen[bytes], deadline: float) -> bytes:
    """What the process prints until it ends, which must be before `deadline` (monotonic)."""
    assert process.stdout is not None
    answer = b""
    while len(answer) <= MAX_ANSWER:
        left = max(0.0, deadline - time.monotonic())
        if not select.select([process.stdout], [], [], left)[0]:
            raise subprocess.TimeoutExpired(process.args, left)
        piece = process.stdout.read(4096)
        if not piece:
            process.wait(left)
            return answer
        answer += piece
    raise _CardError(f"the tool prints more than {MAX_ANSWER} bytes")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The whole session, not only the tool, or the child of a wrapper script would live on."""
    os.killpg(process.pid, signal.SIGKILL)


def _environ() -> dict[str, str]:
    """Ours, in English, and without a variable under which the tool does not work (CANN variable reference)."""
    return {key: value for key, value in os.environ.items() if key != "ASCEND_RT_VISIBLE_DEVICES"} | {"LC_ALL": "C"}


def _shown(answer: str) -> str:
    """The tool's complaint on one line that moves no cursor, cut to a length that fits a list of cards."""
    line = "".join(char if char.isprintable() else "?" for char in " ".join(answer.split()))
    return line if len(line) <= 120 else line[:117] + "..."
