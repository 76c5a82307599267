"""Runs the command of a worker or of the scheduler of msrun, which can be any program, and notes failures.

The notes are in the order of the failures and have the exit codes; msrun reports neither.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys


def end_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG of linux/prctl.h


def main(logs: str, *command: str) -> int:
    """Run the program, and return its exit code."""
    end_with_parent()
    try:
        code = subprocess.call(command, preexec_fn=end_with_parent)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", flush=True)
        code = 127
    code = code if code >= 0 else 128 - code
    if code:
        name = "scheduler" if os.environ["MS_ROLE"] == "MS_SCHED" else "worker_" + os.environ["RANK_ID"]
        try:
            with open(f"{logs}/failed", "a") as failed:
                failed.write(f"{name} {code}\n")
        except OSError:  # the log folder is gone, or the disk is full; msrun ends anyway
            pass
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
