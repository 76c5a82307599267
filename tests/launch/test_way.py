"""How servers are reached: over ssh, and as nodes of a Slurm allocation."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import hccl_kit
from hccl_kit.base.errors import KitError
from hccl_kit.launch.plan import Node, plan
from hccl_kit.launch.spares import Spare
from hccl_kit.launch.way import ask, by_ssh, matched, nodes_of, over_srun
from tests.launch.ways import fake

KNOWN = {"n1": frozenset({"10.0.0.1", "192.168.0.1"}), "n2": frozenset({"10.0.0.2", "fd00::2"}), "n3": frozenset()}


def servers(*ids: str) -> tuple[Node, ...]:
    tables = [hccl_kit.generate(name, [(0, f"192.168.{place}.1")]) for place, name in enumerate(ids)]
    return plan(hccl_kit.merge(tables) if len(tables) > 1 else tables[0], ["x"]).nodes


def known(nodes: Sequence[str]) -> Mapping[str, frozenset[str]]:
    return {node: KNOWN[node] for node in nodes}


def test_servers_are_matched_by_address_in_any_order() -> None:
    found = matched(servers("10.0.0.2", "10.0.0.1"), ["n1", "n2", "n3"], known)
    assert found == {"10.0.0.2": "n2", "10.0.0.1": "n1"}


def test_nodes_are_not_asked_if_servers_have_their_names() -> None:
    def never(_: Sequence[str]) -> Mapping[str, frozenset[str]]:
        raise AssertionError

    assert matched(servers("n1", "n2"), ["n3", "n2", "n1"], never) == {"n1": "n1", "n2": "n2"}


def test_a_server_that_is_not_one_node_of_its_own_is_refused() -> None:
    with pytest.raises(KitError, match=r"server '10.0.0.9' matches no node .*: n1 \(10.0.0.1, 192.168.0.1\), n3 "):
        matched(servers("10.0.0.9"), ["n1", "n3"], known)
    with pytest.raises(KitError, match=r"server '10.0.0.1' matches 2 nodes"):
        matched(servers("10.0.0.1"), ["n1", "n2"], lambda nodes: dict.fromkeys(nodes, frozenset({"10.0.0.1"})))
    with pytest.raises(KitError, match=r"servers '10.0.0.1' and 'n1' of the table are both node n1"):
        matched(servers("n1", "10.0.0.1"), ["n1", "n2"], known)


def test_reads_the_nodes_of_an_allocation() -> None:
    assert nodes_of({"SLURM_JOB_NODELIST": "n[1-2],m"}) == ("n1", "n2", "m")
    for environ in ({}, {"SLURM_JOB_NODELIST": ""}, {"SLURM_JOB_NODELIST": "n[1-"}):
        with pytest.raises(KitError, match="SLURM_JOB_NODELIST"):
            nodes_of(environ)


def test_nodes_are_asked_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = os.uname().nodename
    fake(tmp_path, "srun", 'while [[ $1 == --* ]]; do shift; done; echo a banner; SLURMD_NODENAME=n1 "$@"')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert ask(["n1"])["n1"] >= {host, host.partition(".")[0]}
    with pytest.raises(KitError, match="node n2 does not answer; srun ended with exit code 0"):
        ask(["n1", "n2"])


def test_without_srun_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(KitError, match="srun is not on PATH"):
        over_srun("n1", ["true"])


def test_an_address_that_is_an_option_is_refused() -> None:
    reach = by_ssh([], {"HCCL_KIT_SSH": "ssh -F file"}, ["User=me"])
    start, *_, last = reach(Spare("n1", "10.0.0.1", {}), ("env", "A=b c", "agent"))
    assert (start, last) == ("ssh", "env 'A=b c' agent")
    with pytest.raises(KitError, match="server n1 has no address for ssh: '-oProxyCommand=x' is not a valid address"):
        by_ssh([Spare("n1", "-oProxyCommand=x", {})], {})
