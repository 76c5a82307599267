"""What a user must know who has not named the framework of the command."""

from __future__ import annotations

from hccl_kit.base.frameworks import PYTORCH
from hccl_kit.base.wording import listed, plural
from hccl_kit.cli.default_command import IN_CHECKOUT, INSTALLED
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.table.document import shown


def note_on_cards(made: LaunchPlan) -> str | None:
    """A note if ranks see all cards of their server, and a program of torch would not take those of the plan.

    It would take cards 0 to n-1, the local ranks. The default command is a program of MindSpore.
    """
    if made.framework is not None or made.command in (IN_CHECKOUT, INSTALLED):
        return None
    for node in made.nodes:
        taken = tuple(range(len(node.devices)))
        if node.devices != taken:
            return (
                f"note: programs of torch would take {plural('card', len(taken))} {listed(taken, 8)} of server"
                f" {shown(node.id)}, not {listed(node.devices, 8)}; if yours is one: --framework {PYTORCH}"
            )
    return None
