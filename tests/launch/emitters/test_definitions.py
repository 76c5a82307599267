"""Every kind of object that a launcher writes matches its published definition, with all options too."""

from typing import Any

import jsonschema
import pytest

from hccl_kit.launch.emitters import LAUNCHERS, emit
from tests.launch.crds import CRDS
from tests.launch.manifests import Value, documents_of
from tests.launch.schemas import BY_KIND
from tests.launch.ways import planned, servers

TWO = servers(range(2), range(2), ids=("10.0.0.1", "10.0.0.2"))
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
REFUSED = {"pytorchjob": {"max_restarts"}, "lws": {"max_restarts"}}


def documents(launcher: str, *, full: bool) -> list[Value]:
    """The documents that are written without options, or with all of them."""
    taken = {option.name for option in LAUNCHERS[launcher].options} - REFUSED.get(launcher, set())
    options: dict[str, Any] = {name: value for name, value in VALUES.items() if full and name in taken}
    if LAUNCHERS[launcher].needs_product:
        options["product"] = "a3" if full else "910"
    made = planned(TWO, framework="pytorch" if full else None)
    return documents_of(emit(launcher, *made, image="registry/train:1", **options))


@pytest.mark.parametrize("full", [False, True], ids=["plain", "full"])
@pytest.mark.parametrize("launcher", PODS)
def test_every_document_matches_its_published_definition(launcher: str, full: bool) -> None:
    for document in documents(launcher, full=full):
        jsonschema.validate(document, CRDS.get(document["kind"]) or BY_KIND[document["kind"]])
