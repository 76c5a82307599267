"""Every launcher with a table of 1,000 servers: its files stay below the limits of their consumers."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.table_shapes import servers, super_pods
from hccl_kit.check.engine import check_text
from hccl_kit.cli import launch
from hccl_kit.launch.emitters import LAUNCHERS, emit, manifest
from hccl_kit.launch.files import LaunchFile, TableFile
from hccl_kit.launch.plan import LaunchPlan, plan
from hccl_kit.launch.rules import check_plan
from tests.launch.manifests import data_of, readable, table_in

SERVERS = 1000
PODS = [name for name, row in LAUNCHERS.items() if row.runs_pods]
GIVEN = [name for name in PODS if "fixed_table" in {option.name for option in LAUNCHERS[name].options}]
MAX_SCRIPT = 4 << 20
"""Maximum bytes of a batch script in Slurm, unless the site sets another max_script_size."""
MAX_REQUEST = 1536 << 10
"""Maximum bytes of an object in etcd."""
SHAPES = {"8 cards": (servers, 8), "16 dies in super pods": (super_pods, 16)}


@cache
def planned(shape: str) -> tuple[LaunchPlan, TableFile]:
    make, cards = SHAPES[shape]
    text = json.dumps(make(SERVERS * cards))
    table = check_text(text, "t.json").table
    assert table is not None
    assert len(table.servers) == SERVERS
    return plan(table, ["vllm", "serve", "model"]), TableFile("t.json", text)


def written(name: str, shape: str, options: Mapping[str, Any]) -> tuple[LaunchFile, ...]:
    product: dict[str, Any] = {"product": "a3"} if LAUNCHERS[name].needs_product else {}
    made, table = planned(shape)
    made = replace(made, command=("python", "train.py")) if name == "msrun" else made
    return emit(name, made, table, **product, **options)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [name for name in LAUNCHERS if name not in PODS])
def test_a_script_is_within_the_size_limits_of_bash_and_slurm(name: str, shape: str) -> None:
    files = written(name, shape, {})
    assert sum(len(file.text.encode()) for file in files) < MAX_SCRIPT / 4


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", PODS)
def test_a_manifest_does_not_grow_with_the_servers(name: str, shape: str) -> None:
    (file,) = written(name, shape, {"image": "x"})
    assert len(readable(file).text) < 16 << 10
    assert_taken(file)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", GIVEN)
def test_kubectl_applies_a_manifest_with_the_table(name: str, shape: str) -> None:
    network = {} if name == "volcano" else {"host_network": True}
    _, table = planned(shape)
    (file,) = written(name, shape, {"image": "x", "fixed_table": True, **network})
    assert_taken(file)
    documents = yaml.load_all(file.text, Loader=yaml.CSafeLoader)
    (config,) = [one for one in documents if one["metadata"]["name"].endswith("-table")]
    assert table_in(config) == json.loads(table.text)


def assert_taken(file: LaunchFile) -> None:
    """Asserts that kubectl apply, the API server and etcd accept the documents."""
    assert f"#   kubectl apply -f {file.name}\n" in file.text
    for document in yaml.load_all(file.text, Loader=yaml.CSafeLoader):
        assert manifest.applied_size(document) <= manifest.MAX_APPLIED
        assert len(json.dumps(document)) + manifest.applied_size(document) <= MAX_REQUEST
        assert sum(map(len, data_of(document).values())) <= manifest.MAX_MAP


def test_a_table_too_large_for_the_cluster_is_refused_with_alternatives() -> None:
    found = [one for one in check_plan(*planned("16 dies in super pods"), "volcano") if one.severity == "error"]
    assert [(one.rule, one.hint) for one in found] == [
        (
            "HK532",
            "use --to ascendjob, which needs no table, or --fixed-table, which compresses this one",
        )
    ]


def test_fixed_table_supports_tables_too_large_for_the_cluster(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(planned("16 dies in super pods")[1].text)
    words = [str(tmp_path / "t.json"), "--to", "volcano", "--image", "x", "--product", "a3"]
    assert launch.main([*words, "--", "true"]) == 2
    assert launch.main([*words, "--fixed-table", "--", "true"]) == 0
