"""The command of the ranks, where the user has not said enough about it."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from shutil import which

from hccl_kit.base.frameworks import PYTORCH
from hccl_kit.base.wording import listed, plural
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.table.document import shown

IN_CHECKOUT = ("python", "-u", "tools/train.py", "--config", "configs/rec/crnn/crnn_small.yaml")
INSTALLED = ("hccl-kit", "train", "--config", "rec/crnn/crnn_small.yaml")


def default_command(report: Callable[[str], None]) -> tuple[str, ...]:
    """The trainer of this project, which ranks run if the user names no command; `report` gets a line if it cannot."""
    is_checkout = all(Path(file).is_file() for file in (IN_CHECKOUT[2], IN_CHECKOUT[-1]))
    command = IN_CHECKOUT if is_checkout else INSTALLED
    problem = None
    if find_spec("mindspore") is None:
        problem = "MindSpore is not installed here; pip install 'hccl-kit[train]'"
    elif which(command[0]) is None:
        problem = f"{command[0]} is not on PATH; activate the environment that it is in"
    if problem:
        report(f"warning: the default command, {' '.join(command)}, cannot run: {problem}, or name another after --")
    return command


def note_on_cards(plan: LaunchPlan) -> str | None:
    """A note if ranks see all cards of their server, and a program of torch would not take those of the plan.

    It would take cards 0 to n-1, the local ranks. The default command is a program of MindSpore.
    """
    if plan.framework is not None or plan.command in (IN_CHECKOUT, INSTALLED):
        return None
    for node in plan.nodes:
        taken = tuple(range(len(node.devices)))
        if node.devices != taken:
            return (
                f"note: programs of torch would take {plural('card', len(taken))} {listed(taken, 8)} of server"
                f" {shown(node.id)}, not {listed(node.devices, 8)}; if yours is one: --framework {PYTORCH}"
            )
    return None
