"""Label files: every accepted format, and errors with their line."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data import samples
from hccl_kit.ocr.data.lines.line_sources import read_lines
from hccl_kit.ocr.data.samples import numbered_lines, share, sources


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


@pytest.fixture
def dataset(tmp_path: Path) -> dict[str, Any]:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / f"{name}.txt").touch()
    return {"dataset_root": str(tmp_path), "data_dir": "one", "label_file": "one.txt"}


def test_a_single_source_is_used_completely(dataset: dict[str, Any], tmp_path: Path) -> None:
    assert sources(dataset) == [(tmp_path / "one.txt", tmp_path / "one", 1.0)]


def test_folder_and_share_apply_to_each_label_file_or_to_all(dataset: dict[str, Any], tmp_path: Path) -> None:
    labels = {"label_file": ["one.txt", "two.txt"]}
    own = sources(dataset | labels | {"data_dir": ["one", "two"], "sample_ratio": [1.0, 0.5]})
    assert own == [(tmp_path / "one.txt", tmp_path / "one", 1.0), (tmp_path / "two.txt", tmp_path / "two", 0.5)]
    alike = sources(dataset | labels | {"sample_ratio": 0.5})
    assert alike == [(tmp_path / "one.txt", tmp_path / "one", 0.5), (tmp_path / "two.txt", tmp_path / "one", 0.5)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label_file": "no.txt"}, "there is no label file or folder .*no.txt"),
        ({"label_file": ""}, "label_file is empty"),
        ({"data_dir": "one.txt"}, "data_dir .*one.txt is not a folder"),
        (
            {"label_file": ["one.txt"] * 3, "data_dir": ["one"] * 2},
            "3 label_file, 2 data_dir and 1 sample_ratio differ in number",
        ),
        ({"sample_ratio": [0.5, 0.5]}, "1 label_file, 1 data_dir and 2 sample_ratio"),
    ],
)
def test_missing_and_inconsistent_settings_are_named(
    dataset: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    with pytest.raises(KitError, match=message):
        sources(dataset | change)


@given(st.integers(0, 300), st.floats(0, 1))
def test_a_share_has_its_size_and_is_spread_evenly(count: int, ratio: float) -> None:
    chosen = share(count, ratio)
    assert len(chosen) == int(count * ratio + 1e-9)
    assert len(set(chosen.tolist())) == len(chosen)
    for middle in range(count):
        assert abs(int((chosen < middle).sum()) - middle * ratio) <= 1 + 1e-6


@given(st.integers(0, 100), st.floats(1, 7))
def test_a_share_above_1_repeats_samples_equally(count: int, ratio: float) -> None:
    chosen = share(count, ratio)
    assert len(chosen) == int(count * ratio + 1e-9)
    assert (np.diff(chosen) >= 0).all()
    times = np.bincount(chosen, minlength=count)
    assert ((times == int(ratio)) | (times == int(ratio) + 1) | (abs(times - ratio) < 1e-6)).all()
