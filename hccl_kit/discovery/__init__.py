"""Where the facts of a table come from: card addresses, super pods, the server's own address, physical ids.

Every source returns plain values (`host.Host`, `host.Card`, addresses by physical id), or a reason in a KitError.
"""

from __future__ import annotations

from pathlib import Path


def may_be_file(path: Path) -> bool:
    """Whether `path` is a file. In a folder that may not be looked into, it counts as one: its use says what is wrong.

    Path.is_file raises PermissionError there, until Python 3.14.
    """
    try:
        return path.is_file()
    except OSError:
        return True
