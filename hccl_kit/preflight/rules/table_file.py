"""HK6: the file of the table on this machine, and the variables that name one."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from hccl_kit.base.message import Message
from hccl_kit.base.wording import system_reason
from hccl_kit.check.rule import Rule
from hccl_kit.preflight.node import CannotTellError, Node
from hccl_kit.runtime.worker_env import RANK_TABLE_FILE
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding, finding

MAX_PATH = 4095
"""Bytes, PATH_MAX without the zero at its end."""
_SUFFIX = ".json"
_OVERRIDE = "MINDSPORE_HCCL_CONFIG_PATH"


def path_not_taken(node: Node) -> Iterator[Finding]:
    """HCCL does not accept the path of the table.

    What:           the file is here and cannot be read, or its path is too long or does not have ".json" at its end and
                    nowhere else. A missing file is reported by HK661, over all servers.
    Why it matters: HCCL resolves the path, and looks for the first ".json" in it, which must be its end.
    Example:        /data/tables.json.d/hccl_8p.json
    Fix:            put the table where its whole path has ".json" at the end only, and let its owner read it.
    HCCL:           EI0004 "not a valid real path" (R1 to R3).
    """
    path = _path(node)
    try:
        real = path.resolve(strict=True)
        with real.open("rb"):
            pass
    except FileNotFoundError:
        raise CannotTellError("HK601.no-table", "there is no table at {path}", path=path) from None
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links, before Python 3.13
        loop = Message("HK601.loop", "its symbolic links form a loop")
        why = system_reason(error) if isinstance(error, OSError) else loop
        message = Message(
            "HK601.not-read", "the table {path} cannot be read here: {reason}", path=shown(str(path)), reason=why
        )
        yield Finding(message, Message("HK601.not-read.fix", "chmod u+r the file and u+x its folders"))
        return
    for name in dict.fromkeys([str(path), str(real)]):
        if name.find(_SUFFIX) != len(name) - len(_SUFFIX):
            message = Message(
                "HK601.suffix",
                'the path {path} must contain "{suffix}" only once, at its end',
                path=shown(name),
                suffix=_SUFFIX,
            )
            yield Finding(message, Message("HK601.suffix.fix", "rename the file or its folder"))
        if len(os.fsencode(name)) > MAX_PATH:
            yield finding(
                "HK601.long-path",
                "the path of the table has {length} bytes; accepted: {most}",
                length=len(os.fsencode(name)),
                most=MAX_PATH,
            )


def passed_over(node: Node) -> Iterator[Finding]:
    """`torch_npu` silently ignores the table.

    What:           the path of the table is a symbolic link, as in every volume that Kubernetes mounts, or its owner
                    may not read it.
    Why it matters: torch_npu ignores such a table; the ranks then connect by root info instead. MindSpore accepts it.
    Example:        /user/config/hccl.json -> ..data/hccl.json
    Fix:            copy the file, or use the target of the link.
    HCCL:           no code; without rank table a job may end with EI0015.
    """
    path = _path(node)
    try:
        mode = path.lstat().st_mode
    except OSError:
        return  # reported by HK601
    if stat.S_ISLNK(mode):
        message = Message(
            "HK602.link", "the table {path} is a symbolic link, which torch_npu silently ignores", path=shown(str(path))
        )
        yield Finding(message, Message("HK602.link.fix", "use the file itself: {path}", path=path.resolve()))
    elif not mode & stat.S_IRUSR:
        message = Message(
            "HK602.closed",
            "the owner of {path} may not read it, so torch_npu silently ignores it",
            path=shown(str(path)),
        )
        yield Finding(message, Message("HK602.closed.fix", "chmod u+r {path}", path=path))


def another_table(node: Node) -> Iterator[Finding]:
    """A variable names another table.

    What:           RANK_TABLE_FILE or MINDSPORE_HCCL_CONFIG_PATH is set to another file than the table that is checked.
    Why it matters: MINDSPORE_HCCL_CONFIG_PATH overrides RANK_TABLE_FILE, so a job may take an unchecked table.
    Example:        MINDSPORE_HCCL_CONFIG_PATH=/opt/old_table.json in the profile of the user.
    Fix:            unset the variable; scripts of `hccl-kit launch` do that themselves.
    HCCL:           no code; the job takes the other table.
    """
    for name in (_OVERRIDE, RANK_TABLE_FILE):
        value = node.environ.get(name)
        if value and node.path and not _same(Path(value), node.path):
            yield finding(
                "HK603.other-table",
                "{variable}={value}, which is not the checked table, {path}",
                hint=_unset(name),
                variable=name,
                value=shown(value),
                path=shown(str(node.path)),
            )
        elif value and not node.path and name == _OVERRIDE:
            yield finding(
                "HK603.overrides",
                "{variable}={value}, which overrides {other}",
                hint=_unset(name),
                variable=name,
                value=shown(value),
                other=RANK_TABLE_FILE,
            )


def _path(node: Node) -> Path:
    if node.path is None:
        raise CannotTellError("HK601.no-path", "the table came over standard input; name its path here with --path")
    return node.path


def _unset(variable: str) -> Message:
    return Message("HK603.fix", "unset {variable}", variable=variable)


def _same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except (OSError, ValueError):
        return path == other


RULES = (
    Rule("HK601", "table-path", path_not_taken, hccl_error="EI0004"),
    Rule("HK602", "table-ignored-by-torch", passed_over, severity="warning"),
    Rule("HK603", "other-table-in-variable", another_table, severity="warning"),
)
