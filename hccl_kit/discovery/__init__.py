"""Sources of the facts in a table: card addresses, super pods, the server's own address, physical ids.

Every source returns plain values (`Host`, `Card`, addresses by physical id) or raises KitError with the reason.
"""

from __future__ import annotations

from pathlib import Path


def may_be_file(path: Path) -> bool:
    """Whether `path` is a file, or is in a folder that cannot be read; using it then reports the error.

    Path.is_file raises PermissionError in such a folder, until Python 3.14.
    """
    try:
        return path.is_file()
    except OSError:
        return True
