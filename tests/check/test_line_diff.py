"""The diff has the unified format, takes linear time and has a bounded size."""

import difflib
import time

from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.check.line_diff import MAX_CHANGED, line_diff


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_equals_the_unified_diff_of_difflib(is_changed: list[bool]) -> None:
    before = [f"line {n}" for n in range(len(is_changed))]
    after = [
        f"changed {n}" if change else line for n, (line, change) in enumerate(zip(before, is_changed, strict=True))
    ]
    lines = list(line_diff("\n".join(before) + "\n", "\n".join(after) + "\n", "t.json"))
    expected = difflib.unified_diff(before, after, "t.json", "t.json", lineterm="")
    # Only the header of a hunk of one line is written shorter there.
    assert [line.replace(",1 ", " ") for line in lines] == [line.replace(",1 ", " ") for line in expected]


def test_many_changes_are_counted() -> None:
    lines = list(line_diff("a\n" * 200_000, "b\n" * 200_000, "t.json"))
    assert sum(line.startswith("-a") for line in lines) == MAX_CHANGED
    assert lines[-1] == f"... and {200_000 - MAX_CHANGED} more changed lines"
    assert len(lines) == 2 * MAX_CHANGED + 4


def test_a_long_line_is_cut_around_its_change() -> None:
    begin = time.process_time()
    before, after = ("x" * 5_000_000 + word + "y" * 100 for word in ("old", "new"))
    lines = list(line_diff(before, after, "t.json"))
    assert time.process_time() - begin < 5
    assert max(map(len, lines)) < 300
    assert "old" in lines[3]
    assert "new" in lines[4]
    assert lines[3].startswith("-...x")


def test_control_characters_are_replaced() -> None:
    lines = list(line_diff("\x1b[31m\n\ufeff\r\n", "\x1b[32m\n\r\n", "a\x1b.json"))
    assert all(line.isprintable() for line in lines)
    assert lines[-2:] == ["+\N{REPLACEMENT CHARACTER}[32m", "+"]
