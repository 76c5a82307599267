"""A finding points at the right characters, however the table is formatted.

Method: replace the characters at line, column and width by a mark and parse the file again; the mark must be
at the pointer of the finding.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.check.engine import check_text
from hccl_kit.table.finding import Finding
from hccl_kit.table.formats import write
from hccl_kit.table.model import Device, RankTable, Server
from hccl_kit.table.pointer import Span
from hccl_kit.table.source import HCCL_MAX_BYTES
from tests.changes import at
from tests.check.rules.test_golden import FOLDERS, product_of

MARK = "the mark"
BROKEN = [folder for folder in FOLDERS if not folder.name.startswith("HK0")]
"""Without those whose text is not valid."""


def replaced(source: str, span: Span) -> str:
    lines = source.split("\n")
    line, start = lines[span.line - 1], span.column - 1
    lines[span.line - 1] = line[:start] + json.dumps(MARK) + line[start + span.width :]
    return "\n".join(lines)


def assert_points_right(source: str, found: Finding) -> None:
    line = source.split("\n")[found.span.line - 1]
    marked = line[found.span.column - 1 :][: found.span.width]
    if marked in ("{", "["):  # an object in a list, or the document, has no key to point at
        assert isinstance(at(json.loads(source), found.pointer), dict if marked == "{" else list)
        return
    after = json.loads(replaced(source, found.span))
    holder = at(after, found.pointer[:-1])
    is_key = isinstance(holder, dict) and found.pointer[-1] not in holder
    assert MARK in holder if is_key else holder[found.pointer[-1]] == MARK
    assert not is_key or json.loads(marked) == found.pointer[-1]


texts = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ["服务器", "\u2028", "\x85", "é" * 5, '\\"{']
)


@settings(max_examples=100)
@given(
    folder=st.sampled_from(BROKEN),
    remark=texts,
    indent=st.sampled_from([None, 0, 1, 4, "\t", " \t"]),
    ascii_only=st.booleans(),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    mark=st.sampled_from(["", "\ufeff"]),
    colon=st.sampled_from([":", ": ", " :\t"]),
)
def test_a_finding_points_at_its_value_in_any_formatting(
    *, folder: Path, remark: str, indent: Any, ascii_only: bool, newline: str, mark: str, colon: str
) -> None:
    document = json.loads((folder / "bad.json").read_text(encoding="utf-8"))
    document = {"remark": remark, **document, "end": [remark]} if isinstance(document, dict) else document
    written = json.dumps(document, indent=indent, ensure_ascii=ascii_only, separators=(",", colon))
    source = written.replace("\n", newline)
    plain = check_text(json.dumps(document), "t.json", product_of(folder)).findings
    assert folder.name in {found.rule for found in plain}
    diagnostics = check_text((mark + source).encode(), "t.json", product_of(folder)).findings
    assert [found.rule for found in diagnostics[: bool(mark)]] == ["HK003"] * bool(mark)
    diagnostics = diagnostics[bool(mark) :]
    assert [(found.rule, found.pointer) for found in diagnostics] == [(found.rule, found.pointer) for found in plain]
    for found in diagnostics:
        assert_points_right(source, found)


def test_the_second_of_two_equal_keys_is_marked_with_a_reference_to_the_first() -> None:
    source = '\ufeff{\r\n\t"备注": "服务器", "rank_id": "0",\r\n\t"更多": ["值"],\t"rank_id": "1"\r\n}'
    found = check_text(source.encode(), "t.json").findings[1]
    assert (found.rule, found.span) == ("HK004", Span(3, 15, 9))
    assert "the first is on line 2" in found.message


@pytest.mark.long
def test_a_table_of_the_maximum_size_of_hccl_is_checked() -> None:
    """40 MiB, whose last rank is wrong."""
    servers = [
        Server(f"服务器-{s}", tuple(Device(d, f"10.{s // 250}.{s % 250}.{d + 1}", 8 * s + d) for d in range(8)))
        for s in range(28_900)
    ]
    table = RankTable("1.0", "completed", tuple(servers), declared_servers=len(servers))
    source = write(table)
    last = 8 * len(servers) - 1
    source = source.replace(f'"rank_id": "{last}"', '"rank_id": "0"')
    data = source.encode()
    assert 0.9 * HCCL_MAX_BYTES < len(data) <= HCCL_MAX_BYTES
    diagnostics = check_text(data, "t.json").findings
    assert {found.rule for found in diagnostics} == {"HK201", "HK237"}  # the names are not valid host names
    (found,) = [found for found in diagnostics if found.rule == "HK201"]
    assert found.pointer == ("server_list", len(servers) - 1, "device", 7, "rank_id")
    assert_points_right(source, found)
