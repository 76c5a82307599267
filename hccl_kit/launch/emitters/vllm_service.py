"""A service of vLLM on the servers of a table: its data parallel ranks and ports, and what cannot be planned."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.network import ip_of, port_of_digest
from hccl_kit.base.wording import counted
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import LaunchPlan, Node
from hccl_kit.table.document import shown

API_PORT = 8000
"""The port on which vLLM listens unless its command names another."""
_OF_THE_PLAN = {
    *("--data-parallel-size", "-dp", "--data-parallel-size-local", "-dpl", "--data-parallel-start-rank", "-dpr"),
    *("--data-parallel-address", "-dpa", "--data-parallel-rpc-port", "-dpp", "--tensor-parallel-size", "-tp"),
    "--headless",
}
_UNSUPPORTED = {
    *("--data-parallel-rank", "-dpn", "--data-parallel-backend", "-dpb", "--data-parallel-hybrid-lb", "-dph"),
    *("--data-parallel-external-lb", "-dpe", "--pipeline-parallel-size", "-pp", "--nnodes", "--node-rank"),
    "--master-addr",
}
_USE = "vllm serve MODEL [OPTION ...]"


@dataclass(frozen=True, slots=True)
class Service:
    """A deployment: data parallel ranks of `tensor` cards, their number on each server (`counts`), and the ports."""

    plan: LaunchPlan
    tensor: int
    counts: tuple[int, ...]
    rpc_port: int
    api_port: int
    nic: str | None

    @property
    def size(self) -> int:
        """The number of data parallel ranks."""
        return sum(self.counts)

    @property
    def starts(self) -> tuple[int, ...]:
        """The first data parallel rank of each server."""
        return tuple(accumulate(self.counts[:-1], initial=0))

    def options(self, number: int) -> tuple[str, ...]:
        """The options that are added to the user's command on a server."""
        made = ["--tensor-parallel-size", str(self.tensor)]
        if self.size == 1:
            return tuple(made)
        made += ["--data-parallel-size", str(self.size)]
        if len(self.counts) == 1:
            return tuple(made)
        made += ["--data-parallel-size-local", str(self.counts[number])]
        made += ["--data-parallel-address", self.plan.nodes[0].address, "--data-parallel-rpc-port", str(self.rpc_port)]
        if number > 0:
            made += ["--headless", "--data-parallel-start-rank", str(self.starts[number])]
        return tuple(made)


def service_of(plan: LaunchPlan, table: TableFile, tensor: str | None, nic: str | None) -> Service:
    """The deployment of a plan. Raises KitError if the command is not one of vLLM, or the cards cannot be divided."""
    _assert_command(plan.command)
    size = _tensor_size(plan, tensor)
    _assert_hosts(plan)
    api_port = _api_port(plan)
    rpc_port = plan.master_port or port_of_digest(table.sha256)
    if api_port == rpc_port:
        raise KitError(
            "launch.vllm-service.api-data-parallel",
            "the API and the data parallel ranks would both use port {rpc_port}",
            fix="another --port",
            rpc_port=rpc_port,
        )
    counts = tuple(len(node.workers) // size for node in plan.nodes)
    return Service(plan, size, counts, rpc_port, api_port, nic)


def _assert_command(command: Sequence[str]) -> None:
    names = [word.rpartition("/")[2] for word in command]
    if ("vllm", "serve") not in zip(names, command[1:], strict=False):
        shown_command = " ".join(command[:4])
        raise KitError(
            "launch.vllm-service.command",
            "the command is {value}; accepted: {use}",
            fix="hccl-kit launch ... -- vllm serve MODEL",
            value=shown(shown_command),
            use=_USE,
        )
    for word in command:
        name = word.partition("=")[0]
        plain = name.replace("_", "-")
        if plain in _OF_THE_PLAN:
            hint = (
                Message("launch.vllm-service.command-plan-sets.fix", "--tensor-parallel-size before --")
                if plain in ("--tensor-parallel-size", "-tp")
                else None
            )
            raise KitError(
                "launch.vllm-service.command-plan-sets",
                "the command has {name}, which the plan sets; leave it out",
                hint=hint,
                name=shown(name),
            )
        if plain in _UNSUPPORTED:
            raise KitError(
                "launch.vllm-service.command-2",
                "the command has {name}; a plan has tensor and data parallel ranks, with one API server",
                fix="write the commands of this deployment by hand, with the variables of the plan",
                name=shown(name),
            )


def _tensor_size(plan: LaunchPlan, given: str | None) -> int:
    """Cards of a data parallel rank; by default those of the smallest server."""
    fewest = min(len(node.workers) for node in plan.nodes)
    size = fewest if given is None else int(given)
    for node in plan.nodes:
        if len(node.workers) % size:
            raise KitError(
                "launch.vllm-service.server-tensor-parallel",
                "server {id} has {count}, which --tensor-parallel-size {size} does not divide",
                fix="a divisor of the cards of every server; a rank of vLLM does not leave its server here",
                id=shown(node.id),
                count=counted(len(node.workers), "card"),
                size=size,
            )
    return size


def _assert_hosts(plan: LaunchPlan) -> None:
    """Raises KitError if a server of several has no address, or two pods of a host have the same card."""
    owners: dict[tuple[str, int], Node] = {}
    for node in plan.nodes:
        if len(plan.nodes) > 1 and not ip_of(node.address):
            raise KitError(
                "launch.vllm-service.server-no-address",
                "server {id} has no address, which HCCL and vLLM need",
                fix='add "host_ip" to it in the table: the address of the host',
                id=shown(node.id),
            )
        for device in node.devices:
            other = owners.setdefault((node.address, device), node)
            if other is not node:
                raise KitError(
                    "launch.vllm-service.servers-pods-both",
                    "servers {id} and {id_2} are pods of {address}, and both have card {device}",
                    fix="give each pod cards of its own",
                    id=shown(other.id),
                    id_2=shown(node.id),
                    address=node.address,
                    device=device,
                )


def _api_port(plan: LaunchPlan) -> int:
    """The port of the API. Raises KitError if it is not valid, or two jobs of a host would have the same."""
    port = None
    for word, after in zip(plan.command, (*plan.command[1:], ""), strict=True):
        if word == "--port" or word.startswith("--port="):
            port = after if word == "--port" else word.partition("=")[2]
    if port is None:
        if plan.master_port is not None:
            raise KitError(
                "launch.vllm-service.job-two-services",
                "with --job, two services of a host would both listen on port {api_port}",
                fix="name one in the command: vllm serve MODEL --port N",
                api_port=API_PORT,
            )
        return API_PORT
    if not re.fullmatch(r"[1-9][0-9]{0,4}", port, re.ASCII) or int(port) > 65535:
        raise KitError(
            "launch.vllm-service.port-command",
            "--port of the command is {value}; accepted: 1 to 65535",
            value=shown(port),
        )
    return int(port)
