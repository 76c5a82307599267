"""The start of the agents, and their commands."""

import pytest

import hccl_kit
from hccl_kit.base.errors import KitError
from hccl_kit.launch.plan import plan
from hccl_kit.runtime.worker_env import WorkerEnv
from hccl_kit.selftest import servers
from hccl_kit.selftest.agent import Order
from hccl_kit.selftest.protocol import ADDRESS


def tables(*addresses: str) -> hccl_kit.RankTable:
    made = [
        hccl_kit.generate(address, [(card, f"192.168.{card}.{number + 1}") for card in (4, 5)])
        for number, address in enumerate(addresses)
    ]
    return hccl_kit.merge(made) if len(made) > 1 else made[0]


def test_the_ranks_have_the_environment_of_workers() -> None:
    job = plan(tables("10.0.0.1", "10.0.0.2"), ["x"])
    found = servers.server(job.nodes[1], "gloo", ["agent"], {"OMP_NUM_THREADS": "4"})
    assert (found.id, found.ranks, list(found.command)) == ("10.0.0.2", (2, 3), ["agent"])
    assert [WorkerEnv.from_environ(worker) for worker in found.order.workers] == list(job.nodes[1].workers)
    assert found.order.environ == {"OMP_NUM_THREADS": "4", ADDRESS: "10.0.0.2"}


def test_ranks_of_one_server_use_the_loopback_interface() -> None:
    (node,) = plan(tables("10.0.0.1"), ["x"]).nodes
    assert servers.server(node, "gloo", [], {}).order.environ == {ADDRESS: "127.0.0.1"}


@pytest.mark.parametrize("message", [None, {}, {"backend": "gloo", "environ": {}}])
def test_an_invalid_command_is_refused(message: dict[str, object] | None) -> None:
    assert Order.parse(message) is None


def test_without_a_framework_an_error_names_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "find_spec", lambda name: name == "mpi4py" or None)
    assert servers.backend_here() == "mpi"
    monkeypatch.setattr(servers, "find_spec", lambda _: None)
    with pytest.raises(KitError, match="neither torch, mindspore nor mpi4py"):
        servers.backend_here()
