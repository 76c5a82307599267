"""What every rank runs if the user names no command: the trainer of this project."""

from __future__ import annotations

from collections.abc import Callable

IN_CHECKOUT = ("python", "-u", "tools/train.py", "--config", "configs/rec/crnn/crnn_small.yaml")
INSTALLED = ("hccl-kit", "train", "--config", "rec/crnn/crnn_small.yaml")


def default_command(warn: Callable[[str], None]) -> tuple[str, ...]:
    """The command for the current folder; `warn` gets a line if it cannot train in this installation."""
    from importlib.util import find_spec  # noqa: PLC0415 - not for --help
    from pathlib import Path  # noqa: PLC0415

    is_checkout = all(Path(file).is_file() for file in (IN_CHECKOUT[2], IN_CHECKOUT[-1]))
    command = IN_CHECKOUT if is_checkout else INSTALLED
    if find_spec("mindspore") is None:
        warn(
            f"warning: the default command, {' '.join(command)}, needs MindSpore, which is not installed here;"
            " pip install 'hccl-kit[train]', or name another command after --"
        )
    return command
