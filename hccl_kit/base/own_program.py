"""How this package starts Python: the one place, so that no module of the current folder runs by mistake.

Python looks there for the modules of `-m` and `-c`, and for all if PYTHONPATH has an empty part, such as behind a colon
at its end.
"""

from __future__ import annotations

import sys
from pathlib import Path

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
_ROOT = str(Path(__file__).absolute().parents[2])
"""The folder or archive from which this package was imported; links are kept, since an archive may be one to memory."""
_SAME_KIT = f"import sys\nif {_ROOT!r} not in sys.path: sys.path.insert(0, {_ROOT!r})\n"


def own_program(module: str, *arguments: str) -> tuple[str, ...]:
    """The command that runs a module of this package, as `python -m` does, from the folder of this package."""
    return (sys.executable, "-I", "-c", _SAME_KIT + START, module, *arguments)


def own_python(code: str) -> tuple[str, ...]:
    """The command that runs `code` with the installed packages, as `python -c` does."""
    return (sys.executable, "-I", "-c", PATHS + code)
