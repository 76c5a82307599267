"""msrun starts this as every worker, and as its scheduler. It notes who fails, in the order of failing, with the exit
code: msrun itself tells neither. So any command can be started, not only a script in Python.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys


def end_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG of linux/prctl.h


end_with_parent()
logs, *command = sys.argv[1:]
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
    except OSError:  # the log folder is gone, or the disk is full: msrun ends all the same
        pass
sys.exit(code)
