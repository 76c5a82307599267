"""Which servers a job has: those of its table, in which spares take the places of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import row
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.spares import Spare, table_with
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
        spares, pairs, lines = list(self.spares), [], []
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
            pairs.append((server, spare))
            lines.append(
                Message(
                    "launch.replaced",
                    "spare {spare} takes the place of server {server}; left: {left}",
                    spare=spare.id,
                    server=server,
                    left=row(other.id for other in spares) or Message("launch.no-spares", "none"),
                )
            )
        table, file = table_with(self.file, pairs)
        for line in lines:
            report(line)
        return Placement(table, file, tuple(spares))
