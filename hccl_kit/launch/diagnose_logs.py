"""Shows what `hccl-kit diagnose` says about the logs of a job that failed, if the kit is there."""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path

from hccl_kit.base.kit_program import kit_command

DIAGNOSE = "HCCL_KIT_DIAGNOSE"
SECONDS = 60
"""That a diagnosis may take, unless DIAGNOSE says otherwise; 0: there is none."""
SHOWN = 12
"""Lines that are shown."""


def diagnose(folder: Path) -> None:
    """Print the first lines of the diagnosis; nothing without the kit, without an answer, or if that is late."""
    given = os.environ.get(DIAGNOSE, "")
    seconds = int(given) if re.fullmatch("[0-9]{1,5}", given, re.ASCII) else SECONDS
    if not seconds or not folder.is_dir():
        return
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            [*kit_command(), "diagnose", str(folder)],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
        )
        if done.stdout:
            with open(2, "wb", closefd=False) as screen:
                screen.write(b"\n" + b"".join(done.stdout.splitlines(keepends=True)[:SHOWN]))
