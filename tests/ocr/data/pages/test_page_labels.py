"""Label files of detection: every format, and the reports of pages that are skipped."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.io import savemat

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.pages.page_labels import parse_json, parse_rows, read_pages
from hccl_kit.ocr.data.pages.pages import Region
from hccl_kit.ocr.data.samples import BadSampleError

QUAD = "1,2,11,2,11,9,1,9"
CORNERS = [[1, 2], [11, 2], [11, 9], [1, 9]]


def folders(root: Path, labels: dict[str, bytes], images: Sequence[str] | None = None) -> dict[str, Any]:
    """A section `dataset` with folders like those of ICDAR 2015; the images are empty files."""
    (root / "gt").mkdir(exist_ok=True)
    (root / "images").mkdir(exist_ok=True)
    for name, content in labels.items():
        (root / "gt" / f"gt_{name}.txt").write_bytes(content)
    for name in labels if images is None else images:
        (root / "images" / f"{name}.jpg").touch()
    return {"dataset_root": str(root), "label_file": "gt", "data_dir": "images"}


def lines(root: Path, *rows: str, name: str = "det_gt.txt") -> dict[str, Any]:
    (root / "images").mkdir(exist_ok=True)
    (root / name).write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return {"dataset_root": str(root), "label_file": name, "data_dir": "images"}


def row_of(*regions: Region) -> str:
    return json.dumps([{"transcription": text, "points": corners} for text, corners in regions], ensure_ascii=False)


@pytest.mark.parametrize(
    "content",
    [
        f"{QUAD},guardian\n{QUAD},###\n".encode(),
        f"\ufeff{QUAD},guardian\r\n{QUAD},###\r\n".encode(),
        f"\n{QUAD},guardian\n  \n{QUAD},###".encode(),
        f" 1.0, 2 ,11,2.,11,9,1,9,guardian\n{QUAD},###".encode(),
    ],
    ids=["plain", "BOM and CRLF", "empty lines", "fractions and blanks"],
)
def test_reads_a_folder_of_label_files(tmp_path: Path, content: bytes) -> None:
    [page], bad = read_pages(folders(tmp_path, {"img_1": content}))
    assert bad == []
    assert page.path == tmp_path / "images" / "img_1.jpg"
    assert page.polys.tolist() == [CORNERS, CORNERS]
    assert page.texts == ("guardian", "###")
    assert page.ignored.tolist() == [False, True]
    assert page.image is None


def test_regions_beyond_the_size_limit_are_not_parsed() -> None:
    with pytest.raises(BadSampleError, match="regions of 4194305 characters; accepted: up to 4194304"):
        parse_json("[" * (1 << 22 | 1))


def test_a_text_may_contain_commas_or_be_empty() -> None:
    assert [text for text, _ in parse_rows(f"{QUAD},RM 1,000.00, net\n{QUAD},")] == ["RM 1,000.00, net", ""]


def test_pages_are_sorted_by_their_numbers(tmp_path: Path) -> None:
    pages, _ = read_pages(folders(tmp_path, {f"img_{n}": f"{QUAD},x".encode() for n in (10, 9, 100, 1)}))
    assert [page.path.stem for page in pages] == ["img_1", "img_9", "img_10", "img_100"]


def test_names_with_the_same_numbers_have_one_order(tmp_path: Path) -> None:
    """That of a set differs between processes, and a resumed run and all ranks need the same."""
    names = [f"img_{'0' * zeros}1" for zeros in range(8, -1, -1)]
    pages, _ = read_pages(folders(tmp_path, dict.fromkeys(names, QUAD.encode() + b",a")))
    assert [page.path.stem for page in pages] == names


@pytest.mark.parametrize("backwards", [False, True])
def test_of_two_images_with_one_name_all_hosts_take_the_same(
    backwards: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = folders(tmp_path, {"img_1": QUAD.encode() + b",a"})
    (jpg,) = (tmp_path / "images").iterdir()
    (tmp_path / "images" / "img_1.png").write_bytes(jpg.read_bytes())
    listed = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda path: iter(sorted(listed(path), reverse=backwards)))
    pages, bad = read_pages(dataset)
    assert [page.path.name for page in pages] == ["img_1.png"]
    assert bad == [f"{jpg}: {jpg.with_suffix('.png')} is of the same page, and is taken"]


def test_labels_need_no_prefix(tmp_path: Path) -> None:
    dataset = folders(tmp_path, {"img_1": b""}, ["X001"])
    (tmp_path / "gt" / "gt_img_1.txt").rename(tmp_path / "gt" / "X001.txt")
    [page], bad = read_pages(dataset)
    assert (page.path.name, len(page.polys), bad) == ("X001.jpg", 0, [])


def test_reads_a_det_gt_file(tmp_path: Path) -> None:
    hexagon: list[list[float]] = [[0, 0], [5.5, 0], [9, 4], [5, 8], [0, 8], [-1, 4]]
    row = row_of(("größe", CORNERS), ("*", hexagon))
    [first, second], bad = read_pages(lines(tmp_path, f"a.jpg\t{row}", "", "sub/b.jpg\t[]"))
    assert bad == []
    assert [page.path for page in (first, second)] == [tmp_path / "images" / name for name in ("a.jpg", "sub/b.jpg")]
    assert first.texts == ("größe", "*")
    assert first.ignored.tolist() == [False, True]
    assert first.polys.tolist() == [[*CORNERS, [1, 9], [1, 9]], hexagon]
    assert len(second.polys) == 0


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b"1,2,3,4,5,6,7,8\n", "line 1: expected x1,y1,x2,y2,x3,y3,x4,y4,text, found '1,2,3,4,5,6,7,8'"),
        (f"{QUAD},x\n1,2,three,4,5,6,7,8,x".encode(), "line 2: expected x1,y1"),
        ("١,2,3,4,5,6,7,8,x".encode(), "line 1: expected x1,y1"),
        (b"1,2,3,4,5,6,7,inf,x", "line 1: expected x1,y1"),
        (b"1,2,3,4,5,6,7,999999999,x", "region 1 has coordinates beyond 1048576"),
        (b"\xff", "is not UTF-8: byte 0"),
    ],
)
def test_a_page_with_invalid_rows_is_skipped_and_named(tmp_path: Path, row: bytes, reason: str) -> None:
    pages, [bad] = read_pages(folders(tmp_path, {"img_1": f"{QUAD},x".encode(), "img_2": row}))
    assert [page.path.stem for page in pages] == ["img_1"]
    assert str(tmp_path / "images" / "img_2.jpg") in bad
    assert reason in bad


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("{", "the regions are not JSON"),
        ("[" * 100_000, "the regions are not JSON"),
        ("{}", "expected a JSON list of regions, found '{}'"),
        ("[1]", "region 1 has no transcription: 1"),
        ('[{"points": [[1, 2], [3, 4], [5, 6]]}]', "region 1 has no transcription"),
        (row_of(("a", CORNERS), ("b", [[1, 2], [3, 4]])), "region 2: points must be three or more [x, y]"),
        (row_of(("a", [[1, 2], [3, 4], [5]])), "region 1: points must be"),
        ('[{"transcription": "a", "points": [[1, 2], [3, 4], [5, true]]}]', "region 1: points must be"),
        ('[{"transcription": "a", "points": "abc"}]', "region 1: points must be"),
        ('[{"transcription": "a", "points": [[1, 2], [3, 4], [5, NaN]]}]', "region 1 has coordinates beyond"),
        ('[{"transcription": "a", "points": [[1, 2], [3, 4], [5, 1e999]]}]', "region 1 has coordinates beyond"),
        (row_of(("a", [[1, 2]] * 257)), "region 1 has 257 corners; accepted: up to 256"),
        (row_of(*[("a", CORNERS)] * 10_001), "10001 text regions; accepted: up to 10000"),
    ],
)
def test_a_line_with_invalid_regions_is_skipped_and_named(tmp_path: Path, label: str, reason: str) -> None:
    [page], [bad] = read_pages(lines(tmp_path, f"a.jpg\t{label}", f"b.jpg\t{row_of(('x', CORNERS))}"))
    assert page.path.name == "b.jpg"
    assert bad.startswith(f"{tmp_path / 'images' / 'a.jpg'}: ")
    assert reason in bad


def test_a_line_without_a_tab_is_skipped_with_its_number(tmp_path: Path) -> None:
    _, bad = read_pages(lines(tmp_path, "b.jpg\t[]", "a.jpg []"))
    assert bad == [f"{tmp_path / 'det_gt.txt'}:2: expected path TAB regions, found 'a.jpg []'"]


@given(st.text())
def test_any_text_gives_regions_or_a_bad_sample(text: str) -> None:
    """No other exception is raised."""
    for parse in (parse_rows, parse_json):
        try:
            parse(text)
        except BadSampleError as error:
            assert str(error)


coordinates = st.integers(-1000, 9000)
regions = st.lists(
    st.tuples(
        st.text(st.characters(blacklist_characters="\r\n", blacklist_categories=["Cs"])),
        st.lists(st.lists(coordinates, min_size=2, max_size=2), min_size=4, max_size=4),
    ),
    max_size=5,
)


@given(regions)
def test_written_labels_round_trip(written: list[Region]) -> None:
    assert parse_json(row_of(*written)) == written
    rows = [",".join([*(str(value) for corner in corners for value in corner), text]) for text, corners in written]
    assert parse_rows("\n".join(rows)) == written


def test_unpaired_images_and_labels_are_named(tmp_path: Path) -> None:
    pages, bad = read_pages(folders(tmp_path, {"img_1": b"", "img_2": b""}, ["img_1", "img_3"]))
    assert [page.path.stem for page in pages] == ["img_1"]
    assert bad == [
        f"{tmp_path}/gt/gt_img_2.txt: {tmp_path}/images has no image img_2.jpg",
        f"{tmp_path}/images/img_3.jpg: {tmp_path}/gt has no .txt file of it",
    ]


def test_labels_without_any_usable_page_are_refused(tmp_path: Path) -> None:
    with pytest.raises(KitError, match=r"no page of gt can be used; the first: .*img_1\.jpg: line 1: expected"):
        read_pages(folders(tmp_path, {"img_1": b"x"}))
    with pytest.raises(KitError, match=r"no page of det_gt\.txt can be used$"):
        read_pages(lines(tmp_path))


def test_several_sources_have_their_own_share(tmp_path: Path) -> None:
    first = lines(tmp_path, *(f"a{n}.jpg\t[]" for n in range(10)), name="a.txt")
    lines(tmp_path, *(f"b{n}.jpg\t[]" for n in range(10)), name="b.txt")
    (tmp_path / "other").mkdir()
    dataset = first | {"label_file": ["a.txt", "b.txt"], "data_dir": ["images", "other"], "sample_ratio": [1.0, 0.2]}
    pages, _ = read_pages(dataset)
    assert [page.path.parent.name for page in pages] == ["images"] * 10 + ["other"] * 2
    shared_folder, _ = read_pages(dataset | {"data_dir": "images", "sample_ratio": 0.5})
    assert len(shared_folder) == 10


def test_a_split_divides_the_pages(tmp_path: Path) -> None:
    dataset = lines(tmp_path, *(f"{n}.jpg\t[]" for n in range(10)))
    parts = [read_pages(dataset | {"split": split})[0] for split in ([0, 0.7], [0.7, 1])]
    assert [len(part) for part in parts] == [7, 3]
    assert len({page.path for part in parts for page in part}) == 10
    with pytest.raises(KitError, match="split leaves no page"):
        read_pages(dataset | {"split": [0.5, 0.5]})


@pytest.mark.parametrize(
    ("name", "part", "counts"),
    [
        ("ic15", "training", (170, 1957, 1254)),
        ("ic15", "test", (67, 586, 345)),
        ("sroie", "training", (150, 8145)),
        ("sroie", "test", (45, 2461)),
    ],
)
def test_the_real_data_sets_are_read_completely(corpus: Path, name: str, part: str, counts: tuple[int, ...]) -> None:
    labels = {"training": "ch4_training_localization_transcription_gt", "test": "Challenge4_Test_Task1_GT"}
    root = corpus / "data" / "det" / name
    dataset = {"dataset_root": str(root), "label_file": labels[part], "data_dir": f"ch4_{part}_images"}
    pages, bad = read_pages(dataset)
    found = (len(pages), sum(len(page.polys) for page in pages), sum(int(page.ignored.sum()) for page in pages))
    assert found[: len(counts)] == counts
    assert bad == []


WORD = np.array([[1, 2], [11, 2], [11, 9], [1, 9]], float)
WORDS = np.stack([WORD, WORD + 20]).transpose(2, 1, 0)


def cells(*values: Any) -> np.ndarray[Any, Any]:
    row = np.empty((1, len(values)), object)
    row[0, :] = values
    return row


def file(root: Path, *, compressed: bool = True, **columns: Any) -> dict[str, Any]:
    """A section `dataset`; wordBB is 2 x 4 x words, or 2 x 4 for one word, like in the file of SynthText."""
    rows = {
        "imnames": cells("8/a.jpg", "8/b.jpg"),
        "wordBB": cells(WORDS, WORD.T),
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
    np.testing.assert_array_equal(pages[0].polys, np.stack([WORD, WORD + 20]))
    np.testing.assert_array_equal(pages[1].polys, WORD[None])
    assert len(read_pages({**file(tmp_path), "sample_ratio": 0.5})[0]) == 1


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"txt": cells(np.array(["one"]), np.array(["two"]))}, "2 boxes and 1 words; expected the same number of each"),
        ({"wordBB": cells(np.zeros((3, 4, 2)), WORD.T)}, "wordBB must be 2 x 4 x words"),
        ({"wordBB": cells(np.array(["x"]), WORD.T)}, "wordBB must be 2 x 4 x words"),
        ({"wordBB": cells(WORDS * 1e9, WORD.T)}, "region 1 has coordinates beyond"),
        ({"wordBB": cells(WORDS * np.nan, WORD.T)}, "region 1 has coordinates beyond"),
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
    pages, _ = read_pages(file(tmp_path, wordBB=cells(np.zeros((2, 4, 0)), WORD.T), txt=cells("", np.array(["two"]))))
    assert [page.texts for page in pages] == [(), ("two",)]
