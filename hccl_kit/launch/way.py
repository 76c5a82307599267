"""How the servers of a plan are reached from here: over ssh, or by srun inside an allocation of Slurm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.launch.allocation import matched, nodes_of, over_srun
from hccl_kit.launch.plan import Node
from hccl_kit.launch.spares import Spare
from hccl_kit.remote.ssh import over_ssh, refusal, ssh_start

Reach = Callable[[Node | Spare, Sequence[str]], Sequence[str]]
"""Makes the words that run a command on a server."""


class Way(NamedTuple):
    """How servers are reached, and the Python there; `pythons` are from `remote.program.pythons`."""

    reach: Reach
    pythons: Mapping[str, str] = {}


def by_ssh(servers: Sequence[Node | Spare], environ: Mapping[str, str], options: Sequence[str] = ()) -> Reach:
    """Over ssh, with these options of ssh. Raises KitError if one of `servers` has no address."""
    for server in servers:
        if why := refusal(server.address):
            raise KitError(
                "run.no-address",
                "server {server} has no address for ssh: {address!r} is {why}",
                fix='add "host_ip", an address of that host, to it in the table',
                server=server.id,
                address=server.address,
                why=why,
            )
    start = ssh_start(environ, options)
    return lambda server, words: over_ssh(start, server.address, words)


def by_srun(servers: Sequence[Node | Spare], environ: Mapping[str, str]) -> Reach:
    """By srun. Raises KitError if one of `servers` is not exactly one node of the allocation."""
    nodes = matched(servers, nodes_of(environ))
    return lambda server, words: over_srun(nodes[server.id], words)
