"""Write the script or manifest that starts a command on every rank of a table.

Everything after -- is the command that each rank runs; the default is that of hccl-gen.

examples:
  hccl-kit launch hccl_2s_16p.json --to bash -- python -u train.py --epochs 3
  hccl-kit launch hccl_2s_16p.json --to slurm --partition npu --gres npu:8 -o jobs
  hccl-kit launch hccl_2s_16p.json --to ascendjob --product a2 --image registry/train:1
  hccl-kit launch hccl_2s_16p.json --to jobset --image registry/train:1 --kueue-queue team

Exit codes: 0 written; 2 nothing was written (the launcher cannot start the job, or files exist).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from hccl_kit.base.arguments import Parser, split_command
from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import clauses, row, sentences
from hccl_kit.cli import complain, exit_code_of, say
from hccl_kit.cli.command import (
    command_of,
    command_of_script,
    framework_of,
    next_step,
    note_on_cards,
    note_on_secret,
    steps_of_script,
)
from hccl_kit.cli.options import add_force, add_framework, add_job, add_output_folder
from hccl_kit.cli.output_files import OutputFile, check_folder, show_files, write_files
from hccl_kit.cli.tables import SIMULATED, rule_warning, table_file
from hccl_kit.launch.emitters import LAUNCHERS, PLACES, Launcher, emit, known_launcher
from hccl_kit.launch.emitters.bash import is_unedited
from hccl_kit.launch.emitters.hardware import HARDWARE, RESOURCE, hardware_of
from hccl_kit.launch.emitters.options import Option
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.hccl_variables import script_variables
from hccl_kit.launch.plan import LaunchPlan, plan
from hccl_kit.launch.rules import check_plan
from hccl_kit.table.model import RankTable
from hccl_kit.table.products import Product, find_product, only_reader


class LaunchRequest(NamedTuple):
    """A table, a launcher and its options, the command of the ranks, and what is written.

    `command` and `framework` are None if the user has not named them, `product` if the table decides it, `output` for
    the folder of the table, `job` if HCCL and the launcher choose the ports.
    """

    table: str
    launcher: Launcher
    options: Mapping[str, Any]
    command: tuple[str, ...] | None
    product: Product | None
    framework: str | None
    output: Path | None
    force: bool
    dry_run: bool
    job: int | None
    jobs: int | None


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit code."""
    words, command = split_command(argv)
    return exit_code_of(lambda: write_launch_files(_request(words, command)))


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(
        prog="hccl-kit launch",
        doc=__doc__,
        usage="hccl-kit launch TABLE --to LAUNCHER [options] [-- COMMAND ...]",
        takes_command=True,
    )
    parser.add_argument("table", metavar="TABLE", help='the rank table, or "-" for standard input')
    parser.add_argument(
        "--to",
        metavar="LAUNCHER",
        type=known_launcher,
        choices=list(LAUNCHERS),
        required=True,
        help="; ".join(f"{place}: {', '.join(names)}" for place, names in PLACES.items()),
    )
    parser.add_argument(
        "--product",
        metavar="NAME",
        type=find_product,
        help="the hardware that the table is for (default: derived from its version, which only some tables allow);"
        " ascendjob and volcano need it, for the cards that pods ask for",
    )
    add_framework(
        parser,
        "for pytorch, the ranks of bash and slurm see only the cards of the table, numbered from 0;"
        " of a pytorchjob, pytorch is the default",
    )
    written = parser.add_argument_group("what is written")
    add_output_folder(written, None, "the folder of the table")
    add_force(written, "files")
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
            "cli.launch.framework-not",
            "--framework {framework} is for --to {others}, not for --to {launcher}",
            framework=given["framework"],
            others=row(others),
            launcher=launcher.name,
        )
    return LaunchRequest(
        launcher=launcher,
        options=_take_launcher_options(launcher, given),
        command=command,
        **given,
    )


def _add_launcher_options(parser: Parser) -> None:
    for launchers, group in groupby(_launchers_of_options().items(), itemgetter(1)):
        arguments = parser.add_argument_group(f"for {', '.join(launchers)}")
        for option, _ in group:
            if option.metavar:
                arguments.add_argument(option.flag, metavar=option.metavar, help=option.help)
            else:
                arguments.add_argument(option.flag, action="store_const", const=True, help=option.help)


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
            raise KitError(
                "cli.launch.not",
                "{flag} is for --to {launchers}, not for --to {launcher}",
                flag=option.flag,
                launchers=row(launchers),
                launcher=launcher.name,
            )
        taken[option.name] = value
    return taken


def _launchers_of_options() -> dict[Option, list[str]]:
    """The launchers that take each option."""
    launchers: dict[Option, list[str]] = {}
    for launcher in LAUNCHERS.values():
        for option in launcher.options:
            launchers.setdefault(option, []).append(launcher.name)
    return launchers


