"""The command of the ranks, where the user has not said enough about it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from shutil import which

from hccl_kit.base.errors import KitError
from hccl_kit.base.extra import install_extra
from hccl_kit.base.frameworks import PYTORCH
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import listed, plural
from hccl_kit.launch.nested import warning_of_script
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.program import imported_framework
from hccl_kit.table.document import shown

IN_CHECKOUT = ("python", "-u", "tools/train.py", "--config", "configs/rec/crnn/crnn_small.yaml")
"""The default command, where the current folder has these files: the trainer of this project."""


def command_of(given: tuple[str, ...] | None, report: Callable[[str], None]) -> tuple[str, ...]:
    """The command after "--", or IN_CHECKOUT if there is no "--"; `report` gets a warning if it will not do.

    Raises KitError if nothing follows the "--", or the files of IN_CHECKOUT are not in the current folder.
    """
    if given:
        if warning := warning_of_script(given):
            report(warning)
        return given
    missing = _missing_file()
    if given == () or missing:
        reason = Message("cli.not-checkout", ", and the current folder has no {file}", file=missing)
        raise KitError(
            "cli.no-command",
            "no command follows --{reason}",
            fix="name what each rank runs, such as: -- python -u train.py",
            reason="" if given == () else reason,
        )
    problem = None
    if find_spec("mindspore") is None:
        problem = Message(
            "cli.no-mindspore", "MindSpore is not installed here; {install}", install=install_extra("train")
        )
    elif which(IN_CHECKOUT[0]) is None:
        problem = Message(
            "cli.no-python", "{program} is not on PATH; activate the environment that it is in", program=IN_CHECKOUT[0]
        )
    if problem:
        report(
            Message(
                "cli.default-command",
                "warning: the default command, {command}, cannot run: {problem}, or name another after --",
                command=" ".join(IN_CHECKOUT),
                problem=problem,
            )
        )
    return IN_CHECKOUT


def command_of_script(given: tuple[str, ...] | None, report: Callable[[str], None]) -> tuple[str, ...] | None:
    """As `command_of`, for a script of bash; None if it takes a command as its arguments.

    It does where the trainer of this project is not in the current folder.
    """
    if given is None and _missing_file():
        return None
    return command_of(given, report)


def framework_of(
    given: str | None, command: tuple[str, ...] | None, accepted: Sequence[str], report: Callable[[str], None]
) -> str | None:
    """The framework that the user has named, or the one of `accepted` that the program imports; `report` gets a line.

    None if neither is known.
    """
    if given or not accepted or not command or command == IN_CHECKOUT:
        return given
    match = imported_framework(command)
    if match is None:
        return None
    why = Message(
        "cli.imports", "{file} imports {package}", file=printable(str(match.file)), package=printable(match.package)
    )
    if match.framework not in accepted:
        report(
            Message(
                "cli.other-framework",
                "warning: {why}, and this launcher does not start programs of {framework}",
                why=why,
                framework=match.framework,
            )
        )
        return None
    report(
        Message(
            "cli.framework",
            "framework: {framework}, since {why}; --framework names another",
            framework=match.framework,
            why=why,
        )
    )
    return match.framework


def _missing_file() -> str | None:
    """The first file of IN_CHECKOUT that is not in the current folder."""
    return next((file for file in (IN_CHECKOUT[2], IN_CHECKOUT[-1]) if not Path(file).is_file()), None)


def steps_of_script(plan: LaunchPlan, table: str, script: str) -> list[str]:
    """The two ways to start a job; `table` and `script` are quoted paths."""
    framework = f" --framework {plan.framework}" if plan.framework else ""
    command, argument = (shlex.join(plan.command), "") if plan.command else ("COMMAND", " COMMAND")
    if len(plan.nodes) > 1:
        return [
            next_step(f"hccl-kit run {table} --ssh{framework} -- {command}"),
            Message(
                "cli.or-copy",
                "  or: copy {table} and {script} to one path on every server, then there: {step}",
                table=table,
                script=script,
                step=f"bash {script}{argument}",
            ),
        ]
    return [
        next_step(f"bash {script}{argument}"),
        Message("cli.or", "  or: {step}", step=f"hccl-kit run {table}{framework} -- {command}"),
    ]


def next_step(step: str) -> Message:
    """The line that says what to do next."""
    return Message("cli.next", "next: {step}", step=step)


def note_on_secret(script: Path) -> list[str]:
    """A note if the secret of a script of earlier versions lies next to `script`."""
    secret = script.with_name(f"{script.name}.secret")
    unused = Message("cli.unused-secret", "note: {secret} is not used any more; remove it", secret=secret)
    return [unused] if secret.exists() else []


def note_on_cards(plan: LaunchPlan) -> str | None:
    """A note if ranks see all cards of their server, and a program of torch would not take those of the plan.

    It would take cards 0 to n-1, the local ranks. The trainer of this project is a program of MindSpore.
    """
    if plan.framework is not None or plan.command == IN_CHECKOUT:
        return None
    for node in plan.nodes:
        taken = tuple(range(len(node.devices)))
        if node.devices != taken:
            return Message(
                "cli.cards-of-torch",
                "note: programs of torch would take {noun} {taken} of server {server}, not {planned};"
                " if yours is one: --framework {framework}",
                noun=plural("card", len(taken)),
                taken=listed(taken, 8),
                server=shown(node.id),
                planned=listed(node.devices, 8),
                framework=PYTORCH,
            )
    return None
