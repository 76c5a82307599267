"""How a user installs an extra of this package: from a clone, since no package index has it yet."""

from __future__ import annotations

from hccl_kit.base.message import Message


def install_extra(name: str) -> Message:
    """The command that installs an extra, and where to run it."""
    return Message(
        "base.install-extra",
        "pip install '.[{name}]' in a clone of https://github.com/hccl-kit/hccl-kit",
        name=name,
    )
