"""Launch plans: the workers of a job, one for every rank of a table, by server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hccl_kit.base.errors import KitError
from hccl_kit.base.frameworks import FRAMEWORKS, PYTORCH
from hccl_kit.base.network import LOOPBACK
from hccl_kit.base.wording import listed, row
from hccl_kit.launch.nested import refuse_launcher
from hccl_kit.runtime.worker_env import NAMES, WorkerEnv, visible_list
from hccl_kit.table.document import shown
from hccl_kit.table.model import RankTable, Server

HOST_IP = "host_ip"
"""The key of a server in a table with an address of its host."""


@dataclass(frozen=True, slots=True)
class Node:
    """A server of the plan: `id` as in the table, its `address` for other servers (`host_ip` if the table has one,
    otherwise its id), and its workers in the order of their ranks, with the physical ids of their cards, `devices`.
    """

    id: str
    address: str
    workers: tuple[WorkerEnv, ...]
    devices: tuple[int, ...]

    @property
    def ranks(self) -> tuple[int, ...]:
        """Its ranks, ascending."""
        return tuple(worker.rank for worker in self.workers)


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """The command that every rank runs (empty if the script takes it as its arguments), the nodes in the order of their
    first ranks, and `variables` with their values, which the ranks have unless the user set them.

    `framework` is one of FRAMEWORKS, or None if the user has not named one. Ranks of PyTorch see the cards of their
    server that are in the plan, and no others (`worker_env` says why); ranks of MindSpore see all cards.

    `table`, `run` and `master_port` of the workers are None: the path of the table, the name of the run and a free port
    are known only when the job starts.
    """

    command: tuple[str, ...]
    nodes: tuple[Node, ...]
    variables: tuple[tuple[str, str], ...] = ()
    framework: str | None = None

    @property
    def limits_cards(self) -> bool:
        """Whether the ranks see only the cards of the plan."""
        return self.framework == PYTORCH

    @property
    def workers(self) -> tuple[WorkerEnv, ...]:
        """All workers in the order of their ranks."""
        return tuple(sorted((worker for node in self.nodes for worker in node.workers), key=lambda worker: worker.rank))

    @property
    def variables_of_hccl(self) -> tuple[tuple[str, str], ...]:
        """The `variables` without the port of rank 0."""
        return tuple((name, value) for name, value in self.variables if name not in NAMES["master_port"])

    @property
    def master_port(self) -> int | None:
        """The port of rank 0 in `variables`; None if it is chosen later."""
        given = dict(self.variables).get(*NAMES["master_port"])
        return None if given is None else int(given)

    @property
    def size(self) -> int:
        """The number of ranks."""
        return sum(len(node.workers) for node in self.nodes)

    @property
    def master(self) -> str:
        """The address of rank 0."""
        return LOOPBACK if len(self.nodes) == 1 else self.nodes[0].address


def plan(
    table: RankTable,
    command: Sequence[str] | None,
    variables: Sequence[tuple[str, str]] = (),
    framework: str | None = None,
) -> LaunchPlan:
    """The plan that runs `command`, a program of `framework`, once for every rank of `table`.

    `command` None: the script takes it as its arguments.

    Raises KitError if no shell can run the command, or it is a launcher itself; if the ranks are not 0, 1, ... without
    gaps or duplicates (R17); if the name of a server has characters that cannot be printed; or if programs of PyTorch
    would take the cards of each other, because those of a server do not ascend with its ranks.
    """
    if framework not in (None, *FRAMEWORKS):
        raise KitError(
            "launch.plan.unknown-framework",
            "unknown framework {framework!r}; accepted: {frameworks}",
            framework=framework,
            frameworks=row(FRAMEWORKS),
        )
    if command is not None:
        _check_command(command)
    _check_names(table)
    devices = table.by_rank()
    size = len(devices)
    if not devices or [device.rank for _, device in devices] != list(range(size)):
        ranks = ", ".join(str(device.rank) for _, device in devices[:20]) or "none"
        raise KitError(
            "launch.plan.ranks-table",
            "the ranks of the table are {value}; accepted: 0, 1, 2 and so on, each once",
            value=ranks,
        )
    refuse_launcher(command or (), size)
    servers = list({id(server): server for server, _ in devices}.values())  # in the order of their first ranks
    master = LOOPBACK if len(servers) == 1 else address_of(servers[0])
    nodes = tuple(
        _node(server, number, size=size, master=master, limits_cards=framework == PYTORCH)
        for number, server in enumerate(servers)
    )
    for node in nodes if framework == PYTORCH else ():
        assert_ascending(node)
    return LaunchPlan(command=tuple(command or ()), nodes=nodes, variables=tuple(variables), framework=framework)


def _node(server: Server, number: int, *, size: int, master: str, limits_cards: bool) -> Node:
    devices = sorted(server.devices, key=lambda device: device.rank)
    cards = tuple(device.id for device in devices)
    return Node(
        id=server.id,
        address=address_of(server),
        workers=tuple(
            WorkerEnv(
                rank=device.rank,
                size=size,
                local_rank=local_rank,
                local_size=len(devices),
                device=local_rank if limits_cards else device.id,
                master_addr=master,
                node=number,
                visible=visible_list(cards) if limits_cards else None,
            )
            for local_rank, device in enumerate(devices)
        ),
        devices=cards,
    )


def assert_ascending(node: Node) -> None:
    """Raises KitError if local rank i would not find its card as the i-th of the visible ones, which ascend."""
    if list(node.devices) != sorted(node.devices):
        raise KitError(
            "launch.plan.server-cards-order",
            "server {id} has cards {devices} in the order of its ranks; programs of PyTorch take the "
            "i-th visible card for local rank i, and visible cards ascend",
            fix="generate the table again with hccl-gen, which numbers ranks by card",
            id=shown(node.id),
            devices=listed(node.devices, 16),
        )


def address_of(server: Server) -> str:
    """The address of the host: its `host_ip`, otherwise the id of the server."""
    address = server.extra.get(HOST_IP)
    return address if isinstance(address, str) and address else server.id


def _check_names(table: RankTable) -> None:
    """Raises KitError for an unprintable name: a line break would end a comment of a script and start a command."""
    for server in table.servers:
        for name in (server.id, address_of(server)):
            if not name.isprintable():
                raise KitError(
                    "launch.plan.server-characters-cannot",
                    "server {name!r} has characters that cannot be printed, such as a line break",
                    fix="write its server_id and host_ip with printable characters only",
                    name=name,
                )


def _check_command(command: Sequence[str]) -> None:
    if isinstance(command, str):
        raise KitError(
            "launch.plan.command-text-not",
            "the command is one text, not a list of words",
            fix="write shlex.split(command)",
        )
    if not command or not command[0]:
        raise KitError("launch.plan.command-empty", "the command is empty; accepted: a program and its arguments")
    for word in command:
        if "\0" in word:
            raise KitError(
                "launch.plan.argument-contains-nul",
                "argument {word!r} contains a NUL character, which cannot be passed to a program",
                word=word,
            )
        try:
            word.encode("utf-8")
        except UnicodeEncodeError as error:
            raise KitError(
                "launch.plan.argument-not-valid",
                "argument {word!r} is not valid UTF-8, so it cannot be written to a script",
                word=word,
            ) from error
