"""The reader accepts any input, and every value has its position."""

import json
import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.table.document import WHOLE_FILE, Document, decode, parse, shown
from hccl_kit.table.document.places import Places
from hccl_kit.table.finding import NO_CODE
from hccl_kit.table.pointer import Pointer, Span
from hccl_kit.table.source import MAX_BYTES, STDIN
from tests.tables import json_values


def rules_of(data: bytes | str, name: str = STDIN) -> list[str]:
    return [found.rule for found in parse(data, name).findings]


def marked(document: Document, span: Span | None) -> str:
    assert span is not None
    return document.text.split("\n")[span.line - 1][span.column - 1 :][: span.width]


@given(st.text() | st.binary() | st.text(alphabet='{}[]",:0123456789.eE-+ \\u/\n\tNaIfty') | st.text('[]{}"a:,1\\ud8'))
def test_any_input_gives_a_value_or_a_finding(data: bytes | str) -> None:
    document = parse(data, STDIN)
    for found in document.findings:
        assert found.span is not None
        assert found.span.line >= 1
        assert found.span.column >= 1
        assert found.message
    if not document.findings:
        assert document.locate(()).line >= 1
        assert json.loads(document.text) == document.value


@given(json_values, st.sampled_from([None, 0, 4]))
def test_output_of_the_json_module_is_read(value: Any, indent: int | None) -> None:
    document = parse(json.dumps(value, indent=indent), STDIN)
    assert document.findings == ()
    assert document.value == value


def pointers(value: Any, at: Pointer = ()) -> list[tuple[Pointer, Any]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(at, value), *(found for part, inner in parts for found in pointers(inner, (*at, part)))]


@given(json_values, st.sampled_from([None, 0, 4]), st.booleans())
def test_every_value_is_located(value: Any, indent: int | None, ascii_only: bool) -> None:
    document = parse(json.dumps(value, indent=indent, ensure_ascii=ascii_only), STDIN)
    for pointer, inner in pointers(document.value):
        text = marked(document, document.locate(pointer))
        if not isinstance(inner, (dict, list)):
            assert json.loads(text) == inner
        elif pointer and isinstance(pointer[-1], str):
            assert json.loads(text) == pointer[-1]
        else:
            assert text == ("{" if isinstance(inner, dict) else "[")
        if pointer and isinstance(pointer[-1], str):
            assert json.loads(marked(document, document.locate(pointer, on_key=True))) == pointer[-1]


def test_a_missing_key_is_located_at_its_object() -> None:
    document = parse('{\n "a": [\n  {"b": 1}]}', STDIN)
    assert document.locate(("a", 0, "missing", 3)) == Span(3, 3, 1)
    assert document.locate(("a", 0, "b", "inside a number")) == Span(3, 9, 1)
    assert document.locate(("a", 7)) == Span(2, 2, 3)


def test_an_error_is_explained_at_its_position() -> None:
    for text, rule, mark, words in (
        ('{"a": 1,}', "HK001", ",", 'trailing comma before "}"'),
        ('{"a": [1, 2 ,\n ]}', "HK001", ",", 'trailing comma before "]"'),
        ('{"a": 1 // one\n}', "HK001", "// one", "comments are not allowed"),
        ('{"a": 1, // one\n "b": 2}', "HK001", "// one", "comments are not allowed"),
        ('{"a": /* one */ 1}', "HK001", "/* one */ 1}", "comments are not allowed"),
        ("# first\n{}", "HK001", "# first", "comments are not allowed"),
        ("{'a': 1}", "HK001", "'", "double quotes"),
        ('{"a": NaN}', "HK001", "NaN", "NaN is not a number"),
        ('["NaN", -Infinity, 1-2]', "HK001", "-Infinity", "is not a number"),
        (r'["\\ud800", "\ud800"]', "HK001", r'"\ud800"', r"half of a surrogate pair"),
        ('{"a" 1}', "HK001", "1", 'expected ":"'),
        ('{"a": 1 "b": 2}', "HK001", '"', 'expected "," or the closing bracket'),
        ("{} {}", "HK001", "{", "unexpected text after"),
        ('{"a": 1 , , "b": 2}', "HK001", ",", "a key in double quotes"),
        ('["a\nb"]', "HK001", "", "a string must not contain a line break or tab"),
        ('["a', "HK001", '"', "this string is not closed"),
        ('{"a": {"b": 1', "HK001", "", "the file ends before"),
        ("", "HK001", "", "the file is empty"),
        (" \n\t", "HK001", "", "the file is empty"),
        ('{"a": 1,\n "b": {"a": 2},\n "\\u0061": 3}', "HK004", '"\\u0061"', "the first is on line 1"),
        ("[" + "1" * 65 + "]", "HK006", "1" * 65, "too large or too long"),
        ('["1e999", 1e999]', "HK006", "1e999", "too large or too long"),
        ("[" * 64 + "[" + "]" * 65, "HK005", "[", "deeper than 64"),
    ):
        document = parse(text, STDIN)
        (found,) = document.findings
        assert found.rule == rule, (text, rule)
        assert marked(document, found.span) == mark, (text, rule)
        assert words in found.message, (text, rule)


