"""Queries of the driver's command-line tools: limited in time and size, in English, all cards in parallel."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from hccl_kit.base.child import TooMuchError, killed_on_error, output_of
from hccl_kit.base.errors import INTERRUPTED
from hccl_kit.base.interruptible import interruptible, is_interrupted
from hccl_kit.base.message import Message, reason_of
from hccl_kit.base.wording import no_answer, system_reason
from hccl_kit.discovery import may_be_file

TIMEOUT = 10.0
"""Seconds of one query; with a healthy driver it takes much less than one."""
MAX_ANSWER = 64 << 10
"""Bytes of an answer, which normally has a few lines."""

_AT_ONCE = 16
"""Cards that are asked at a time: all of the largest server but one product."""
_T = TypeVar("_T")


class NoAnswerError(Exception):
    """Why the query of one card failed; callers combine the reasons of all cards into one KitError."""


class HangError(NoAnswerError):
    """The program did not end in time, as when the driver hangs."""


def find(name: str, usual_places: Sequence[str]) -> str | None:
    """The path of a program: the first on PATH, else at one of `usual_places`, else None.

    A file at a usual place counts even if it is not executable: `query` then reports that.
    """
    return shutil.which(name) or next((place for place in usual_places if may_be_file(Path(place))), None)


def query_each(ids: Sequence[int], query_card: Callable[[int], _T]) -> tuple[dict[int, _T], dict[int, str]]:
    """The answers by card, and the reasons of the cards for which `query_card` raised NoAnswerError."""
    answers, reasons = {}, {}

    def ask(device_id: int) -> None:
        try:
            answers[device_id] = query_card(device_id)
        except NoAnswerError as error:
            reasons[device_id] = reason_of(error)

    def ask_all() -> None:
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            list(pool.map(ask, ids))

    interruptible(ask_all)
    return {i: answers[i] for i in ids if i in answers}, {i: reasons[i] for i in ids if i in reasons}


def reason_lines(reasons: dict[int, str]) -> str:
    """The reasons of `query_each`, a line for every card."""
    lines = ""
    for card, reason in reasons.items():
        lines = Message(
            "discovery.card-reason", "{above}\n    card {card}: {reason}", above=lines, card=card, reason=reason
        )
    return lines


def query(command: Sequence[str], timeout: float) -> str:
    """The output of a program. Its exit code is ignored, since it differs between versions and the text says why.

    Raises NoAnswerError if the program does not start or prints more than MAX_ANSWER bytes, HangError if it does not
    end within `timeout` seconds. If this is interrupted, the program is not left running.
    """
    return interruptible(lambda: _query(command, timeout))


def _query(command: Sequence[str], timeout: float) -> str:
    if is_interrupted():
        raise NoAnswerError(INTERRUPTED)
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            env=_environ(),
            start_new_session=True,
        )
    except OSError as error:
        why = Message("discovery.not-started", "the tool cannot be started: {reason}", reason=system_reason(error))
        raise NoAnswerError(why) from None
    try:
        with killed_on_error(process):
            return output_of(process, time.monotonic() + timeout, MAX_ANSWER)[0]
    except subprocess.TimeoutExpired:
        raise HangError(no_answer(timeout)) from None
    except TooMuchError:
        why = Message("discovery.too-much", "the tool prints more than {number} bytes", number=MAX_ANSWER)
        raise NoAnswerError(why) from None


def excerpt(answer: str) -> str:
    """An unexpected answer of a tool on one short line without control characters."""
    line = "".join(char if char.isprintable() else "?" for char in " ".join(answer.split()))
    if not line:
        return Message("discovery.nothing", "the tool printed nothing")
    return line if len(line) <= 120 else line[:117] + "..."


def _environ() -> dict[str, str]:
    """The environment in English, without a variable that breaks the tools (CANN variable reference)."""
    return {key: value for key, value in os.environ.items() if key != "ASCEND_RT_VISIBLE_DEVICES"} | {"LC_ALL": "C"}
