"""How this package starts Python: the one place, so that no module of the current folder runs by mistake."""

from __future__ import annotations

import sys
from pathlib import Path

from hccl_kit.base.kit_program import PATHS, START

_ROOT = str(Path(__file__).absolute().parents[2])
"""The folder or archive from which this package was imported; links are kept, since an archive may be one to memory."""
_SAME_KIT = f"import sys\nif {_ROOT!r} not in sys.path: sys.path.insert(0, {_ROOT!r})\n"


def own_program(module: str, *arguments: str) -> tuple[str, ...]:
    """The command that runs a module of this package, as `python -m` does, from the folder of this package."""
    return (sys.executable, "-I", "-c", _SAME_KIT + START, module, *arguments)


def own_python(code: str) -> tuple[str, ...]:
    """The command that runs `code` with the installed packages, as `python -c` does."""
    return (sys.executable, "-I", "-c", PATHS + code)