def test_depth_up_to_the_limit_is_read() -> None:
    assert rules_of("[" * 64 + "]" * 64) == []


def test_bytes_that_are_not_utf8_are_found() -> None:
    document = parse('{\n "服": "'.encode() + b"\xff\xfe" + b'"}', STDIN)
    (found,) = document.findings
    assert (found.rule, found.span) == ("HK002", Span(2, 8, 1))
    assert "0xff" in found.message


def test_lone_surrogates_in_a_str_are_not_utf8() -> None:
    assert rules_of('{"a": "\ud800"}') == ["HK002"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_utf16_is_named(encoding: str) -> None:
    (found,) = parse('{"a": 1}'.encode(encoding), STDIN).findings
    assert found.rule == "HK002"
    assert "UTF-16" in found.message


@pytest.mark.parametrize("data", [b'\xef\xbb\xbf{"a": 1}', '\ufeff{"a": 1}'])
def test_a_byte_order_mark_is_an_error_and_the_value_is_read(data: bytes | str) -> None:
    document = parse(data, STDIN)
    assert [found.rule for found in document.findings] == ["HK003"]
    assert document.value == {"a": 1}
    assert document.locate(("a",)) == Span(1, 7, 1)
    assert document.text == decode(data) == '{"a": 1}'


@pytest.mark.parametrize("data", [b" " * (MAX_BYTES + 1), " " * (MAX_BYTES + 1)])
def test_a_document_beyond_the_size_limit_is_not_read(data: bytes | str) -> None:
    (found,) = parse(data, STDIN).findings
    assert (found.rule, found.span) == ("HK009", WHOLE_FILE)


def test_the_path_is_checked_like_in_hccl() -> None:
    for name, good in (
        ("t.json", True),
        ("/a/b.c/t.json", True),
        (STDIN, True),
        ("a.json.d/t.json", False),
        ("t.txt", False),
        ("", False),
    ):
        assert rules_of("{}", name) == ([] if good else ["HK008"]), (name, good)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        "[" + "9" * 2_000_000 + "]",
        "[1." + "9" * 2_000_000 + "]",
        '["' + "\\\\" * 1_000_000 + '"]',
        '{"\\u0061": 1' + ', "a": 1' * 200_000 + "}",
        "[" + "[]," * 100_000 + "[]]",
        '{"a": "' + "\\ud800" * 100_000 + '"}',
    ],
    ids=range(8),
)
def test_hostile_text_is_checked_in_linear_time_and_space(text: str) -> None:
    tracemalloc.start()
    begin = time.process_time()
    document = parse(text, STDIN)
    if not document.findings:
        document.locate((90_000,))
    assert time.process_time() - begin < 5
    assert tracemalloc.get_traced_memory()[1] < 100 * len(text) + 10_000_000
    tracemalloc.stop()
    assert len(document.findings) <= 100


def test_a_shown_value_is_short_and_stays_on_its_line() -> None:
    assert shown("10.0.0.1") == '"10.0.0.1"'
    assert shown("服务器") == '"服务器"'
    assert shown("a\x1b[31m\u202e\n") == r'"a\u001b[31m\u202e\n"'
    assert shown("x" * 1000) == '"' + "x" * 77 + '..."'
    values: list[object] = [{}, [], None, True, 1]
    assert list(map(shown, values)) == ["an object", "an array", "null", "true", "1"]


def test_a_line_break_costs_a_few_bytes_of_memory() -> None:
    text = "\n" * 1_000_000 + "{"
    tracemalloc.start()
    (found,) = parse(text, STDIN).findings
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found.span and found.span.line) == 1_000_001
    assert peak < 10 * len(text)


@given(st.lists(st.sampled_from(["\n", "x", "\r\n", "x" * 70_000]), max_size=20).map("".join), st.data())
def test_line_and_column_are_those_of_the_text_before(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    lines = text[:start].split("\n")
    assert Places(text).span(start, start) == (len(lines), len(lines[-1]) + 1, 0)


def test_text_after_the_document_is_an_error_without_code() -> None:
    """HCCL's parser of versions 1.x reads one value and ignores the rest."""
    for end in ("}", " {}", ",", " // end", "\x00"):
        (found,) = parse('{"version": "1.0"}' + end, STDIN).findings
        assert (found.rule, found.hccl_error) == ("HK001", NO_CODE), end
        (found,) = parse('{"version": "1.0",}', STDIN).findings
        assert (found.rule, found.hccl_error) == ("HK001", None), end


class Searched(str):
    """A text that counts how many characters are searched backwards."""

    searched = 0

    def rfind(self, *given: Any) -> int:
        _, start, end = given
        self.searched += end - start
        return super().rfind(*given)


@pytest.mark.parametrize("before", [0, 10], ids=["one line", "a line before"])
def test_places_in_a_long_line_are_found_without_searching_it_from_the_start(before: int) -> None:
    """A table without line breaks, wrong in every device: the searches would take minutes at 40 MiB."""
    text = Searched("x" * before + "\n" * (before > 0) + "x" * 1_000_000)
    places, line = Places(text), 2 if before else 1
    for start in range(900_000, 900_010):
        assert places.span(start, start + 1) == (line, start - (before or -1), 1)
    assert text.searched < 3 * len(text)