def write_launch_files(request: LaunchRequest) -> int:
    """Write the files; returns the exit code. Raises KitError, with nothing written, if that is not possible."""
    launcher = request.launcher
    folder = request.output or (Path(request.table).parent if request.table != "-" else Path())
    check_folder(folder, may_be_new=request.output is not None)
    only_numbers = launcher.runs_pods and not request.options.get("fixed_table")
    table, file, doubts = table_file(request.table, request.product, {SIMULATED} if only_numbers else ())
    made, warnings = _checked_plan(table, file, request)
    options, notes = _with_cards(request, table) if launcher.runs_pods else (request.options, [])
    for warning in [*doubts, *warnings]:
        complain(warning)
    emitted = emit(launcher.name, made, file, **options)
    files = [OutputFile(folder / name, text, mode, is_unedited) for name, text, mode in emitted]
    place = folder / file.name
    if launcher.reads_table:
        files.append(OutputFile(place, file.text))
    if launcher.prints_plan and request.output is None and not request.dry_run:
        script = files[0].path.name
        print(files[-1].text)
        say(
            Message(
                "cli.launch.plan-only", "next: -o DIR writes this plan and {script}, which starts it", script=script
            )
        )
        return EXIT_OK
    if request.dry_run:
        if notes:
            say(*notes)
        show_files(files, force=request.force)
        return EXIT_OK
    written = write_files(files, force=request.force)
    written += note_on_secret(files[0].path)
    script, table_path = (shlex.quote(str(path)) for path in (files[0].path, place))
    step = (len(made.nodes) > 1 and launcher.next_step_of_several) or launcher.next_step
    steps: list[str] = [next_step(step.format(script))]
    if launcher.takes_command:
        steps = steps_of_script(made, table_path, script)
    say(*notes, *written, *steps)
    return EXIT_OK


def _with_cards(request: LaunchRequest, table: RankTable) -> tuple[Mapping[str, Any], list[str]]:
    """The options with the cards that pods ask for, and a line about these. Raises KitError if they are not known."""
    options, product = request.options, request.product or only_reader(table.version)
    name = product.name if product else None
    only = Message("cli.launch.only-product", "only {name} has rank tables of {form}", name=name, form=table.form)
    why = "--product" if request.product else only
    if request.launcher.needs_product:
        cards = hardware_of(name)
        asked = [Message("cli.launch.asked", "pods ask for {resource}", resource=cards.resource)]
        if cards.accelerator:
            asked.append(Message("cli.launch.nodes", "on nodes with accelerator-type={name}", name=cards.accelerator))
        chosen = Message("cli.launch.product", "product: {name} ({why})", name=name, why=why)
        return {**options, "product": name}, [sentences([chosen, clauses(asked)])]
    if resource := options.get("resource"):
        return options, [Message("cli.launch.resource", "resource: {name} (--resource)", name=resource)]
    if name is None:
        default = Message(
            "cli.launch.default",
            "resource: {name} (default; --resource NAME for other cards)",
            name=RESOURCE,
        )
        return options, [default]
    if name not in HARDWARE:
        raise KitError(
            "cli.launch-steps.resource-kubernetes-not",
            "the resource of {name} in Kubernetes is not known",
            fix="--resource NAME, as kubectl describe node lists it under Capacity",
            name=name,
        )
    resource = HARDWARE[name].resource
    of_product = Message(
        "cli.launch.of-product", "resource: {resource} (product {name}: {why})", resource=resource, name=name, why=why
    )
    return {**options, "resource": resource}, [of_product]


def _checked_plan(table: RankTable, file: TableFile, request: LaunchRequest) -> tuple[LaunchPlan, list[str]]:
    """The plan, and warnings about it. Raises KitError if a rule says that the launcher cannot start it."""
    its_command = command_of_script if request.launcher.takes_command else command_of
    command = its_command(request.command, complain)
    framework = framework_of(request.framework, command, request.launcher.frameworks, complain)
    made = plan(table, command, script_variables(table, request.job, request.jobs), framework)
    settled = {option.settles for option in request.launcher.options if option.name in request.options}
    findings = [finding for finding in check_plan(made, file, request.launcher.name) if finding.rule not in settled]
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        first, more = errors[0], len(errors) - 1
        raise KitError(
            "cli.launch-steps.reason",
            "{rule}: {text}{more}",
            hint=first.hint,
            rule=first.rule,
            text=printable(first.message),
            more=Message("cli.launch-steps.more", " (and {more} more)", more=more) if more else "",
        )
    warnings = list(map(rule_warning, findings))
    if request.launcher.shows_all_cards and (note := note_on_cards(made)):
        warnings.append(printable(note))
    return made, warnings
