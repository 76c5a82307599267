"""Every kind of object that a launcher writes matches its published definition, and unknown fields are detected."""

from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
import pytest

from hccl_kit.launch.emitters import LAUNCHERS, emit
from tests.launch.crds import CRDS
from tests.launch.manifests import Value, documents_of
from tests.launch.schemas import BY_KIND, Schema
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


def schema_of(document: Value) -> Schema:
    kind = document["kind"]
    return CRDS.get(kind) or BY_KIND[kind]


def records(schema: Schema, value: Any) -> Iterator[dict[str, Any]]:
    """The objects in a document whose fields its definition names."""
    if isinstance(value, list):
        for one in value:
            yield from records(schema["items"], one)
    elif isinstance(value, dict):
        named: Mapping[str, Schema] = schema.get("properties", {})
        if schema.get("additionalProperties") is False:
            yield value
        for key, inner in value.items():
            yield from records(named.get(key) or schema["additionalProperties"], inner)


@pytest.mark.parametrize("full", [False, True], ids=["plain", "full"])
@pytest.mark.parametrize("launcher", PODS)
def test_an_unknown_field_or_a_wrong_type_is_detected_at_any_position(launcher: str, full: bool) -> None:
    for document in documents(launcher, full=full):
        check = jsonschema.Draft202012Validator(schema_of(document))
        check.validate(document)
        found = list(records(schema_of(document), document))
        assert found
        for place in found:
            place["unknown"] = "x"
            assert not check.is_valid(document)
            del place["unknown"]
            for name in list(place):
                kept, place[name] = place[name], None
                assert not check.is_valid(document), name
                place[name] = kept
        check.validate(document)


def test_every_kind_with_a_definition_is_written() -> None:
    written = {document["kind"] for launcher in PODS for document in documents(launcher, full=True)}
    assert written == {*CRDS, *BY_KIND}
