"""Matching of the nodes of a Slurm allocation to the servers of the table."""

import pytest

import hccl_kit
from hccl_kit.base.errors import KitError
from hccl_kit.launch.plan import Node, plan
from hccl_kit.selftest.allocation import addresses_of, matched, nodes_of

KNOWN = {"n1": frozenset({"10.0.0.1", "192.168.0.1"}), "n2": frozenset({"10.0.0.2", "fd00::2"}), "n3": frozenset()}


def servers(*ids: str) -> tuple[Node, ...]:
    tables = [hccl_kit.generate(name, [(0, f"192.168.{place}.1")]) for place, name in enumerate(ids)]
    return plan(hccl_kit.merge(tables) if len(tables) > 1 else tables[0], ["x"]).nodes


def test_servers_are_matched_by_address_in_any_order() -> None:
    found = matched(servers("10.0.0.2", "10.0.0.1"), ["n1", "n2", "n3"], KNOWN.__getitem__)
    assert found == {"10.0.0.2": "n2", "10.0.0.1": "n1"}


def test_servers_are_matched_by_name_even_if_nodes_share_an_address() -> None:
    shared = frozenset({"10.0.0.1"})
    assert matched(servers("n1", "n2"), ["n2", "n1"], lambda _: shared) == {"n1": "n1", "n2": "n2"}


def test_a_server_that_matches_no_node_or_several_is_refused() -> None:
    with pytest.raises(KitError, match=r"server '10.0.0.9' matches no node .*: n1 \(10.0.0.1, 192.168.0.1\), n3 "):
        matched(servers("10.0.0.9"), ["n1", "n3"], KNOWN.__getitem__)
    with pytest.raises(KitError, match=r"server '10.0.0.1' matches 2 nodes"):
        matched(servers("10.0.0.1"), ["n1", "n2"], lambda _: frozenset({"10.0.0.1"}))


def test_reads_the_nodes_of_an_allocation() -> None:
    assert nodes_of({"SLURM_JOB_NODELIST": "n[1-2],m"}) == ("n1", "n2", "m")
    for environ in ({}, {"SLURM_JOB_NODELIST": ""}, {"SLURM_JOB_NODELIST": "n[1-"}):
        with pytest.raises(KitError, match="SLURM_JOB_NODELIST"):
            nodes_of(environ)


def test_addresses_of_host_names() -> None:
    assert "127.0.0.1" in addresses_of("localhost") | addresses_of("127.0.0.1")
    assert addresses_of("no-such-host.invalid") == frozenset()
    assert addresses_of("x" * 300) == frozenset()
