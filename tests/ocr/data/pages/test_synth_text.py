"""SynthText's MATLAB file: its pages, pages that are skipped and named, and invalid files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.io import savemat

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.pages.page_labels import read_pages

QUAD = np.array([[1, 2], [11, 2], [11, 9], [1, 9]], float)
WORDS = np.stack([QUAD, QUAD + 20]).transpose(2, 1, 0)


def cells(*values: Any) -> np.ndarray[Any, Any]:
    row = np.empty((1, len(values)), object)
    row[0, :] = values
    return row


def file(root: Path, *, compressed: bool = True, **columns: Any) -> dict[str, Any]:
    """A section `dataset`; wordBB is 2 x 4 x words, or 2 x 4 for one word, like in the file of SynthText."""
    rows = {
        "imnames": cells("8/a.jpg", "8/b.jpg"),
        "wordBB": cells(WORDS, QUAD.T),
        "txt": cells(np.array(["one \n ###"]), np.array(["two"])),
        "charBB": cells(1, 2),
    }
    root.mkdir(exist_ok=True)
    (root / "images").mkdir(exist_ok=True)
    changed = {name: value for name, value in {**rows, **columns}.items() if value is not None}
    savemat(root / "gt.mat", changed, do_compression=compressed)
    return {"type": "SynthTextDataset", "dataset_root": str(root), "label_file": "gt.mat", "data_dir": "images"}


def test_words_are_read_as_pages(tmp_path: Path) -> None:
    pages, bad = read_pages(file(tmp_path))
    assert bad == []
    assert [page.path for page in pages] == [tmp_path / "images/8/a.jpg", tmp_path / "images/8/b.jpg"]
    assert [page.texts for page in pages] == [("one", "###"), ("two",)]
    assert [page.ignored.tolist() for page in pages] == [[False, False], [False]]
    np.testing.assert_array_equal(pages[0].polys, np.stack([QUAD, QUAD + 20]))
    np.testing.assert_array_equal(pages[1].polys, QUAD[None])
    assert len(read_pages({**file(tmp_path), "sample_ratio": 0.5})[0]) == 1


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"txt": cells(np.array(["one"]), np.array(["two"]))}, "2 boxes and 1 words; expected the same number of each"),
        ({"wordBB": cells(np.zeros((3, 4, 2)), QUAD.T)}, "wordBB must be 2 x 4 x words"),
        ({"wordBB": cells(np.array(["x"]), QUAD.T)}, "wordBB must be 2 x 4 x words"),
        ({"wordBB": cells(WORDS * 1e9, QUAD.T)}, "region 1 has coordinates beyond"),
        ({"wordBB": cells(WORDS * np.nan, QUAD.T)}, "region 1 has coordinates beyond"),
        ({"imnames": cells(3.5, "8/b.jpg")}, "imnames must hold texts"),
        ({"imnames": cells(cells("8/a.jpg"), "8/b.jpg")}, "image 1: imnames must hold texts"),
        ({"imnames": cells(np.array(["8/a", "jpg"]), "8/b.jpg")}, "image 1: imnames must hold texts"),
        ({"txt": cells(1.5, np.array(["two"]))}, "txt must hold texts"),
    ],
)
def test_a_page_that_cannot_be_used_is_named(tmp_path: Path, columns: dict[str, Any], reason: str) -> None:
    pages, (bad,) = read_pages(file(tmp_path, **columns))
    assert [page.texts for page in pages] == [("two",)]
    assert reason in bad


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"txt": None}, "has no variable txt"),
        ({"wordBB": None, "txt": None}, "has no variable wordBB, txt"),
        ({"txt": np.eye(2)}, "txt is not an array of 1 to 10000000 cells"),
        ({"txt": cells(np.array(["two"]))}, "holds 2 imnames, 2 wordBB, 1 txt; expected the same number of each"),
    ],
)
def test_a_file_without_its_columns_is_refused(tmp_path: Path, columns: dict[str, Any], reason: str) -> None:
    with pytest.raises(KitError, match=reason):
        read_pages(file(tmp_path, **columns))


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6), st.integers(0, 255), st.booleans(), st.booleans())
def test_damage_never_causes_a_traceback(
    tmp_path: Path, place: int, byte: int, cut: bool, compressed: bool
) -> None:  # fmt: skip
    dataset = file(tmp_path, compressed=compressed)
    data = bytearray((tmp_path / "gt.mat").read_bytes())
    data[place % len(data)] = byte
    (tmp_path / "gt.mat").write_bytes(data[: place % len(data)] if cut else data)
    try:
        read_pages(dataset)
    except KitError as error:
        assert str(tmp_path) in error.message or "no page" in error.message


def test_a_page_may_have_no_words(tmp_path: Path) -> None:
    pages, _ = read_pages(file(tmp_path, wordBB=cells(np.zeros((2, 4, 0)), QUAD.T), txt=cells("", np.array(["two"]))))
    assert [page.texts for page in pages] == [(), ("two",)]
