"""Code shared by the Kubernetes launchers: names, escaping of words, size limits, the YAML text."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.launch.emitters import emit as emit_of
from hccl_kit.launch.emitters import manifest
from hccl_kit.launch.emitters.hardware import HARDWARE
from hccl_kit.launch.emitters.pod import unexpanded
from hccl_kit.launch.files import LaunchFile
from hccl_kit.table.products import PRODUCT_NAMES
from tests.launch.manifests import command_of, documents_of, expanded, job_of, settings_of, templates_of
from tests.launch.ways import nasty, planned, servers, words

WAYS = ("ascendjob", "volcano")
IMAGE = "registry.example.org:5000/team/train:1.2@sha256-x"


def emit(way: str, *command: str, **options: str) -> tuple[LaunchFile, ...]:
    given: dict[str, Any] = {"image": IMAGE, "product": "910", **options}
    return emit_of(way, *planned(servers(range(8), range(8)), *command), **given)


@given(words, st.dictionaries(st.sampled_from(["A", "HOME", "("]), words))
def test_an_escaped_word_is_expanded_to_itself(word: str, environ: dict[str, str]) -> None:
    assert expanded(unexpanded(word), environ) == word
    for text in ("$(A)", "$$(A)", "$", "$$", "$(", "a$(HOME)b"):
        assert expanded(unexpanded(text), environ) == text


def test_kubernetes_expands_variables_in_a_word() -> None:
    assert expanded("$(A) $$(A) $$A $A $(B) $", {"A": "x"}) == "x $(A) $A $A $(B) $"


@pytest.mark.parametrize("way", [*WAYS, "jobset", "rayjob"])
@settings(max_examples=25)  # for each
@given(command=st.lists(words | nasty, min_size=1, max_size=8))
def test_every_word_of_the_command_is_in_the_manifest(way: str, command: list[str]) -> None:
    """YAML cannot represent some characters; all others round-trip."""
    options: dict[str, Any] = {"product": "910"} if way in WAYS else {}
    made = emit_of(way, *planned(servers(range(2), range(2)), "run", *command), image=IMAGE, **options)
    assert command_of(documents_of(made)) == ["run", *command]


NO_TEXTS = ("1e-4", "1e3", "5E5", "1.5e3", ".5e3", "0o17", "0x1F", "1_000", "12:30:45", "2026-01-01", "y", "N", "on")


@pytest.mark.parametrize("way", WAYS)
def test_words_that_other_yaml_parsers_read_as_numbers_are_quoted(way: str) -> None:
    """kubectl parses a newer YAML version than PyYAML writes, and every word of a command must be a string."""
    (manifest,) = emit(way, "run", "--lr", *NO_TEXTS)
    scalars = [
        node
        for document in yaml.compose_all(manifest.text)
        for node in nodes_of(document)
        if node.tag == "tag:yaml.org,2002:str" and node.value in ("--lr", *NO_TEXTS)
    ]
    assert {node.value for node in scalars if getattr(node, "style", None) is None} == {"--lr"}
    assert {node.value for node in scalars} == {"--lr", *NO_TEXTS}


def nodes_of(node: yaml.Node) -> Iterator[yaml.Node]:
    yield node
    for inner in node.value if isinstance(node, yaml.CollectionNode) else ():
        for part in inner if isinstance(inner, tuple) else (inner,):
            yield from nodes_of(part)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("product", HARDWARE)
def test_resource_and_labels_depend_on_the_product(way: str, product: str) -> None:
    documents = documents_of(emit(way, product=product))
    job = job_of(documents)
    assert job["metadata"]["labels"]["ring-controller.atlas"] == HARDWARE[product].ring
    *_, (_, template) = templates_of(job).values()
    (container,) = template["spec"]["containers"]
    assert container["resources"]["requests"] == {HARDWARE[product].resource: 8}


def test_every_product_documented_by_mindcluster_is_supported() -> None:
    assert set(PRODUCT_NAMES) - HARDWARE.keys() == {"a5"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "a" * 52}, '--name is "a{52}"; accepted: at most 51 characters, since pod names start with it'),
        (
            {"product": "a5"},
            "product 'a5' has no known resource in Kubernetes; accepted: 910, a2, a2-box16",
        ),
    ],
    ids=str,
)
def test_an_invalid_option_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(KitError, match=message):
        emit("ascendjob", **options)


@pytest.mark.parametrize("way", WAYS)
def test_the_default_name_contains_the_number_of_ranks(way: str) -> None:
    (file,) = emit(way)
    assert file.name == f"{way}16p.yaml"
    assert job_of(documents_of([file]))["metadata"] | {"labels": None} == {
        "name": "ascend16p",
        "namespace": "default",
        "labels": None,
    }


@pytest.mark.parametrize("way", WAYS)
def test_the_program_is_the_last_line_and_a_person_reads_about_120_lines_before(way: str) -> None:
    (file,) = emit(way)
    *lines, last = file.text.splitlines()
    assert re.fullmatch("  agent.pyz: [A-Za-z0-9+/]+=*", last)
    assert len(last) < 100_000
    assert len(lines) < 160  # an AscendJob of MindSpore has the pods of its scheduler, too
    assert "!!" not in file.text
    assert "&id" not in file.text
    assert settings_of(documents_of([file]))["source"] in ("mindspore", "table")


@given(
    st.recursive(words | st.integers() | st.booleans(), lambda inner: st.lists(inner) | st.dictionaries(words, inner))
)
def test_written_yaml_round_trips(value: object) -> None:
    document = {"value": value}
    assert list(yaml.safe_load_all(manifest.to_yaml(["a comment", ""], [document, document]))) == [document, document]


def test_a_config_map_that_is_too_large_is_refused() -> None:
    manifest.config_map("a", "default", {"x": "é" * (1 << 19)})
    with pytest.raises(KitError, match="ConfigMap a would have 1048577 bytes; Kubernetes accepts 1048576"):
        manifest.config_map("a", "default", {"x": "é" * (1 << 19), "y": "a"})


def test_computes_the_size_of_the_annotation_of_kubectl_apply() -> None:
    document = {"data": {"hccl.json": '{"a":1}'}}
    kept = 'kubectl.kubernetes.io/last-applied-configuration{"data":{"hccl.json":"{\\"a\\":1}"}}\n'
    assert manifest.applied_size(document) == len(kept)
