"""The steps of hccl-kit launch: read the table, check the plan for the launcher, write its files."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable, shown
from hccl_kit.cli import complain
from hccl_kit.cli.framework import note_on_cards
from hccl_kit.cli.output_files import OutputFile, check_folder, show_files, write_files
from hccl_kit.cli.tables import table_and_warnings
from hccl_kit.launch.emitters import Launcher, emit
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.hccl_variables import script_variables
from hccl_kit.launch.plan import LaunchPlan, plan
from hccl_kit.launch.rules import check_plan
from hccl_kit.launch.secret_file import make_secret, secret_of
from hccl_kit.table.model import RankTable
from hccl_kit.table.operations.generate import file_name
from hccl_kit.table.products import Product, only_reader
from hccl_kit.table.reading import load


class LaunchRequest(NamedTuple):
    """A table, a launcher and its options, the command of the ranks, and what is written.

    `product` is None if it is derived from the table, `framework` if the user has not named it, `output` for
    the folder of the table, `job` if HCCL and the launcher choose the ports.
    """

    table: str
    launcher: Launcher
    options: Mapping[str, Any]
    command: tuple[str, ...]
    product: Product | None
    framework: str | None
    output: Path | None
    force: bool
    dry_run: bool
    job: int | None
    jobs: int | None


def write_launch_files(request: LaunchRequest) -> int:
    """Write the files; returns the exit code. Raises KitError, with nothing written, if that is not possible."""
    launcher = request.launcher
    folder = request.output or (Path(request.table).parent if request.table != "-" else Path())
    check_folder(folder, may_be_new=request.output is not None)
    table, file, doubts = table_file(request.table, request.product)
    made, warnings = _checked_plan(table, file, request)
    options, notes = _with_cards(request, table) if launcher.runs_pods else (request.options, [])
    if options.keys() & {"spares", "inventory"}:
        from hccl_kit.cli.launch_spares import describe, with_spares  # noqa: PLC0415 - most jobs have none

        options = with_spares(options, table, file, request.product)
        notes = [describe(options["spares"])]
    for warning in [*doubts, *warnings]:
        complain(warning)
    files = [OutputFile(folder / name, text, mode) for name, text, mode in emit(launcher.name, made, file, **options)]
    place = folder / file.name
    if launcher.reads_table:
        files.append(OutputFile(place, file.text))
    several = len(made.nodes) > 1
    secret = secret_of(files[0].path) if several and launcher.needs_secret else None
    if launcher.prints_plan and request.output is None and not request.dry_run:
        print(f"{files[-1].text}\nnext: -o DIR writes this plan and {files[0].path.name}, which starts it")
        return EXIT_OK
    if request.dry_run:
        print(*notes, sep="\n", end="\n" if notes else "")
        show_files(files, force=request.force)
        if secret and not secret.exists():
            print(f"would write: {secret} (a random secret)")
        return EXIT_OK
    written = write_files(files, force=request.force)
    if secret and make_secret(secret):
        written.append(f"wrote: {secret}")
    step = (several and launcher.next_step_of_several) or launcher.next_step
    words = step.format(*(shlex.quote(str(path)) for path in (files[0].path, secret, place)))
    print(shown("\n".join([*notes, *written, f"next: {words}"])))
    return EXIT_OK


def _with_cards(request: LaunchRequest, table: RankTable) -> tuple[Mapping[str, Any], list[str]]:
    """The options with the cards that pods ask for, and a line about these. Raises KitError if they are not known."""
    from hccl_kit.launch.emitters import kubernetes, numbered  # noqa: PLC0415 - only for pods

    options, product = request.options, request.product or only_reader(table.version)
    name = product.name if product else None
    kind = f"version {table.version}" if table.version else "template 2"
    why = "--product" if request.product else f"only {name} has rank tables of {kind}"
    if request.launcher.needs_product:
        cards = kubernetes.hardware_of(name)
        where = f", on nodes with accelerator-type={cards.accelerator}" if cards.accelerator else ""
        return {**options, "product": name}, [f"product: {name} ({why}); pods ask for {cards.resource}{where}"]
    if options.get("resource"):
        return options, [f"resource: {options['resource']} (--resource)"]
    if name is None:
        return options, [f"resource: {numbered.RESOURCE} (default; --resource NAME for other cards)"]
    if name not in kubernetes.HARDWARE:
        raise KitError(
            Message(
                "cli.launch-steps.resource-kubernetes-not",
                "the resource of {name} in Kubernetes is not known",
                name=name,
            ),
            hint=Message(
                "cli.launch-steps.resource-kubernetes-not.fix",
                "--resource NAME, as kubectl describe node lists it under Capacity",
            ),
        )
    resource = kubernetes.HARDWARE[name].resource
    return {**options, "resource": resource}, [f"resource: {resource} (product {name}: {why})"]


def table_file(given: str, product: Product | None) -> tuple[RankTable, TableFile, list[str]]:
    """The table, its file, and the warnings about it.

    Raises KitError with the first error of the table, or if HCCL does not read a file of this name.
    """
    data, name = load(given)
    table, warnings = table_and_warnings(data, name, given, product)
    file = Path(given).resolve().name if given != "-" else file_name(table)
    if not file.endswith(".json"):
        raise KitError(
            Message(
                "cli.launch-steps.hccl-reads-rank",
                "HCCL only reads rank tables whose name ends in .json, got {file!r}",
                file=file,
            ),
            hint=shlex.join(["mv", "--", given, str(Path(given).with_suffix(".json"))]),
        )
    return table, TableFile(file, data.decode()), warnings


def _checked_plan(table: RankTable, file: TableFile, request: LaunchRequest) -> tuple[LaunchPlan, list[str]]:
    """The plan, and warnings about it. Raises KitError if a rule says that the launcher cannot start it."""
    made = plan(table, request.command, script_variables(table, request.job, request.jobs), request.framework)
    settled = {option.settles for option in request.launcher.options if option.name in request.options}
    findings = [found for found in check_plan(made, file, request.launcher.name) if found.rule not in settled]
    errors = [found for found in findings if found.severity == "error"]
    if errors:
        first, more = errors[0], len(errors) - 1
        raise KitError(
            Message(
                "cli.launch-steps.reason",
                "{text}{more}",
                text=printable(f"{first.rule}: {first.message}"),
                more=f" (and {more} more)" if more else "",
            ),
            hint=first.hint,
        )
    warnings = [f"{found.severity}: {found.rule}: {found.message}" for found in findings]
    if request.launcher.shows_all_cards and (note := note_on_cards(made)):
        warnings.append(note)
    return made, list(map(printable, warnings))
