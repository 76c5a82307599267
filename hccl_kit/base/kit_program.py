"""The command of hccl-kit, which never takes modules from the current folder: another user may have put some there.

Python looks there for the modules of `-m` and `-c`, and for all if PYTHONPATH has an empty part, such as
behind a colon at its end. Part of programs that launch scripts contain.
"""

from __future__ import annotations

import os
import shutil
import sys

PATHS = """\
import os, site, sys
sys.path[:0] = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(folder)]
if sys.prefix == sys.base_prefix and not os.environ.get("PYTHONNOUSERSITE"):
    site.addsitedir(site.getusersitepackages())
"""
"""For `python -I`, which leaves out more than the current folder: what the user has named, and has installed."""
START = f"""{PATHS}\
import runpy
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""
"""For `python -I -c START MODULE ARGUMENT ...`: runs the module as `python -m MODULE ARGUMENT ...` does."""


def kit_command() -> list[str]:
    """The command of hccl-kit, which may not be there."""
    installed = shutil.which("hccl-kit") or ""
    if not installed.startswith("/"):
        return [sys.executable, "-I", "-c", START, "hccl_kit"]
    given = os.environ.get("PYTHONPATH", "").split(":")
    return ["env", f"PYTHONPATH={':'.join(part for part in given if part.startswith('/'))}", installed]
