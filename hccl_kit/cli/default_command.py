"""What every rank runs if the user names no command: the trainer of this project."""

from __future__ import annotations

from collections.abc import Callable

IN_CHECKOUT = ("python", "-u", "tools/train.py", "--config", "configs/rec/crnn/crnn_small.yaml")
INSTALLED = ("hccl-kit", "train", "--config", "rec/crnn/crnn_small.yaml")


def default_command(warn: Callable[[str], None]) -> tuple[str, ...]:
    """The command for the current folder; `warn` gets a line if it cannot run here."""
    # Imported here, since --help does not need these.
    from importlib.util import find_spec  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415
    from shutil import which  # noqa: PLC0415

    is_checkout = all(Path(file).is_file() for file in (IN_CHECKOUT[2], IN_CHECKOUT[-1]))
    command = IN_CHECKOUT if is_checkout else INSTALLED
    problem = None
    if find_spec("mindspore") is None:
        problem = "MindSpore is not installed here; pip install 'hccl-kit[train]'"
    elif which(command[0]) is None:
        problem = f"{command[0]} is not on PATH; activate the environment that it is in"
    if problem:
        warn(f"warning: the default command, {' '.join(command)}, cannot run: {problem}, or name another after --")
    return command
