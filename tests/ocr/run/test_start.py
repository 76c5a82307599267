"""MindSpore's oneDNN is limited to AVX2 if MindSpore itself computes convolutions."""

from pathlib import Path

import pytest

from hccl_kit.ocr import config
from hccl_kit.ocr.adapt import instruction_set
from hccl_kit.ocr.run import convolutions, start
from hccl_kit.runtime import detect
from tests.ocr.run_tool import CONFIG
from tests.ocr.tiny import ALONE


@pytest.mark.parametrize(
    ("library", "plain", "limited"),
    [(Path("x.so"), False, False), (Path("x.so"), True, True), (None, False, True), (None, True, True)],
)
def test_the_instruction_set_is_limited_for_plain_convolutions(
    library: Path | None, plain: bool, limited: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(convolutions, "of_onednn", lambda *_: library)
    monkeypatch.setattr(instruction_set, "limit", lambda _: "limited")
    monkeypatch.setattr(start, "_set_context", lambda *_: None)
    monkeypatch.setattr(start, "prepare", lambda *_: ALONE.env)
    monkeypatch.setattr(start, "join", lambda *_: ALONE)
    assert start.start(config.load(CONFIG), detect({}), say=said.append, plain_convolutions=plain) is ALONE
    assert ("limited" in said) == limited


@pytest.mark.parametrize(("has_it", "notes"), [(True, 0), (False, 1)])
def test_a_processor_without_bfloat16_is_noted(has_it: bool, notes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(convolutions, "of_onednn", lambda *_: Path("x.so"))
    monkeypatch.setattr(instruction_set, "has_bfloat16", lambda: has_it)
    start._prepare_convolutions({**start.DEFAULTS, "convolutions": "bfloat16"}, said.append)
    assert len(said) == notes
