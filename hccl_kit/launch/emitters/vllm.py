"""The plan of a service: `vllm serve` of vLLM on Ascend on every server of a table, as one data parallel deployment.

The first server has the API; the others run data parallel ranks only (`--headless`). A data parallel rank is one copy
of the model on `--tensor-parallel-size` cards of a server. Servers with the same address are pods of one host.

Sources: vLLM, serving/data_parallel_deployment.md (internal load balancing); vllm-ascend, tutorial DeepSeek-V3.1 at
046d6515, "Multi-Node Data Parallel Deployment"; HCCL takes the address of its bootstrap (HCCL_IF_IP) for that of the
server (topoinfo_detect.cc of hcomm).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hccl_kit.base.network import ip_of, is_loopback
from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import counted
from hccl_kit.launch.emitters import servers
from hccl_kit.launch.emitters.vllm_service import Service, service_of
from hccl_kit.launch.files import EXECUTABLE, LaunchFile, TableFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.shell import export, fragment, set_unless_set, word, words, wrapped
from hccl_kit.runtime.worker_env import (
    LOG_DIR,
    MISLEADING,
    NAMES,
    RESTART,
    RUN_ID,
    SERVER,
    VISIBLE_DEVICES,
    visible_list,
)

_INTERFACES = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME")
_OF_DATA_PARALLEL = ("VLLM_DP_SIZE", "VLLM_DP_RANK", "VLLM_DP_RANK_LOCAL", "VLLM_DP_MASTER_IP", "VLLM_DP_MASTER_PORT")
"""Variables that other ways to start data parallel ranks set; vLLM would follow them."""


def emit(
    plan: LaunchPlan, table: TableFile, *, tensor_parallel_size: str | None = None, nic: str | None = None
) -> tuple[LaunchFile, ...]:
    """The script for all servers, and the plan as a text.

    Raises KitError if the command is not one of vLLM, or the cards cannot be divided.
    """
    service = service_of(plan, table, tensor_parallel_size, nic)
    name = f"vllm{plan.size}p"
    lines = ["#!/usr/bin/env bash", *_script(service, f"{name}.sh")]
    return (
        LaunchFile(f"{name}.sh", "\n".join(lines) + "\n", EXECUTABLE),
        LaunchFile(f"{name}.txt", "\n".join(_text(service)) + "\n"),
    )


def _addresses(service: Service) -> list[str]:
    """The address of each server for HCCL; empty for a loopback address or a name, where HCCL chooses."""
    nodes = service.plan.nodes
    return [node.address if ip_of(node.address) and not is_loopback(node.address) else "" for node in nodes]


def _script(service: Service, name: str) -> Iterator[str]:
    plan = service.plan
    options = [
        "case $hk_node in # the address of this server for HCCL ('': HCCL chooses), and the options of vLLM here",
        *(
            f"    {number}) hk_address={word(address)}\n"
            f"        {wrapped(f'hk_options=({words(service.options(number))})', 104)} ;;"
            for number, address in enumerate(_addresses(service))
        ),
        "esac",
    ]
    contract = [name for field, names in NAMES.items() if field != "visible" for name in names]
    unset = dict.fromkeys([*MISLEADING, *contract, RUN_ID, LOG_DIR, RESTART, SERVER, *_OF_DATA_PARALLEL])
    visible = [*servers.visible(), export(visible='"$hk_visible"')]
    return fragment(
        "vllm/script",
        what=_in_words(service),
        name=name,
        begin=fragment("common/begin"),
        command=words(plan.command),
        server=servers.this_server(plan),
        options=options,
        nic=word(service.nic or ""),
        environment=[wrapped(" ".join(["unset -v", *unset])), *visible],
        interfaces=" ".join(f"{name}=$hk_nic" for name in _INTERFACES),
        variables=set_unless_set(plan.variables_of_hccl),
    )


def _in_words(service: Service) -> str:
    where = counted(len(service.plan.nodes), "server")
    return f"{counted(service.size, 'data parallel rank')} of {counted(service.tensor, 'card')} each on {where}"


def _text(service: Service) -> Iterator[str]:
    """The plan for people, server by server."""
    plan = service.plan
    first = plan.nodes[0].address
    yield f"{_in_words(service)}; the API is on {printable(first)}, port {service.api_port}"
    shared = {address for address, pods in Counter(node.address for node in plan.nodes).items() if pods > 1}
    if shared:
        yield (
            "servers with the same address are pods of one host: run them in its network (hostNetwork), so that HCCL"
            " treats them as one server"
        )
    for number, (node, address) in enumerate(zip(plan.nodes, _addresses(service), strict=True)):
        ranks = range(service.starts[number], service.starts[number] + service.counts[number])
        what = f"data parallel rank {ranks[0]}" if len(ranks) == 1 else f"data parallel ranks {ranks[0]} to {ranks[-1]}"
        role = ", API server" if number == 0 else ""
        host = f" (a pod of {printable(node.address)})" if node.address in shared else ""
        yield from ("", f"{printable(node.id)}{host}: {what}{role}")
        yield f"  {VISIBLE_DEVICES}={visible_list(node.devices)}"
        if address:
            yield f"  HCCL_IF_IP={address}"
            nic = service.nic or f"<the interface with {address}>"
            yield from (f"  {name}={nic}" for name in _INTERFACES)
        yield from (f"  {name}={value}" for name, value in plan.variables_of_hccl)
        yield f"  {words([*plan.command, *service.options(number)])}"
