"""Every kind of object that a launcher writes matches its published definition, with all options too."""

from typing import Any

import jsonschema
import pytest

from hccl_kit.launch.emitters import LAUNCHERS, emit
from hccl_kit.table.model import RankTable
from tests.launch.crds import CRDS
from tests.launch.manifests import Value, documents_of, templates_in
from tests.launch.schemas import BY_KIND
from tests.launch.ways import planned, servers

TABLES = (servers((0,), ids=("10.0.0.1",)), servers(range(2), range(2), ids=("10.0.0.1", "10.0.0.2")))
PODS = [name for name, row in LAUNCHERS.items() if row.runs_pods]
VALUES = {
    "host_network": True,
    "fixed_table": True,
    "resource": "example.com/npu",
    "kueue_queue": "team",
    "kueue_topology": "required=hccl-kit/super-pod",
    "max_restarts": "3",
    "volumes": "data:/data,/models:/models:ro",
    "log_volume": "logs",
    "cpus": "64",
    "memory": "512Gi",
    "image_has_kit": False,
}
"""A value of every option that adds to a manifest; --table-map excludes --fixed-table."""


def names_of(launcher: str) -> set[str]:
    return {option.name for option in LAUNCHERS[launcher].options}


REFUSED = {"pytorchjob": {"max_restarts"}, "lws": {"max_restarts"}}


def documents(launcher: str, table: RankTable, *, full: bool, **more: Any) -> list[Value]:
    """The documents that are written without options, or with all of them, and `more`."""
    taken = names_of(launcher) - REFUSED.get(launcher, set())
    options: dict[str, Any] = {name: value for name, value in VALUES.items() if full and name in taken}
    if LAUNCHERS[launcher].needs_product:
        options["product"] = "a3" if full else "910"
    made = planned(table, framework="pytorch" if full else None)
    return documents_of(emit(launcher, *made, **{"image": "registry/train:1", **options, **more}))


@pytest.mark.parametrize("full", [False, True], ids=["plain", "full"])
@pytest.mark.parametrize("launcher", PODS)
def test_every_document_matches_its_published_definition(launcher: str, full: bool) -> None:
    for table in TABLES:
        made = documents(launcher, table, full=full)
        for document in made:
            jsonschema.validate(document, CRDS.get(document["kind"]) or BY_KIND[document["kind"]])
        with_cards = [
            count for count, pod in templates_in(made).values() if "resources" in pod["spec"]["containers"][0]
        ]
        assert sum(with_cards) == len(table.servers)


@pytest.mark.parametrize("launcher", [name for name in PODS if "table_map" in names_of(name)])
def test_a_table_that_the_cluster_writes_is_mounted(launcher: str) -> None:
    for document in documents(launcher, TABLES[1], full=False, table_map="rings-config-train"):
        jsonschema.validate(document, CRDS.get(document["kind"]) or BY_KIND[document["kind"]])
