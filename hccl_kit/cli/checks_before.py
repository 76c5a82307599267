"""The checks of hccl-kit run --preflight, which come before the ranks start."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.own_program import own_program
from hccl_kit.base.terminal import printable
from hccl_kit.cli.job_table import TableOfJob
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.spares import Placement


def check_server(job: TableOfJob) -> None:
    """Raises KitError if the checks of this server find errors, after printing them."""
    words = ["preflight", str(job.path or "-"), "--quiet"]
    text = None if job.path else job.file.text
    done = subprocess.run(own_program("hccl_kit", *words), check=False, input=text, text=True, stdout=sys.stderr)
    if done.returncode:
        raise KitError(
            "run.preflight",
            "this server did not pass its checks, so nothing was started",
            fix="repair it, or start without --preflight",
        )


def check_servers(placement: Placement, report: Callable[[str], None], python: Sequence[str]) -> Placement:
    """The placement in which no server has an error of `hccl-kit preflight`. Raises KitError."""
    while True:
        answers = _preflight(placement.file, python)
        unfit = {str(row["server"]): _why(row) for row in answers if not row["ok"]}
        if not unfit:
            return placement
        for server, why in unfit.items():
            report(
                Message(
                    "run.unfit",
                    "server {server} did not pass its checks: {why}",
                    server=printable(server),
                    why=printable(why),
                )
            )
        if not placement.spares:
            raise KitError(
                "run.preflight-servers",
                "{count} of {all} servers did not pass their checks, so nothing was started",
                fix="repair them, name --spares, or start without --preflight",
                count=len(unfit),
                all=len(answers),
            )
        placement = placement.replace([*unfit], report)


def _preflight(file: TableFile, python: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    words = ("preflight", "-", "--all", "--quiet", "--format", "json", *(f"--python={text}" for text in python))
    done = subprocess.run(
        own_program("hccl_kit", *words), check=False, input=file.text, text=True, stdout=subprocess.PIPE
    )
    try:
        rows: Sequence[Mapping[str, Any]] = json.loads(done.stdout)["servers"]
    except (ValueError, LookupError, TypeError) as error:
        raise KitError("run.no-preflight", "the servers could not be checked, so nothing was started") from error
    return rows


def _why(row: Mapping[str, Any]) -> str:
    errors = [str(finding["message"]) for finding in row["findings"] if finding["severity"] == "error"]
    return str(row["error"] or (errors[0] if errors else "no reason given"))
