"""Asks `hccl-kit diagnose` about the logs of a job that failed: for people, and for a restart."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hccl_kit.agent.job import Exited, Job
from hccl_kit.base.errors import KitError
from hccl_kit.base.own_program import own_program
from hccl_kit.base.terminal import printable
from hccl_kit.base.translation import OPTION, spoken
from hccl_kit.runtime.worker_env import DIAGNOSE

SECONDS = 60
"""That a diagnosis may take, unless DIAGNOSE says otherwise; 0: there is none."""
SHOWN = 12
"""Lines that are shown."""
MAX_TEXT = 200
"""Characters of a fault that are shown as the reason of a decision."""


class Verdict(NamedTuple):
    """What is at fault for certain, "program" or "card", or "" if that is not known; the rank; the fault in words."""

    blame: str = ""
    rank: int = -1
    text: str = ""

    @property
    def of_card(self) -> bool:
        """Whether the card of the rank is broken."""
        return self.blame == "card"

    @property
    def objection(self) -> str:
        """Why a restart would be futile, "" if it may help."""
        return self.text if self.blame == "program" else ""


def seconds() -> int:
    """The seconds that a diagnosis may take; 0: no diagnosis."""
    given = os.environ.get(DIAGNOSE, "")
    return int(given) if re.fullmatch("[0-9]{1,5}", given, re.ASCII) else SECONDS


def check_verdict(max_restarts: int, environ: Mapping[str, str]) -> None:
    """Raises KitError if there is no restart that a verdict could decide about, or no verdict."""
    if not max_restarts:
        raise KitError("run.policy-without-restarts", "--restart-policy verdict needs --max-restarts N")
    if not seconds():
        raise KitError(
            "run.policy-without-diagnosis",
            "--restart-policy verdict needs the diagnosis, which {name}=0 switches off",
            fix="unset {name}",
            name=DIAGNOSE,
        )
    if "KUBERNETES_SERVICE_HOST" in environ:
        raise KitError(
            "run.policy-in-pod",
            "--restart-policy verdict is not for pods: the cluster starts them again, whatever the verdict",
            fix="leave it out; after a failure: hccl-kit diagnose LOGS, with the logs of all pods",
        )


def diagnose(folder: Path, over: Job) -> None:
    """Print the first lines of the diagnosis; nothing without an answer, or if that is late.

    `folder` is the log folder of the run, `over` the job.
    """
    if said := _answer(folder, over.attempt, OPTION, spoken()):
        with open(2, "wb", closefd=False) as screen:
            screen.write(b"\n" + b"".join(said.splitlines(keepends=True)[:SHOWN]))


def verdict(folder: Path, failed: Job) -> Verdict:
    """What is at fault for certain; nothing if there is no answer in time.

    The diagnosis is certain of the first fault; or nothing contradicts it, and the starter saw that rank fail first
    too.
    """
    try:
        answer = json.loads(_answer(folder, failed.attempt, "--format", "json"))
        fault, cause = answer["first_fault"], failed.cause
        seen = isinstance(cause, Exited) and any(suspect["rank"] == cause.rank for suspect in answer["suspects"])
        is_certain = answer["certainty"] == "certain" or (seen and not answer["contradicts"])
        if not (is_certain and answer["blame"]):
            return Verdict()
        text = f"rank {int(fault['rank'])}: {fault['kind']}" if fault else str(answer["reason"])
        return Verdict(answer["blame"], int(fault["rank"]) if fault else -1, printable(text[:MAX_TEXT]))
    except (ValueError, LookupError, TypeError):  # no answer
        return Verdict()


def _answer(run: Path, attempt: int, *options: str) -> bytes:
    """What the diagnosis of a start prints; nothing if there is none, or not in time."""
    folder, limit = run / f"restart_{attempt}" if attempt else run, seconds()
    if not limit or not folder.is_dir():
        return b""
    with suppress(OSError, subprocess.TimeoutExpired):
        return subprocess.run(
            own_program("hccl_kit", "diagnose", str(folder), *options),
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=limit,
        ).stdout
    return b""
