"""Weights and dictionaries that do not match a configuration: one error each, and nothing is trained.

One process runs the programs one after the other: imports would take most of the time of each.
"""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from hccl_kit.ocr import config
from hccl_kit.ocr.checkpoints import checkpoint, dictionary_mark
from hccl_kit.ocr.tasks import recipes
from tests.ocr.run_tool import CONFIG, refusals

pytestmark = pytest.mark.train

OTHER = "has the weights of another network: layer 1 of the file is a convolution 4x3x3x3 with bias"
WEIGHTS = {
    "another_size.ckpt": "another_size.ckpt does not fit",
    "another_network.ckpt": "another_network.ckpt does not fit",
    "another_dictionary.ckpt": "the dictionary of the file has no character in common with the configuration's",
    "no_dictionary.ckpt": "no_dictionary.ckpt is damaged: its dictionary is not one",
    "cut.ckpt": "cut.ckpt is damaged or not a checkpoint: its checksum is cut off",
    "flipped.ckpt": "flipped.ckpt is damaged or not a checkpoint: ",
    "another_network.onnx": OTHER,
    "cut.onnx": "cut.onnx is damaged or not an ONNX file",
    "text.onnx": "text.onnx is damaged or not an ONNX file",
    "another_network.safetensors": "does not fit this network",
    "cut.safetensors": "cut.safetensors is damaged or not a safetensors file",
}
DICTIONARIES = {
    "pairs.txt": "pairs.txt:1: expected one character, found 'ab'",
    "short.txt": "model.head.out_channels is 37, but the dictionary makes 4 for CTCHead",
    "twice.txt": "lists 'a' twice",
    "binary.txt": "binary.txt",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that WEIGHTS and DICTIONARIES name."""
    toy = pytest.importorskip("tests.ocr.adapt.test_onnx_weights", reason="needs onnx")
    folder = tmp_path_factory.mktemp("bad")
    loaded = config.load(CONFIG)
    own = list(recipes.network(loaded).get_parameters())
    digest = recipes.task(loaded).dictionary
    small = recipes.network(config.load(CONFIG, ["model.neck.hidden_size=8"])).get_parameters()
    checkpoint.save(folder / "another_size.ckpt", small)
    checkpoint.save(folder / "another_network.ckpt", [row for row in own if not row.name.startswith("backbone.")])
    greek = recipes.task(loaded).characters.translate(
        {97 + n: 0x3B1 + n for n in range(26)} | {48 + n: 0x391 + n for n in range(10)}
    )
    mark = dictionary_mark.mark(_digest(greek), greek)
    checkpoint.save(folder / "another_dictionary.ckpt", [*own, *mark])
    checkpoint.save(folder / "no_dictionary.ckpt", [*own, *dictionary_mark.mark(_digest("abc"), "aaa")])
    checkpoint.save(folder / "cut.ckpt", [*own, *dictionary_mark.mark(digest)])
    checkpoint.save(folder / "flipped.ckpt", own)
    data = bytearray((folder / "flipped.ckpt").read_bytes())
    data[len(data) // 2] ^= 1
    (folder / "flipped.ckpt").write_bytes(data)
    toy.write(folder / "another_network.onnx", characters="a\nb\nc")
    toy.write(folder / "cut.onnx", characters="a\nb\nc")
    (folder / "text.onnx").write_text("no weights")
    save_file({"head.weight": np.zeros((37, 192), np.float32)}, folder / "another_network.safetensors")
    save_file({"head.weight": np.zeros((37, 192), np.float32)}, folder / "cut.safetensors")
    for path in folder.glob("cut.*"):
        os.truncate(path, path.stat().st_size // 2)
    (folder / "pairs.txt").write_text("ab\n")
    (folder / "short.txt").write_text("a\nb\nc\n")
    (folder / "twice.txt").write_text("a\n" * 36)
    (folder / "binary.txt").write_bytes(b"\xff\n" * 36)
    return folder


def _digest(characters: str) -> str:
    return hashlib.sha256(characters.encode()).hexdigest()


def test_each_mismatch_is_one_error(files: Path, words: Path, run: Path, tmp_path: Path) -> None:
    places = [f"{section}.dataset.dataset_root={words}" for section in ("train", "eval")]
    cases = [
        (verb, f"{key}={files / name}", message)
        for name, message in WEIGHTS.items()
        for verb, key in (("train", "model.pretrained"), ("eval", "eval.ckpt_load_path"))
    ]
    cases += [
        (verb, f"common.character_dict_path={files / name}", message)
        for name, message in DICTIONARIES.items()
        for verb in ("train", "eval")
    ]
    target = [f"train.ckpt_save_dir={tmp_path / 'run'}", f"eval.ckpt_load_path={run / 'best.ckpt'}"]
    commands = [[verb, "-c", CONFIG, "-o", *places, *target, override] for verb, override, _ in cases]
    for (verb, override, message), errors in zip(cases, refusals(*commands, heavy=()), strict=True):
        line = next(line for line in errors.split("\n") if line.startswith("error: "))
        assert message in line, (verb, override, errors)
        key = override.partition("=")[0].rpartition(".")[2]
        assert key in errors or str(files) in errors, (verb, override, errors)
        assert "model.pretrained" not in errors or verb == "train", (verb, override, errors)
    assert list((tmp_path / "run").iterdir()) == []
