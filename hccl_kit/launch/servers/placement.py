"""Which servers a job has: those of its table, in which spares take the places of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import row
from hccl_kit.check.engine import check_text
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.spares import Spare
from hccl_kit.launch.substitute import new_table
from hccl_kit.table.model import RankTable


class Placement(NamedTuple):
    """The table as it is now, its file, and the spares that are left."""

    table: RankTable
    file: TableFile
    spares: tuple[Spare, ...] = ()

    def replace(self, lost: Sequence[str], report: Callable[[str], object], *, by: str | None = None) -> Placement:
        """The placement with a spare in the place of each of these servers; `report` gets a line about each.

        `by` names the spare for the only one. Raises KitError if no spare is left, or the table with it has an error.
        """
        spares, file, lines = list(self.spares), self.file, []
        for server in lost:
            spare = next((spare for spare in spares if by in (None, spare.id)), None)
            if spare is None:
                raise KitError(
                    "launch.no-spare",
                    "no spare takes the place of server {server}: {reason}",
                    fix="hccl-kit run TABLE --ssh --spares LIST names more of them",
                    server=server,
                    reason=Message("launch.other-spare", "{spare} is not one of them", spare=by)
                    if by
                    else Message("launch.none-left", "none is left"),
                )
            spares.remove(spare)
            file = new_table(file, [(server, spare.entry)])
            lines.append(
                Message(
                    "launch.replaced",
                    "spare {spare} takes the place of server {server}; left: {left}",
                    spare=spare.id,
                    server=server,
                    left=row(other.id for other in spares) or Message("launch.no-spares", "none"),
                )
            )
        checked = check_text(file.text, file.name)
        errors = [finding.message for finding in checked.findings if finding.severity == "error"]
        if checked.table is None or errors:
            reason = errors[0] if errors else Message("launch.no-table", "it is not a rank table")
            raise KitError("launch.spare-table", "the table with the spare has an error: {reason}", reason=reason)
        for line in lines:
            report(line)
        return Placement(checked.table, file, tuple(spares))
