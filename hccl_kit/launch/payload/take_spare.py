"""Writes the rank table with spare servers in it; launch scripts with spares contain this program.

    take_spare.py TABLE FOLDER SERVER ENTRY [SERVER ENTRY ...]

ENTRY is the spare that takes the place of SERVER, as it is written in a list of servers. The new table has its digest
in its name, so servers that share FOLDER write the same file. Prints the SHA-256 and the path. It needs Python 3.8
only.

Exit codes: 0 written, 2 the spare does not fit or the table cannot be written.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from hccl_kit.launch.payload.substitute import MisfitError, new_table, save_table


def take(argv: Sequence[str]) -> int:
    """Run the program, and return its exit code."""
    path, folder, words = Path(argv[0]), Path(argv[1]), argv[2:]
    pairs = [(words[n], words[n + 1]) for n in range(0, len(words), 2)]
    try:
        table = new_table(path.read_text(encoding="utf-8"), path, folder, pairs)
        save_table(table)
    except MisfitError as why:
        sys.stderr.write(f"error: {why}\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"error: cannot write the table with the spares in {folder}: {error.strerror}\n")
        return 2
    sys.stdout.write(f"{table.sha256} {table.path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(take(sys.argv[1:]))
