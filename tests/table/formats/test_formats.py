"""Recognition of the format of a document by its keys and version."""

import json

import pytest

from hccl_kit.check.engine import check_text
from hccl_kit.table.formats import read
from hccl_kit.table.formats.kinds import SERVER_LIST, recognise
from hccl_kit.table.model import RankTable
from tests.tables import value


def test_a_document_is_recognised() -> None:
    for document, name in (
        (value(), "1.0"),
        ({"version": "1.2", "server_list": []}, "1.2"),
        ({"version": "1.1", "node_list": []}, "1.1"),
        ({"version": "2.0", "rank_list": []}, "2.0"),
        ({"group_list": []}, "template2"),
        ({"version": "1.0", "server_group_list": []}, "mindie-global"),
        ({"version": "1.2", "prefill_device_list": []}, "prefill-decode"),
        ({"version": "2.0", "peer_list": [], "edge_list": []}, "topology"),
        ({"rank_list": []}, "2.0"),
        ({"node_list": []}, "1.1"),
        ({}, "1.0"),
        ([], "1.0"),
        ({"version": 1.0}, "1.0"),
    ):
        kind = recognise(document)
        assert kind is not None, (document, name)
        assert kind.name == name, (document, name)


DEVICE = {"device_id": "0", "super_device_id": "0"}


def test_a_file_that_is_not_a_rank_table_is_named_with_the_next_step() -> None:
    for document, name, advice in (
        ({"kind": "ConfigMap", "data": {"hccl.json": "{}"}}, "config-map", "kubectl get configmap"),
        ({"version": "1.2", "server_list": [{"server_id": "a", "device": [DEVICE]}]}, "local-comm-res", "hccl-gen"),
        ({"version": "2.0", "peer_list": []}, "topology", "RANK_TABLE_FILE"),
        ({"prefill_device_list": []}, "prefill-decode", "DISAGGREGATED_PREFILL_RANK_TABLE_PATH"),
        ({"server_group_list": []}, "mindie-global", "server_group_list"),
        ({"RankTable": {"version": "1.2"}, "HcclCommConfig": {}}, "cluster-config", "jq .RankTable"),
        ({"Servers": [], "Clients": []}, "roles", "RANK_TABLE_FILE"),
        ({"node_list": [{"node_id": 0, "rank_list": []}]}, "offline", "RANK_TABLE_FILE"),
        ({"version": "1.4", "server_list": [], "oxc_group_list": []}, "oxc", "version 1.2"),
        ({"version": "1.4", "server_list": []}, "oxc", "version 1.2"),
        ({"version": "2.0", "topo_file_path": "/t.json", "rank_list": []}, "root-info", "/etc/hccl_rootinfo.json"),
        ({"version": "2.0", "topo_file_path": "/t.json"}, "root-info", "/etc/hccl_rootinfo.json"),
        ({"pod_name": "p-0", "server_id": "10.0.0.1", "devices": [DEVICE]}, "device-plugin", "rings-config-JOB"),
        ({"Ascend910-0": {"IP": "10.0.0.1", "SuperDeviceID": 0}}, "device-plugin", "rings-config-JOB"),
        ({"cluster": [{"cluster_nodes": [{"node_id": 0}]}], "node_def": []}, "numa-config", "server_list"),
    ):
        kind = recognise(document)
        assert kind is not None, (document, name)
        assert (kind.name, kind.version) == (name, None), (document, name)
        assert advice in kind.advice, (document, name)
        (found,) = check_text(json.dumps(document), "t.json").findings
        assert (found.rule, found.hint) == ("HK105", kind.advice), (document, name)


def test_a_config_map_in_yaml_is_recognised() -> None:
    text = 'apiVersion: v1\ndata:\n  hccl.json: "{}"\nkind: ConfigMap\nmetadata:\n  name: rings-config-job\n'
    for written in (text, text.replace("ConfigMap", '"ConfigMap"').replace("\n", "\r\n")):
        (found,) = check_text(written, "t.json").findings
        assert (found.rule, found.span.line) == ("HK105", 4)
    assert [one.rule for one in check_text("apiVersion: v1\nkind: Pod\n", "t.json").findings] == ["HK001"]


def test_a_template_that_was_not_filled_in_is_recognised() -> None:
    text = (
        '{"version": "1.0",\n"server_list": [{{- range .Servers }}\n{"server_id": {{ .ServerId | quote }}}\n{{ end }}]}'
    )
    (found,) = check_text(text, "t.json").findings
    assert (found.rule, found.message, found.span.line) == (
        "HK105",
        "this is a template of a rank table, which was not filled in",
        2,
    )
    assert [one.rule for one in check_text('{"a": {{}, "version": "1.0"}', "t.json").findings] == ["HK001"]


def test_a_log_that_holds_a_table_is_recognised_at_its_line() -> None:
    table = json.dumps(value())
    (found,) = check_text(f"INFO:root:waiting {{1}}\nINFO:root:table {table}\n", "t.json").findings
    assert (found.rule, found.message, found.span.line) == (
        "HK105",
        "this is a log, and the line holds a rank table",
        2,
    )
    for text in (f"{table},", f"waiting {table[:-1]}", "INFO no table"):
        assert [one.rule for one in check_text(text, "t.json").findings] == ["HK001"]


@pytest.mark.parametrize(
    ("version", "key", "hint"),
    [
        ("2.0", "server_list", 'write "version": "1.0" or "version": "1.2"'),
        ("1.0", "rank_list", 'write "version": "2.0"'),
        ("1.2", "node_list", 'write "version": "1.1"'),
        ("1.0", "group_list", "remove the version"),
        ("1.1", "server_list", 'write "version": "1.0"'),
    ],
)
def test_a_version_that_contradicts_the_list_is_one_finding(version: str, key: str, hint: str) -> None:
    (found,) = check_text(json.dumps({"version": version, key: []}), "t.json").findings
    assert (found.rule, found.pointer) == ("HK112", ("version",))
    assert (found.hint or "").startswith(hint)


def test_a_draft_of_version_2_is_one_finding() -> None:
    level = {"level": 0, "id": "az0", "fabric_type": "INNER", "rank_addrs": []}
    document = {"version": "2.0", "rank_count": "1", "rank_list": [{"rank_id": 0, "level_list": [level]}]}
    assert [one.rule for one in check_text(json.dumps(document), "t.json").findings] == ["HK113"]


def test_an_unknown_version_is_not_recognised() -> None:
    for version in ("1.3", "3.0", "", "1.0 ", "v1.0"):
        assert recognise({"version": version}) is None, version


def test_a_document_that_is_not_read_has_at_least_one_error() -> None:
    documents: list[object] = [{}, [], None, {"version": "2.0"}, value() | {"status": 1}]
    for document in documents:
        outcome = read(document, SERVER_LIST)
        assert not isinstance(outcome, RankTable), document
        assert outcome, document
