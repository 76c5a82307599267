"""Rendered words: they depend only on the generator, and every word is legible."""

import signal
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.ocr.charset import ALPHANUMERIC, Charset
from hccl_kit.ocr.data.lines.line_sources import read_lines
from hccl_kit.ocr.data.synthetic import render
from hccl_kit.ocr.data.synthetic.render import LONGEST_LINE, rendered_lines
from hccl_kit.ocr.programs import render_words
from tests.launch.jobs import clean_environ
from tests.ocr.run_tool import assert_refused, refusals
from tests.places import ROOT
from tests.program import kit
from tests.waiting import PATIENCE, wait_until

seeds = st.integers(0, 2**32 - 1)


def render_to(folder: Path, *options: object) -> subprocess.CompletedProcess[str]:
    return kit("render-words", "--output", str(folder), *map(str, options), cwd=Path.cwd())


@given(st.sampled_from(render.REAL_WORDS), seeds)
@settings(max_examples=60, deadline=None)
def test_equal_generators_give_equal_images(text: str, seed: int) -> None:
    one, two = (render.render(text, np.random.default_rng(seed)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert one.dtype == np.uint8
    assert one.shape[2] == 3
    assert 25 <= one.shape[0] <= 80
    assert one.shape[1] > 10 * len(text)


def test_words_are_rendered_and_the_command_that_trains_with_them_is_named(tmp_path: Path) -> None:
    (tmp_path / "texts").write_text("Ab\nCd\n")
    out = tmp_path / "my words"
    for texts, lines in (((), 2), (("--texts", tmp_path / "texts", "--force"), 1)):
        done = render_to(out, "--train", 3, "--test", 1, *texts)
        printed = done.stdout.splitlines()
        assert (done.returncode, printed[0], len(printed)) == (0, f"3 training and 1 test images in {out}", lines)
        if not texts:
            assert printed[1] == f"next: hccl-kit train -c rec/crnn/crnn_small.yaml -o 'data={out}'"


def test_a_file_of_too_many_texts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "texts").write_bytes(b"a\n" * 1_000_001)
    done = render_to(tmp_path / "words", "--texts", tmp_path / "texts")
    assert (done.returncode, done.stderr) == (
        2,
        f"error: {tmp_path}/texts holds more than 1000000 texts\n  fix: take a sample: shuf -n 100000\n",
    )


def test_a_text_that_is_too_long_to_be_drawn_is_refused(tmp_path: Path) -> None:
    (tmp_path / "texts").write_text("short\n" + "x" * 3000 + "\n")
    done = render_to(tmp_path / "words", "--texts", tmp_path / "texts", "--train", 1)
    assert_refused(done, 2, f"error: '{'x' * 40}' and so on, 3000 characters, would be drawn in ", "fix: draw shorter")
    assert not list((tmp_path / "words").iterdir())


def test_a_terminated_rendering_leaves_nothing(tmp_path: Path) -> None:
    """A time limit sends SIGTERM; the images so far stayed in hidden folders."""
    command = [sys.executable, "-m", "hccl_kit", "render-words", "-o", str(tmp_path / "words"), "--train", "1000000"]
    with subprocess.Popen(command, env=clean_environ({"PYTHONPATH": str(ROOT)}), stderr=subprocess.PIPE) as process:
        try:
            assert wait_until(lambda: any(tmp_path.glob("words/.train.*/*.png")))
            process.send_signal(signal.SIGTERM)
            _, message = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (process.returncode, message.decode().splitlines()[-1]) == (143, "terminated; nothing was written")
    assert not list((tmp_path / "words").iterdir())


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_ink_differs_from_paper(seed: int) -> None:
    image = render.render("word", np.random.default_rng(seed)).astype(float).mean(axis=2)
    assert np.percentile(image, 99) - np.percentile(image, 1) > 50


def test_different_generators_give_different_images() -> None:
    images = [render.render("word", np.random.default_rng(seed)) for seed in range(20)]
    assert len({image.tobytes() for image in images}) == 20


@given(seeds)
def test_random_texts_use_the_dictionary_and_every_length(seed: int) -> None:
    generator = np.random.default_rng(seed)
    texts = [render.random_text(generator) for _ in range(200)]
    assert {len(text) for text in texts} == set(range(render.SHORTEST, render.LONGEST + 1))
    assert set("".join(texts)) == set(ALPHANUMERIC)


def test_random_texts_are_not_real_words() -> None:
    generator = np.random.default_rng(0)
    assert not {render.random_text(generator) for _ in range(50_000)} & set(render.REAL_WORDS)


def test_real_words_use_the_dictionary() -> None:
    charset = Charset.load(None, use_space_char=False)
    assert all(charset.decode(charset.encode(word, lower=False)) == word for word in render.REAL_WORDS)
    assert len(set(render.REAL_WORDS)) == len(render.REAL_WORDS)
    assert max(map(len, render.REAL_WORDS)) <= 12  # max_text_len of crnn_small.yaml


def test_the_common_chinese_characters_are_ideographs_in_standard_order() -> None:
    common = render_words.common_chinese()
    assert len(common) == len(set(common)) == 3755
    assert (common[0], common[-1]) == ("啊", "座")
    assert all("\u4e00" <= character <= "\u9fff" for character in common)


def section(root: Path, name: str) -> dict[str, str]:
    return {"type": "RecDataset", "dataset_root": str(root), "label_file": f"{name}_gt.txt", "data_dir": name}


def test_the_program_writes_a_set_for_training_and_one_of_real_words(words: Path) -> None:
    train, test = (list(read_lines(section(words, name))) for name in ("train", "test"))
    assert (len(train), len(test)) == (96, 20)
    assert all(sample.path.is_file() for sample in (*train, *test))
    assert [sample.text for sample in test] == list(render.REAL_WORDS[:20])
    assert not {sample.text for sample in train} & set(render.REAL_WORDS)


def test_the_program_is_reproducible(words: Path, tmp_path: Path) -> None:
    done = render_to(tmp_path / "again", "--train", 5, "--test", 3, "--seed", 3)
    assert done.returncode == 0
    assert "5 training and 3 test images" in done.stdout
    for name in ("train/00004.png", "test/00002.png"):
        assert (tmp_path / "again" / name).read_bytes() == (words / name).read_bytes()


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--train", "0"], "--train and --test take 1 to 1000000"),
        (["--test", "1000001"], "--train and --test take 1 to 1000000"),
        ([], "cannot write into"),
    ],
)
def test_the_program_refuses_invalid_arguments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], args: list[str], expected: str
) -> None:
    (tmp_path / "file").write_text("")
    assert render_words.main(["--output", str(tmp_path / "file"), *args]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("error: ")
    assert expected in errors


def test_an_existing_data_set_is_not_overwritten(tmp_path: Path) -> None:
    """Also if only its labels or only its images exist; nothing is drawn before the check."""
    labels, image = tmp_path / "train_gt.txt", tmp_path / "test" / "mine.png"
    image.parent.mkdir()
    for mine in (labels, image):
        mine.write_text("mine")
        (errors,) = refusals(("render_words", "--output", tmp_path, "--train", 2, "--test", 2), heavy=["cv2"])
        assert f"error: --output: {mine if mine == labels else mine.parent} already exists" in errors
        assert "fix: --force overwrites it, or write elsewhere" in errors
        assert mine.read_text() == "mine"
        if mine == labels:
            mine.unlink()
    done = render_to(tmp_path, "--train", 2, "--test", 2, "--force")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in image.parent.iterdir()) == ["00000.png", "00001.png", "mine.png"]
    assert len(labels.read_text().splitlines()) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["test", "test_gt.txt", "train", "train_gt.txt"]


def test_they_are_the_same_everywhere_and_of_many_kinds() -> None:
    lines = rendered_lines(200, seed=0)
    texts = [line.text for line in lines]
    assert texts == [line.text for line in rendered_lines(200, seed=0)]
    assert texts != [line.text for line in rendered_lines(200, seed=1)]
    assert len(set(texts)) > 150
    assert max(map(len, texts)) <= LONGEST_LINE
    for kind in (str.islower, str.isupper, str.istitle):
        assert sum(map(kind, texts)) > 10, kind
    assert sum(any(map(str.isdigit, text)) for text in texts) > 50
    assert sum(" " in text for text in texts) > 50


def test_an_image_is_drawn_when_it_is_read() -> None:
    first, again = (rendered_lines(3, seed=0)[2] for _ in range(2))
    assert first.data is not None
    assert again.data is not None
    assert first.data() == again.data()
    image = cv2.imdecode(np.frombuffer(first.data(), np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    assert 8 <= image.shape[0] <= 26
    assert image.shape[0] < image.shape[1]
