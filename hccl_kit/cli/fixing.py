"""`hccl-check --fix` and `--diff`: mend a table, or show how it would be.

A symbolic link is followed, since what it leads to is what HCCL reads; the link stays a link. Standard input has no
file to write, so the mended text goes to standard output, and all that is for people to standard error.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import KitError
from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import counted
from hccl_kit.check.fix import Mended
from hccl_kit.check.line_diff import line_diff
from hccl_kit.table.document import MAX_BYTES, STDIN
from hccl_kit.table.finding import Diagnostic


def write(outcome: Mended, name: str, data: bytes) -> None:
    """Put the mended text in the place of the table `name`, whose content was `data`.

    Written is only where something was mended, whole or not at all, with the mode that the file had. KitError: it
    cannot be written, or is no regular file, such as /dev/stdin.
    """
    if name == STDIN:
        if len(data) > MAX_BYTES:  # the rest was not read
            raise KitError(f"cannot mend {STDIN}: it is larger than {MAX_BYTES} bytes")
        sys.stdout.buffer.write(outcome.text.encode("utf-8") if outcome.applied else data)
        sys.stdout.buffer.flush()
    elif outcome.applied:
        path = Path(name).resolve()
        if not path.is_file():
            raise KitError(
                f"cannot mend {name}: it is not a regular file", hint='for a pipe write "-": hccl-check --fix -'
            )
        write_atomically(path, outcome.text, like=path.stat())


def difference(outcome: Mended, data: bytes, name: str, *, is_done: bool) -> str | None:
    """The diff of what was mended and a line that counts it; None where that is nothing."""
    if not outcome.applied:
        return None
    summary = f"{printable(name)}: {_counted(outcome.applied)} {'mended' if is_done else 'could be mended'}"
    return "\n".join([*line_diff(data.decode("utf-8"), outcome.text, name), summary])


def _counted(applied: Sequence[Diagnostic]) -> str:
    """As in "3 findings (HK102: 2, HK207: 1)"."""
    counts = sorted(Counter(found.rule for found in applied).items())
    each = ", ".join(f"{rule}: {count}" for rule, count in counts)
    return f"{counted(len(applied), 'finding')} ({each})"
