"""Topology files of schedulers, and names that they do not support."""

import shlex
from itertools import product

import jsonschema
import pytest
import yaml

from hccl_kit.base.errors import KitError
from hccl_kit.base.hostlist import expand
from hccl_kit.place.topology import (
    WRITERS,
    Domain,
    domains_of_hosts,
    domains_of_table,
    hyper_nodes,
    kueue_topology,
    node_labels,
    slurm_topology,
)
from hccl_kit.table.hosts import Host
from tests.place import crds
from tests.place.clusters import table_of, whole

PODS = (Domain("a", ("node01", "node02")), Domain("b", ("node03", "node04")))
PLAIN = (Domain(None, ("node01", "node02", "node03")),)
HOSTILE = ("a b", "a,b", "a\nNodes=x", "$(reboot)", "a;b", "-all", "a[1-9]", "", "ä", "a" * 64, "../a", "a=b", "a#b")


def test_slurm_has_a_switch_for_each_super_pod_and_a_top_level_switch() -> None:
    assert slurm_topology(PODS).splitlines()[1:] == [
        "SwitchName=sp-a Nodes=node[01-02]",
        "SwitchName=sp-b Nodes=node[03-04]",
        "SwitchName=all Switches=sp-a,sp-b",
    ]
    assert slurm_topology(PLAIN).splitlines()[1:] == ["SwitchName=all Nodes=node[01-03]"]


def test_each_node_is_below_one_switch_of_a_large_cluster() -> None:
    nodes = expand("rack[1-13]-node[01-48]")
    pods = tuple(Domain(str(number), nodes[48 * number : 48 * number + 48]) for number in range(13))
    lines = [dict(word.split("=") for word in line.split()) for line in slurm_topology(pods).splitlines()[1:]]
    assert [name for line in lines[:-1] for name in expand(line["Nodes"])] == list(nodes)
    assert list(expand(lines[-1]["Switches"])) == [line["SwitchName"] for line in lines[:-1]]


@pytest.mark.parametrize("domains", [PODS, PLAIN], ids=["super pods", "plain"])
def test_manifests_match_the_published_definitions(domains: tuple[Domain, ...]) -> None:
    for document in yaml.safe_load_all(hyper_nodes(domains)):
        jsonschema.validate(document, crds.HYPER_NODE)
    jsonschema.validate(yaml.safe_load(kueue_topology(domains)), crds.TOPOLOGY)


def test_hyper_nodes_form_a_tree() -> None:
    documents = list(yaml.safe_load_all(hyper_nodes(PODS)))
    names = {
        document["metadata"]["name"]: (
            document["spec"]["tier"],
            [(member["type"], member["selector"]["exactMatch"]["name"]) for member in document["spec"]["members"]],
        )
        for document in documents
    }
    assert names == {
        "sp-a": (1, [("Node", "node01"), ("Node", "node02")]),
        "sp-b": (1, [("Node", "node03"), ("Node", "node04")]),
        "all": (2, [("HyperNode", "sp-a"), ("HyperNode", "sp-b")]),
    }
    assert [document["metadata"]["name"] for document in yaml.safe_load_all(hyper_nodes(PLAIN))] == ["all"]


def test_the_levels_of_kueue_are_the_labels_of_the_nodes() -> None:
    levels = [level["nodeLabel"] for level in yaml.safe_load(kueue_topology(PODS))["spec"]["levels"]]
    assert levels == ["hccl-kit/super-pod", "kubernetes.io/hostname"]
    commands = [shlex.split(line) for line in node_labels(PODS).splitlines()[3:]]
    assert commands == [
        ["kubectl", "label", "--overwrite", "node", "node01", "node02", "hccl-kit/super-pod=a"],
        ["kubectl", "label", "--overwrite", "node", "node03", "node04", "hccl-kit/super-pod=b"],
    ]
    with pytest.raises(KitError, match="no super pods"):
        node_labels(PLAIN)


def test_hostile_names_are_refused() -> None:
    for to, name in product(WRITERS, HOSTILE):
        for domain in (Domain("a", ("n1", name)), Domain(name, ("n1",))):
            if to != "slurm-topology" and domain.nodes[-1] == "a" * 64:
                continue  # a node of Kubernetes may have 253 characters
            with pytest.raises(KitError, match="is not a valid name"):
                WRITERS[to]((domain, Domain("b", ("n2",))))


def test_reads_super_pods_from_a_table_or_an_inventory() -> None:
    table = table_of(whole(2, 2, 1))
    assert domains_of_table(table) == (Domain("p0", ("s0-0", "s0-1")), Domain("p1", ("s1-0", "s1-1")))
    assert domains_of_table(table, ["a", "b", "c", "d"]) == (Domain("p0", ("a", "b")), Domain("p1", ("c", "d")))
    hosts = [Host("x", {}, super_pod="q"), Host("y", {}, super_pod="r"), Host("z", {}, super_pod="q")]
    assert domains_of_hosts(hosts) == (Domain("q", ("x", "z")), Domain("r", ("y",)))
    assert domains_of_table(table_of(whole(2, 1, 1), has_pods=False)) == (Domain(None, ("s0-0", "s1-0")),)


@pytest.mark.parametrize(
    ("hosts", "nodes", "words"),
    [
        ([], None, "there are no servers"),
        ([Host("x", {}), Host("y", {})], ["a"], "--nodes names 1 nodes, but there are 2 servers"),
        ([Host("x", {}), Host("y", {})], ["a", "a"], 'node "a" is named twice'),
        ([Host("x", {}), Host("y", {}, super_pod="q")], None, 'server "x" is in no super pod, but others are'),
    ],
)
def test_servers_that_do_not_form_a_tree_are_refused(hosts: list[Host], nodes: list[str] | None, words: str) -> None:
    with pytest.raises(KitError) as refused:
        domains_of_hosts(hosts, nodes)
    assert words in refused.value.message


def test_a_table_without_host_names_is_refused() -> None:
    with pytest.raises(KitError, match=r"version 2\.0 does not name hosts"):
        domains_of_table(table_of(whole(1, 1, 1), has_pods=False)._replace(version="2.0"))
