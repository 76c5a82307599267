"""`hccl-check --fix` and `--diff`: fix a table, or show what would change.

A symbolic link is followed, since HCCL reads its target; the link stays a link. Standard input has no file to write, so
the fixed text goes to standard output, and messages go to standard error.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import counted
from hccl_kit.check.fix import FixResult
from hccl_kit.check.line_diff import line_diff
from hccl_kit.table.finding import Finding
from hccl_kit.table.source import MAX_BYTES, STDIN


def write(outcome: FixResult, name: str, data: bytes) -> None:
    """Write the fixed text to the table `name`, whose content was `data`.

    The file is written only if something was fixed, atomically, with the mode that it had. Raises KitError if it cannot
    be written, or is not a regular file, such as /dev/stdin.
    """
    if name == STDIN:
        if len(data) > MAX_BYTES:  # the rest was not read
            raise KitError(
                Message(
                    "cli.fixing.cannot-fix",
                    "cannot fix {stdin}: it is larger than {max_bytes} bytes",
                    stdin=STDIN,
                    max_bytes=MAX_BYTES,
                )
            )
        sys.stdout.buffer.write(outcome.text.encode("utf-8") if outcome.applied else data)
        sys.stdout.buffer.flush()
    elif outcome.applied:
        path = Path(name).resolve()
        if not path.is_file():
            raise KitError(
                Message("cli.fixing.cannot-fix-2", "cannot fix {name}: it is not a regular file", name=name),
                hint=Message("cli.fixing.cannot-fix-2.fix", 'for a pipe use "-": hccl-check --fix -'),
            )
        write_atomically(path, outcome.text, like=path.stat())


def difference(outcome: FixResult, data: bytes, name: str, *, is_done: bool) -> str | None:
    """The diff of what was fixed and a line that counts it; None if nothing was fixed."""
    if not outcome.applied:
        return None
    summary = f"{printable(name)}: {_counted(outcome.applied)} {'fixed' if is_done else 'fixable'}"
    return "\n".join([*line_diff(data.decode("utf-8"), outcome.text, name), summary])


def _counted(applied: Sequence[Finding]) -> str:
    """As in "3 findings (HK102: 2, HK207: 1)"."""
    counts = sorted(Counter(found.rule for found in applied).items())
    each = ", ".join(f"{rule}: {count}" for rule, count in counts)
    return f"{counted(len(applied), 'finding')} ({each})"
