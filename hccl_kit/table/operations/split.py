"""Split a table into one table per server."""

from __future__ import annotations

from hccl_kit.base.errors import KitError
from hccl_kit.base.wording import row
from hccl_kit.table.model import PodServer, RankTable, Server, SuperPod
from hccl_kit.table.operations.merge import VERSIONS


def split(table: RankTable) -> tuple[RankTable, ...]:
    """One table for every server of a valid table, with ranks from 0 in their previous order.

    A server of version 2.0 is a network of the innermost layer. Raises KitError for a version that is not in VERSIONS.
    Law: `merge` is the inverse, except for the order of servers and for ranks that alternate between servers.
    """
    if table.version not in VERSIONS:
        raise KitError(
            "table.split-form",
            "the table is of {form}; only versions {versions} can be split",
            form=table.form,
            versions=row(VERSIONS),
        )
    homes = {server.id: (pod, server) for pod in table.super_pods or () for server in pod.servers}
    return tuple(_table_of(server, table, homes.get(server.id)) for server in table.servers)


def _table_of(server: Server, table: RankTable, home: tuple[SuperPod, PodServer] | None) -> RankTable:
    ranks = {rank: place for place, rank in enumerate(sorted(device.rank for device in server.devices))}
    devices = tuple(device._replace(rank=ranks[device.rank], at=()) for device in server.devices)
    pods = None
    if home:
        pod, entry = home
        pods = (SuperPod(pod.id, (entry,), pod.extra),)
    return RankTable(
        version=table.version,
        status=table.status,
        servers=(Server(server.id, devices, server.extra),),
        super_pods=pods,
        declared_servers=None if table.declared_servers is None else 1,
        declared_ranks=None if table.declared_ranks is None else len(devices),
        extra=table.extra,
    )
