"""The YAML of configurations: aliases are copies, line numbers are known, and hostile input is refused."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config
from hccl_kit.ocr.config import yaml_text
from tests.ocr.run_tool import CONFIG

TEXT = CONFIG.read_text(encoding="utf-8")
DEEP = "- " * 6000
"""Deeper than Python's recursion limit, which MindSpore raises to 10000; brackets would take PyYAML quadratic time."""


def alias_bomb(link: str) -> str:
    """Nine levels of ten aliases: a billion values in a few hundred bytes."""
    lines = ["a: &a {x: 1}"]
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        aliases = ", ".join([f"*{before}"] * 10)
        lines.append(f"{name}: &{name} " + link.format(f"[{aliases}]"))
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (alias_bomb("{0}"), "config.yaml has more than 10000 values"),
        (alias_bomb("{{<<: {0}}}"), "config.yaml has more than 10000 values"),
        ("a: &a [*a]", "nested too deeply"),
        (DEEP, "nested too deeply"),
        (TEXT.encode("utf-16"), "is not UTF-8"),
        (b"a: \xff", "is not UTF-8: byte 3"),
        ("", "has no sections"),
        ("- 1", "has no sections"),
        ("a: [", "is not valid YAML"),
        ("a: 1\n---\nb: 2", "is not valid YAML"),
        ("a: !!python/object/apply:os.system ['true']", "is not valid YAML"),
        ("a: !!int ''", "is not valid YAML"),
        ("a: !!timestamp x", "is not valid YAML"),
        ("a: 1\nb: 2\na: 3", "config.yaml:3: a is given twice, first in line 1"),
        ('a: "b\\0c"', "config.yaml:1: 'b\\x00c' contains a character that no file name can have"),
        ('"\\ud800": 1', "config.yaml:1: '\\ud800' contains a character that no file name can have"),
        ("a: {b: 1, b: 1}", "config.yaml:1: b is given twice, first in line 1"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_a_file_that_is_not_a_configuration_is_refused(tmp_path: Path, content: str | bytes, expected: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(KitError) as caught:
        config.load(path)
    assert expected in caught.value.message


def test_every_value_has_its_line() -> None:
    _, root = yaml_text.parse("a: 1\nb:\n  c:\n  - d: 2\n  - 3\n", "here")
    lines = {pointer: line for pointer, _, line in yaml_text.nodes(root)}
    assert lines == {
        (): 1,
        ("a",): 1,
        ("b",): 2,
        ("b", "c"): 3,
        ("b", "c", 0): 4,
        ("b", "c", 0, "d"): 4,
        ("b", "c", 1): 5,
    }


def test_a_date_is_a_string() -> None:
    assert yaml_text.parse("a: 2024-13-45\nb: 2024-01-02", "here")[0] == {"a": "2024-13-45", "b": "2024-01-02"}


def test_an_alias_is_the_node_of_its_anchor_and_a_copy_of_its_value() -> None:
    values, root = yaml_text.parse("a: &a [1]\nb: *a\nc: {<<: {d: *a}}", "here")
    found = {pointer: node for pointer, node, _ in yaml_text.nodes(root)}
    assert found[("a",)] is found[("b",)] is found[("c", "d")]
    assert values == {"a": [1], "b": [1], "c": {"d": [1]}}
    assert values["a"] is not values["b"]


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
trees = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))


@given(st.dictionaries(texts, trees, max_size=4))
@settings(max_examples=100, deadline=None)
def test_written_yaml_round_trips(values: dict[str, object]) -> None:
    assert yaml_text.parse(yaml_text.dump(values), "here")[0] == (values or {})
