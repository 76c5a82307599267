"""A snapshot as a file: JSON that `schemas/snapshot.schema.json` describes, without what a stranger must not see."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError
from hccl_kit.base.schemas import loads, mismatch
from hccl_kit.diagnosis.environment import masked_variables
from hccl_kit.diagnosis.masking import Masker
from hccl_kit.preflight.machine import Machine
from hccl_kit.preflight.system_settings import mount

VERSION = 1
"""Version of the JSON form; raised when a field changes its meaning or goes away."""
MAX_BYTES = 64 << 20
THIS = "this machine"
"""The name of a machine that is not a server of a table."""
NOTHING: Mapping[str, str] = MappingProxyType({})


class Snapshot(NamedTuple):
    """Machines by name, such as "server 3" in the order of the table; `silent` says why others are missing.

    `table` are facts about the table, and `weights` the SHA-256 of files by their name.
    """

    servers: Mapping[str, Machine]
    silent: Mapping[str, str] = NOTHING
    table: Mapping[str, Any] | None = None
    weights: Mapping[str, str] = NOTHING


def masked(machine: Machine, mask: Masker) -> Machine:
    """The machine as it may be shown. Versions and settings have no private words, except folders of mounts.

    A mount whose folder must be masked is left out: its mark would be compared with that of another folder.
    """
    return machine._replace(
        host=mask.host(machine.host),
        cards={card: {name: mask.text(text) for name, text in facts.items()} for card, facts in machine.cards.items()},
        settings={
            name: text
            for name, text in machine.settings.items()
            if not name.startswith(mount("")) or mask.text(name) == name
        },
        variables=masked_variables(machine.variables, mask),
    )


def to_value(snapshot: Snapshot) -> dict[str, Any]:
    """The snapshot as a JSON value."""
    return {
        "version": VERSION,
        "servers": {name: machine._asdict() for name, machine in snapshot.servers.items()},
        "silent": dict(snapshot.silent),
        "table": snapshot.table,
        "weights": dict(snapshot.weights),
    }


def as_json(snapshot: Snapshot) -> str:
    """The text of the file."""
    return json.dumps(to_value(snapshot), indent=1) + "\n"


def read_snapshot(path: str) -> Snapshot:
    """The snapshot in a file, which another person may have written. Raises KitError if it is not one."""
    try:
        value = loads(read_bounded(path, MAX_BYTES))
    except ValueError as error:
        raise KitError(
            "snapshot.not-json",
            "{path} is not JSON: {reason}",
            fix="hccl-kit snapshot -o FILE writes one",
            path=path,
            reason=error,
        ) from error
    if wrong := mismatch(value, "snapshot"):
        raise KitError(
            "snapshot.schema",
            "{path} is not a snapshot: {place}: {reason}",
            fix="hccl-kit snapshot -o FILE writes one",
            path=path,
            place=wrong.place or "the whole",
            reason=wrong.reason,
        )
    servers = {
        name: Machine(**{field: row[field] for field in Machine._fields}) for name, row in value["servers"].items()
    }
    return Snapshot(servers, value["silent"], value["table"], value["weights"])
