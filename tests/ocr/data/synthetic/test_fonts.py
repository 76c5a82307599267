"""Texts in fonts of the user: every character is drawn or refused."""

from pathlib import Path

import cv2
import matplotlib as mpl
import numpy as np
import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.synthetic import fonts
from hccl_kit.ocr.data.synthetic.fonts import LARGEST, SMALLEST, Font, Fonts
from hccl_kit.ocr.programs import render_words

TTF = Path(mpl.get_data_path()) / "fonts" / "ttf"
SETS = ("train", "test")
SANS, SIGNS = TTF / "DejaVuSans.ttf", TTF / "cmsy10.ttf"


def test_a_text_is_drawn_from_edge_to_edge() -> None:
    coverage = Font(SANS).coverage("Straße", 30)
    assert coverage.dtype == np.uint8
    assert 20 <= coverage.shape[0] <= 40
    assert coverage[:, :3].any()
    assert coverage[:2].any()
    assert coverage.max() == 255
    assert Font(SANS).coverage("Straße", 15).shape[1] == pytest.approx(coverage.shape[1] / 2, rel=0.1)
    assert not Font(SANS).coverage(" ", 30).any()


def test_a_font_reports_missing_characters() -> None:
    assert Font(SANS).lacks("Ärger") == ""
    assert Font(SANS).lacks("a中b文中") == "中文"


def test_a_text_is_drawn_with_a_font_that_has_all_its_characters() -> None:
    fonts = Fonts([SIGNS, SANS])
    fonts.assert_complete(["word", "été"])
    for seed in range(9):
        found, alone = (some.draw("été", np.random.default_rng(seed)) for some in (fonts, Fonts([SANS])))
        np.testing.assert_array_equal(found, alone)
    sizes = {fonts.draw("été", np.random.default_rng(seed)).shape for seed in range(40)}
    assert len(sizes) > 5
    assert max(height for height, _ in sizes) <= LARGEST * 1.3
    assert min(height for height, _ in sizes) >= SMALLEST * 0.6
    with pytest.raises(KitError, match=r"no font draws '中文': cmsy10\.ttf lacks '中文', DejaVuSans\.ttf lacks '中文'"):
        fonts.assert_complete(["word", "中文"])


@pytest.mark.parametrize("content", [b"", b"no font", None])
def test_a_file_that_is_not_a_font_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "a.ttf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(KitError, match=r"a\.ttf is not a usable font") as caught:
        Font(path)
    assert ".otf" in str(caught.value.hint)


def test_a_text_that_would_fill_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "MAX_PIXELS", 1000)
    assert Font(SANS).coverage("ab", 24).size <= 1000
    with pytest.raises(KitError, match=r"draws 'abcdefgh' in \d+ x \d+ pixels; accepted: up to 1000 in total"):
        Font(SANS).coverage("abcdefgh", 24)


def test_the_program_draws_texts_of_the_user(tmp_path: Path) -> None:
    texts = [f"Größe {number}" for number in range(20)]
    (tmp_path / "texts.txt").write_text("\n".join([*texts, "", "  "]), encoding="utf-8")
    out = tmp_path / "out"
    options = ("--texts", tmp_path / "texts.txt", "--font", SANS, "--train", 30, "--test", 4)
    assert render_words.main(["--output", str(out), *map(str, options)]) == 0
    rows = {name: [row.split("\t") for row in (out / f"{name}_gt.txt").read_text().splitlines()] for name in SETS}
    assert [text for _, text in rows["test"]] == [texts[0], texts[10], texts[0], texts[10]]
    assert {text for _, text in rows["train"]} <= set(texts) - {texts[0], texts[10]}
    for name, found in rows.items():
        assert all(cv2.imread(str(out / name / path)) is not None for path, _ in found)


def test_the_program_draws_strings_of_a_dictionary(tmp_path: Path) -> None:
    (tmp_path / "dict.txt").write_text("α\nβ\nγ\n", encoding="utf-8")
    options = ("--dict", tmp_path / "dict.txt", "--font", SANS, "--train", 20, "--test", 5)
    assert render_words.main(["--output", str(tmp_path / "out"), *map(str, options)]) == 0
    rows = [row for name in SETS for row in (tmp_path / "out" / f"{name}_gt.txt").read_text().splitlines()]
    assert set("".join(row.split("\t")[1] for row in rows)) == set("αβγ")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--texts", "foreign.txt"], "'中文' is not ASCII"),
        (["--texts", "foreign.txt", "--font", SANS], "no font draws '中文'"),
        (["--dict", "split.txt", "--font", SANS, SIGNS], "no font draws"),
        (["--texts", "one.txt"], "one.txt holds 1 text;"),
        (["--texts", "tab.txt"], "cannot contain a TAB"),
        (["--texts", "gone.txt"], "gone.txt"),
        (["--dict", "gb2312", "--font", SANS], "no font draws '啊'"),
        (["--dict", "gb2312"], "is not ASCII"),
        (["--dict", "empty.txt"], "the dictionary empty.txt holds no character"),
        (["--font", "one.txt"], "one.txt is not a usable font"),
    ],
)
def test_the_program_refuses_texts_that_it_cannot_draw(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[object],
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"foreign": "a\n中文\n", "one": "a\n", "tab": "a\nb\tc\n", "empty": "\n", "split": "a\n中\n"}
    for name, text in files.items():
        Path(f"{name}.txt").write_text(text, encoding="utf-8")
    assert render_words.main(["--output", "out", *map(str, options)]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("error: ")
    assert expected in errors
    assert not (tmp_path / "out").exists()
