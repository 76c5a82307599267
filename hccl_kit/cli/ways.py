"""The steps of hccl-kit launch: the table's file, the plan and what its way of starting has against it, the files."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.base.terminal import printable
from hccl_kit.cli.tables import sound_table, topology_warning
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import LaunchPlan, plan
from hccl_kit.launch.rules import judge
from hccl_kit.table.model import RankTable
from hccl_kit.table.operations.generate import file_name
from hccl_kit.table.products import find_product
from hccl_kit.table.reading import load


def table_file(given: str, product: str | None) -> tuple[RankTable, TableFile, str | None]:
    """The sound table in a file ("-" is standard input), that file, and what may be wrong with its cards.

    KitError names the first error in it, by the rules of `product` or of what the table tells.
    """
    data, name = load(given)
    table = sound_table(data, name, given, find_product(product) if product else None)
    warning = None if product else topology_warning(data, name)
    file = Path(given).resolve().name if given != "-" else file_name(table)
    if not file.endswith(".json"):
        raise KitError(
            f"the rank table is {file!r}; HCCL reads none whose name does not end in .json (R2)",
            hint=shlex.join(["mv", file, f"{Path(file).stem}.json"]),
        )
    return table, TableFile(file, data.decode()), warning


def judged_plan(table: RankTable, file: TableFile, command: Sequence[str], way: str) -> tuple[LaunchPlan, list[str]]:
    """The plan, and warnings about it; KitError with every rule that keeps `way` from starting it."""
    made = plan(table, command)
    found = [(rule, fault) for rule, fault in judge(made, file, way)]
    lines = [printable(f"{rule.severity}: {rule.id}: {fault.message}") for rule, fault in found]
    errors = [(rule, fault) for rule, fault in found if rule.severity == "error"]
    if errors:
        (first, fault), more = errors[0], len(errors) - 1
        raise KitError(
            printable(f"{first.id}: {fault.message}") + (f" (and {more} more)" if more else ""), hint=fault.hint
        )
    return made, lines
