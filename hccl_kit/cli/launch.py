"""hccl-kit launch: from a rank table and a command to what starts the job, with one of several launchers."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.cli import complain, run
from hccl_kit.cli.gen import DEFAULT_COMMAND
from hccl_kit.launch.emitters import LAUNCHERS, Launcher, Option, emit

_EPILOG = """\
examples:
  hccl-kit launch hccl_2s_16p.json --to bash -- python -u train.py --epochs 3
  hccl-kit launch hccl_2s_16p.json --to slurm --partition npu --gres npu:8 -o jobs
  hccl-kit launch hccl_2s_16p.json --to ascendjob --image registry/train:1 --dry-run

Exit codes: 0 written, 2 not (a plan that this launcher cannot start, files that are there already).
"""


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    at = given.index("--") if "--" in given else len(given)
    options = _parser().parse(given[:at])
    command = tuple(given[at + 1 :])

    def program() -> int:
        if at < len(given) and not command:
            raise KitError("no command follows --", hint="leave -- out to take the default command")
        return _launch(options, command or DEFAULT_COMMAND)

    return run(program)


def _launch(options: argparse.Namespace, command: Sequence[str]) -> int:
    from hccl_kit.cli.output_files import OutputFile, check_folder, show_files, write_files  # noqa: PLC0415 - see main
    from hccl_kit.cli.ways import judged_plan, table_file  # noqa: PLC0415
    from hccl_kit.launch.secret_file import make_secret, secret_of  # noqa: PLC0415

    launcher = LAUNCHERS[options.to]
    launcher_options = _options_of(launcher, options)
    folder = Path(options.output_dir or (Path(options.table).parent if options.table != "-" else "."))
    check_folder(folder)
    table, file, doubt = table_file(options.table, options.product)
    plan, warnings = judged_plan(table, file, command, options.to)
    for warning in [*([doubt] if doubt else []), *warnings]:
        complain(warning)
    made = emit(launcher.name, plan, file, **launcher_options)
    files = [OutputFile(folder / name, text, mode) for name, text, mode in made]
    if launcher.reads_table:
        files.append(OutputFile(folder / file.name, file.text))
    several = len(plan.nodes) > 1
    secret = secret_of(files[0].path) if several and launcher.needs_secret else None
    if options.dry_run:
        show_files(files, force=options.force)
        if secret and not secret.exists():
            print(f"would write: {secret} (a random secret)")
        return EXIT_OK
    said = write_files(files, force=options.force)
    if secret and make_secret(secret):
        said.append(f"wrote: {secret}")
    step = (several and launcher.next_step_of_several) or launcher.next_step
    print(*said, f"next: {step.format(*(shlex.quote(str(path)) for path in (files[0].path, secret)))}", sep="\n")
    return EXIT_OK


def _options_of(launcher: Launcher, options: argparse.Namespace) -> dict[str, Any]:
    """The keywords of its `emit`. Raises KitError if an option of another launcher is given."""
    given = {
        option.name: value for option in _launchers_of_options() if (value := getattr(options, option.name)) is not None
    }
    for option, launchers in _launchers_of_options().items():
        if option.name in given and launcher.name not in launchers:
            raise KitError(
                f"--{option.name.replace('_', '-')} is for --to {', '.join(launchers)}, not for --to {launcher.name}"
            )
    return given | ({"product": options.product} if launcher.needs_product and options.product else {})


def _launchers_of_options() -> dict[Option, list[str]]:
    """Which launchers take an option."""
    found: dict[Option, list[str]] = {}
    for launcher in LAUNCHERS.values():
        for option in launcher.options:
            found.setdefault(option, []).append(launcher.name)
    return found


def _parser() -> Parser:
    parser = Parser(
        prog="hccl-kit launch",
        usage="hccl-kit launch TABLE --to LAUNCHER [options] [-- COMMAND ...]",
        description="Write what starts a command once for every rank of a table: a script or a manifest.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        takes_command=True,
    )
    parser.add_argument("table", metavar="TABLE", help='the rank table; "-" is standard input')
    parser.add_argument("--to", metavar="LAUNCHER", choices=list(LAUNCHERS), required=True, help=", ".join(LAUNCHERS))
    parser.add_argument(
        "--product",
        metavar="NAME",
        help="the product that the table is checked for (default: derived from its version);"
        " for ascendjob and volcano also the cards to ask for: 910 (default), a2, a3",
    )
    output = parser.add_argument_group("what is written")
    output.add_argument("-o", "--output-dir", metavar="DIR", help="where to write (default: the folder of the table)")
    output.add_argument("--force", action="store_true", help="overwrite files that hold something else")
    output.add_argument("--dry-run", action="store_true", help="print what would be written, write nothing")
    for launchers, group in groupby(_launchers_of_options().items(), itemgetter(1)):
        arguments = parser.add_argument_group(f"for {' and '.join(launchers)}")
        for option, _ in group:
            flag = f"--{option.name.replace('_', '-')}"
            if option.metavar or option.choices:
                arguments.add_argument(flag, metavar=option.metavar, choices=option.choices, help=option.help)
            else:
                arguments.add_argument(flag, action="store_const", const=True, help=option.help)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
