"""The library that runs a network: onnxruntime on a CPU if it is installed, unless configured otherwise."""

from __future__ import annotations

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.base.extra import install_extra
from hccl_kit.ocr.run import engine


@pytest.mark.parametrize(
    ("wanted", "target", "installed", "expected"),
    [
        ("auto", "CPU", True, "onnxruntime"),
        ("auto", "CPU", False, "mindspore"),
        ("auto", "Ascend", True, "mindspore"),
        ("mindspore", "CPU", True, "mindspore"),
        ("onnxruntime", "Ascend", True, "onnxruntime"),
    ],
)
def test_the_engine_is_onnxruntime_on_a_cpu_if_it_is_installed(
    monkeypatch: pytest.MonkeyPatch, wanted: str, target: str, installed: bool, expected: str
) -> None:
    monkeypatch.setattr(engine, "find_spec", lambda _: object() if installed else None)
    assert engine.chosen(wanted, target) == expected


def test_an_engine_that_is_not_installed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "find_spec", lambda _: None)
    with pytest.raises(KitError, match="onnxruntime is not installed") as caught:
        engine.chosen("onnxruntime", "CPU")
    assert caught.value.hint == f"{install_extra('weights')}\nor --engine mindspore"
