"""Label files: every accepted format, and errors with their line."""

import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data import samples
from hccl_kit.ocr.data.lines.line_sources import read_lines
from hccl_kit.ocr.data.samples import numbered_lines


def section(root: Path, content: bytes | None) -> dict[str, Any]:
    (root / "images").mkdir(exist_ok=True)
    if content is not None:
        (root / "gt.txt").write_bytes(content)
    return {"type": "RecDataset", "dataset_root": str(root), "label_file": "gt.txt", "data_dir": "images"}


def pairs(root: Path, content: bytes) -> list[tuple[str, str]]:
    return [(str(s.path.relative_to(root / "images")), s.text) for s in read_lines(section(root, content))]


def refusal(values: dict[str, Any]) -> str:
    with pytest.raises(KitError) as caught:
        read_lines(values)
    return caught.value.message


@pytest.mark.parametrize(
    "content",
    [
        b"a.png\tone\nsub/b.png\ttwo words\n",
        b"a.png\tone\nsub/b.png\ttwo words",
        b"\xef\xbb\xbfa.png\tone\nsub/b.png\ttwo words\n",
        b"a.png\tone\r\nsub/b.png\ttwo words\r\n",
        b"\n  \na.png\tone\n\nsub/b.png\ttwo words\n\n",
    ],
    ids=["plain", "no last line end", "BOM", "CRLF", "empty lines"],
)
def test_a_label_file_is_read(tmp_path: Path, content: bytes) -> None:
    assert pairs(tmp_path, content) == [("a.png", "one"), ("sub/b.png", "two words")]


texts = st.text(st.characters(blacklist_characters="\r\n", blacklist_categories=["Cs"]))


@given(st.lists(texts, min_size=1, max_size=5))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_without_a_line_break_round_trips(tmp_path: Path, written: list[str]) -> None:
    content = "".join(f"{n}.png\t{text}\n" for n, text in enumerate(written))
    assert [text for _, text in pairs(tmp_path, content.encode())] == written


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a.png\tx\nb.png y\n", ":2: expected path TAB text, found 'b.png y'"),
        (b"\n\tx\n", ":2: expected path TAB text, found '\\tx'"),
        (b"a.png\tx\r\n\r\nb.png\r\n", ":3: expected path TAB text, found 'b.png'"),
        (b"", " holds no samples"),
        (b"\n\n", " holds no samples"),
        (b"a.png\t\xff\n", " is not UTF-8: byte 6"),
    ],
)
def test_an_invalid_label_file_is_named_with_its_line(tmp_path: Path, content: bytes, expected: str) -> None:
    message = refusal(section(tmp_path, content))
    assert str(tmp_path / "gt.txt") + expected in message


def test_a_missing_label_file_comes_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(KitError, match=f"there is no label file or folder {tmp_path / 'gt.txt'}") as caught:
        read_lines(section(tmp_path, None))
    assert "hccl-kit render-words" in (caught.value.hint or "")


def test_empty_lines_take_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "MAX_BYTES", 1 << 19)
    (tmp_path / "gt.txt").write_bytes(b"\n" * 500_000 + b"a.png\tx")
    tracemalloc.start()
    found = list(numbered_lines(tmp_path / "gt.txt"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == [(500_001, "a.png\tx")]
    assert peak < 2_000_000, "bytes and text, and nothing for each line"
