"""Who may use AVX-512: the training, in a graph, of a backbone whose convolutions gain from being products."""

import pytest

from hccl_kit.ocr import config
from hccl_kit.ocr.adapt import instruction_set
from hccl_kit.ocr.run import convolutions, start
from hccl_kit.ocr.run.start import FASTER_AS_PRODUCTS
from hccl_kit.runtime import detect
from tests.ocr.run_tool import CONFIG
from tests.ocr.tiny import ALONE


@pytest.mark.parametrize(
    ("backbone", "mode", "training", "expected"),
    [
        *((name, 0, True, True) for name in FASTER_AS_PRODUCTS),
        ("rec_conv_lines", 0, False, False),
        ("rec_conv_lines", 1, True, False),
        ("rec_conv_small", 0, True, False),
        ("det_resnet18", 0, True, False),
    ],
)
def test_products_are_for_training_in_a_graph(
    backbone: str, mode: int, training: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = config.load(CONFIG)
    settings["model"]["backbone"]["name"], settings["system"]["mode"] = backbone, mode
    asked: list[bool] = []
    monkeypatch.setattr(instruction_set, "wide", lambda _: True)
    monkeypatch.setattr(convolutions, "as_products", lambda *_: True)
    monkeypatch.setattr(instruction_set, "choose", lambda _, *, products: asked.append(products))
    monkeypatch.setattr(start, "_set_context", lambda *_: None)
    monkeypatch.setattr(start, "prepare", lambda *_: ALONE.env)
    monkeypatch.setattr(start, "join", lambda *_: ALONE)
    assert start.start(settings, detect({}), say=lambda _: None, training=training) is ALONE
    assert asked == [expected]


@pytest.mark.parametrize(("wide", "measured"), [(True, False), (False, True)])
def test_products_need_both_a_processor_and_a_gain(wide: bool, measured: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = config.load(CONFIG)
    settings["model"]["backbone"]["name"] = "rec_conv_lines"
    asked: list[bool] = []
    monkeypatch.setattr(instruction_set, "wide", lambda _: wide)
    monkeypatch.setattr(convolutions, "as_products", lambda *_: measured)
    monkeypatch.setattr(instruction_set, "choose", lambda _, *, products: asked.append(products))
    monkeypatch.setattr(start, "_set_context", lambda *_: None)
    monkeypatch.setattr(start, "prepare", lambda *_: ALONE.env)
    monkeypatch.setattr(start, "join", lambda *_: ALONE)
    start.start(settings, detect({}), say=lambda _: None, training=True)
    assert asked == [False]
