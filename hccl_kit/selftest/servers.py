"""The servers of a plan, and how the agent of each is started: here, over ssh or by srun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from hccl_kit.base.errors import KitError
from hccl_kit.base.extra import install_extra
from hccl_kit.base.own_program import own_program
from hccl_kit.launch.plan import LaunchPlan, Node
from hccl_kit.remote.probe import Probe
from hccl_kit.selftest.agent import Order
from hccl_kit.selftest.protocol import ADDRESS
from hccl_kit.selftest.rounds import Card
from hccl_kit.selftest.session import Server

BACKENDS: Mapping[str, str] = {
    "gloo": "torch",
    "mindspore": "mindspore",
    "mpi": "mpi4py",
    "nccl": "torch",
    "hccl": "torch_npu",
}
"""What moves the data, and the package that it needs, in the order in which they are tried."""
ON_CARDS = frozenset({"nccl", "hccl"})
"""Backends that measure cards and the links between them, not CPUs and the host network."""
SHARES_FATE = frozenset({"mpi", "mindspore"})
"""Frameworks that end all ranks if one ends."""
AGENT = "selftest.agent"
"""The module of the agent."""
PACKAGES = ("base", "discovery", "runtime", "selftest")
"""What the agent and the ranks import."""


def backend_here() -> str:
    """The first framework that is installed here. Raises KitError if there is none."""
    backend = next((name for name, package in BACKENDS.items() if find_spec(package)), None)
    if backend is None:
        raise KitError(
            "selftest.no-framework",
            "neither torch, mindspore nor mpi4py is installed here",
            fix="pip install torch, or {install}",
            install=install_extra("mpi"),
        )
    return backend


def cards_of(plan: LaunchPlan) -> list[Card]:
    """The cards of a job in the order of their ranks."""
    return sorted(
        Card(worker.rank, node.id, card)
        for node in plan.nodes
        for worker, card in zip(node.workers, node.devices, strict=True)
    )


def server(
    node: Node, backend: str, command: Sequence[str], environ: Mapping[str, str], payload: bytes = b""
) -> Server:
    """A node of a plan, whose agent is started by `command` and `payload`; its ranks get `environ` too."""
    workers = [worker.to_environ() for worker in node.workers]
    address = node.workers[0].master_addr if node.workers[0].size == len(node.workers) else node.address
    order = Order(backend, {**environ, ADDRESS: address or node.address}, workers)
    return Server(node.id, command, node.ranks, order, payload)


def local_command() -> tuple[str, ...]:
    """The command that starts the agent of this server."""
    return own_program(f"hccl_kit.{AGENT}")


def agent_probe() -> Probe:
    """The agent as a program that goes over the connection."""
    return Probe(AGENT, PACKAGES)
