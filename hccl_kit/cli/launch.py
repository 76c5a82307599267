"""Write the script or manifest that starts a command on every rank of a table.

Everything after -- is the command that each rank runs; the default is that of hccl-gen.

examples:
  hccl-kit launch hccl_2s_16p.json --to bash -- python -u train.py --epochs 3
  hccl-kit launch hccl_2s_16p.json --to bash --spares "10.0.0.[9-10]"
  hccl-kit launch hccl_2s_16p.json --to slurm --partition npu --gres npu:8 -o jobs
  hccl-kit launch hccl_2s_16p.json --to ascendjob --image registry/train:1 --dry-run
  hccl-kit launch hccl_2s_16p.json --to jobset --image registry/train:1 --kueue-queue team

Exit codes: 0 written; 2 nothing was written (the launcher cannot start the job, or files exist).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from hccl_kit.base.arguments import Parser, a_path, command_or, split_command
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.cli import complain, exit_code_of
from hccl_kit.cli.default_command import default_command
from hccl_kit.cli.options import add_framework, add_job
from hccl_kit.launch.emitters import LAUNCHERS, Launcher, Option
from hccl_kit.table.products import find_product

if TYPE_CHECKING:
    from hccl_kit.cli.launch_steps import LaunchRequest


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit code."""
    words, command = split_command(argv)

    def program() -> int:
        request = _request(words, command)
        from hccl_kit.cli.launch_steps import write_launch_files  # noqa: PLC0415 - --help does not load it

        return write_launch_files(request)

    return exit_code_of(program)


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(
        prog="hccl-kit launch",
        doc=__doc__,
        usage="hccl-kit launch TABLE --to LAUNCHER [options] [-- COMMAND ...]",
        takes_command=True,
    )
    parser.add_argument("table", metavar="TABLE", help='the rank table, or "-" for standard input')
    parser.add_argument("--to", metavar="LAUNCHER", choices=list(LAUNCHERS), required=True, help=", ".join(LAUNCHERS))
    parser.add_argument(
        "--product",
        metavar="NAME",
        type=find_product,
        help="the hardware that the table is for (default: derived from its version, which only some tables allow);"
        " ascendjob and volcano need it, for the cards that pods ask for",
    )
    add_framework(
        parser,
        "for pytorch, the ranks of bash and slurm see only the cards of the table, numbered from 0"
        " (default: mindspore; of a pytorchjob: pytorch)",
    )
    written = parser.add_argument_group("what is written")
    written.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=a_path,
        help="where to write; a missing folder is created (default: the folder of the table)",
    )
    written.add_argument("--force", action="store_true", help="overwrite files with other content")
    written.add_argument("--dry-run", action="store_true", help="print what would be written, write nothing")
    add_job(parser.add_argument_group("several jobs on a host"))
    _add_launcher_options(parser)
    return parser


def _request(words: Sequence[str], command: tuple[str, ...] | None) -> LaunchRequest:
    given = vars(make_parser().parse(words))
    launcher = LAUNCHERS[given.pop("to")]
    if given["framework"] not in (None, *launcher.frameworks):
        others = [row.name for row in LAUNCHERS.values() if given["framework"] in row.frameworks]
        raise KitError(
            Message(
                "cli.launch.framework-not",
                "--framework {framework} is for --to {others}, not for --to {launcher}",
                framework=given["framework"],
                others=", ".join(others),
                launcher=launcher.name,
            )
        )
    from hccl_kit.cli.launch_steps import LaunchRequest  # noqa: PLC0415 - --help does not load it

    return LaunchRequest(
        launcher=launcher,
        options=_take_launcher_options(launcher, given),
        command=command_or(lambda: default_command(complain), command),
        **given,
    )


def _add_launcher_options(parser: Parser) -> None:
    for launchers, group in groupby(_launchers_of_options().items(), itemgetter(1)):
        arguments = parser.add_argument_group(f"for {', '.join(launchers)}")
        for option, _ in group:
            flag = f"--{option.name.replace('_', '-')}"
            if option.metavar or option.choices:
                arguments.add_argument(flag, metavar=option.metavar, choices=option.choices, help=option.help)
            else:
                arguments.add_argument(flag, action="store_const", const=True, help=option.help)


def _take_launcher_options(launcher: Launcher, given: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of all launchers from `given`; returns the keywords for `emit` of this one.

    Raises KitError if an option of another launcher is given.
    """
    taken = {}
    for option, launchers in _launchers_of_options().items():
        value = given.pop(option.name)
        if value is None:
            continue
        if launcher.name not in launchers:
            flag = f"--{option.name.replace('_', '-')}"
            raise KitError(
                Message(
                    "cli.launch.not",
                    "{flag} is for --to {launchers}, not for --to {launcher}",
                    flag=flag,
                    launchers=", ".join(launchers),
                    launcher=launcher.name,
                )
            )
        taken[option.name] = value
    return taken


def _launchers_of_options() -> dict[Option, list[str]]:
    """The launchers that take each option."""
    found: dict[Option, list[str]] = {}
    for launcher in LAUNCHERS.values():
        for option in launcher.options:
            found.setdefault(option, []).append(launcher.name)
    return found
