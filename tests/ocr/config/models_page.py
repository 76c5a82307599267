"""The page of all shipped configurations: their sizes, and results that were measured with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import yaml
from mindspore.nn.utils import no_init_parameters

from hccl_kit.ocr import config
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.tasks import line_images, recipes
from tests.places import ROOT

FOLDER = ROOT / "configs"
KNOWN = Path(__file__).with_name("models.yaml")
MINDOCR = "0cdff0e744a637292b7f33a6eb2813349fc707f4"
"""The version of MindOCR whose pages are cited."""
CROPS = {"RandomCropWithBBox": "crop_size", "RandomCropWithMask": "size", "EASTProcessTrain": "length"}
"""Transforms that determine the size of a page in training, and their key for it."""
TOP = """\
# Models

<!-- Written by `pytest tests/ocr/config/test_models_page.py --update-golden` from configs/ and
tests/ocr/config/models.yaml. -->

These are all configurations that hccl_kit contains. `hccl-kit train -c NAME` trains one, with `-o` for the places of
your data; [Train](train.md) says more. "Input" is the size of an image in training, height by width; if a network takes
several widths, a batch has images of similar width. "Parameters" counts all values that a checkpoint of the network
contains.

Measured here: on the test split of the data, on two shared x86 cores without an NPU; the linked page has the command,
the splits and more figures. The standard error is in points, as if lines and texts were independent. Unless the result
is of unseen data, the recipe was chosen on the same split as far as we know, so other data are read worse. MindOCR
publishes: the figures of the linked page, on Ascend cards (910* as it is written there), for the configuration of the
same name (`_ch` for `_zh`); its data and splits are larger, so the columns cannot be compared. An empty cell: we know
of no measurement.

| configuration | network | parameters | input | measured here | MindOCR publishes |
|---|---|---|---|---|---|
"""


class Model(NamedTuple):
    """A row of the page."""

    name: str
    network: str
    parameters: int
    size: tuple[int, int]
    measured: dict[str, Any]
    mindocr: dict[str, str]


def models() -> list[Model]:
    """One model for each configuration, sorted by name."""
    known = yaml.safe_load(KNOWN.read_text(encoding="utf-8"))
    return [_model(name, known[name]) for name in sorted(known)]


def _model(name: str, facts: dict[str, Any]) -> Model:
    loaded = config.load(FOLDER / f"{name}.yaml")
    with no_init_parameters():  # only their sizes are needed, and initialising the values takes most of the time
        parameters = sum(parameter.size for parameter in recipes.network(loaded).get_parameters())
    return Model(name, facts["network"], parameters, _size(loaded), facts.get("measured", {}), facts.get("mindocr", {}))


def _size(loaded: Config) -> tuple[int, int]:
    """Height and width of a training image."""
    if loaded["model"]["type"] != "det":
        height, width = line_images.image_shape(loaded, "train")
        return height, width
    crops = [options[CROPS[name]] for name, options in loaded.transforms("train") if name in CROPS]
    height, width = crops[-1] if isinstance(crops[-1], list) else (crops[-1], crops[-1])
    return height, width


def as_markdown(rows: list[Model]) -> str:
    return TOP + "".join(map(_row, rows))


def _row(model: Model) -> str:
    measured, mindocr = model.measured, model.mindocr
    cells = (
        f"`{model.name}`",
        model.network,
        f"{model.parameters:,}",
        " x ".join(map(str, model.size)),
        _measured(measured) if measured else "",
        f"[{mindocr['result']}]({_readme(model)}); {mindocr['hardware']}" if mindocr else "",
    )
    return "| " + " | ".join(cells) + " |\n"


def _measured(facts: dict[str, Any]) -> str:
    trainings = f"{facts['trainings']} training{'s' * (facts['trainings'] > 1)}"
    result, error = f"[{facts['result']}]({facts['page']})", f"standard error {facts['error']}"
    return "; ".join((result, f"{trainings}, {error}", facts["data"], facts["training"]))


def _readme(model: Model) -> str:
    """The page of MindOCR with its result."""
    folder = model.name.rpartition("/")[0]
    commit = model.mindocr.get("commit", MINDOCR)
    return f"https://github.com/mindspore-lab/mindocr/blob/{commit}/configs/{folder}/README.md"
