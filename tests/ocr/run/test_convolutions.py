"""The implementation of convolutions on CPU, and the messages about it."""

import os
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.ocr.adapt import instruction_set
from hccl_kit.ocr.checkpoints.fetch import CACHE
from hccl_kit.ocr.native import library
from hccl_kit.ocr.run import convolutions
from hccl_kit.ocr.run.start import DEFAULTS
from tests.ocr.compiler import NEEDS_COMPILER

pytest.importorskip("mindspore")


@NEEDS_COMPILER
@pytest.mark.parametrize(
    ("keys", "expected"),
    [({}, True), ({"convolutions": "onednn"}, True), ({"convolutions": "plain"}, False), ({"mode": 1}, False)],
)
def test_the_settings_select_the_implementation(keys: dict[str, Any], expected: bool) -> None:
    said: list[str] = []
    assert (convolutions.of_onednn({**DEFAULTS, **keys}, os.environ, said.append) is not None) == expected
    assert said == []


def test_without_a_compiler_mindspore_is_used_with_a_note(tmp_path: Path) -> None:
    said: list[str] = []
    environ = {CACHE: str(tmp_path), "PATH": "/nowhere"}
    assert convolutions.of_onednn(DEFAULTS, environ, said.append) is None
    assert said == [
        "convolutions are computed by MindSpore, which is slower: there is no C++ compiler (c++, g++, clang++) "
        "(apt-get install g++)"
    ]


@pytest.mark.parametrize(
    ("value", "has_it", "measures", "narrow"),
    [
        ("measure", True, True, False),
        ("onednn", True, False, False),
        ("bfloat16", True, True, True),
        ("bfloat16", False, True, False),
    ],
)
def test_each_value_of_the_key_has_its_effect(
    value: str, has_it: bool, measures: bool, narrow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[int] = []
    monkeypatch.setattr(library, "hold", lambda _: None)
    monkeypatch.setattr(library, "keep_choices", lambda path, environ, cores: kept.append(cores))
    monkeypatch.setattr(instruction_set, "has_bfloat16", lambda: has_it)
    assert convolutions.prepare(Path("x.so"), {**DEFAULTS, "convolutions": value}, {}) == narrow
    assert kept == [len(os.sched_getaffinity(0))] * measures


@NEEDS_COMPILER
@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, []), (1, ["the fastest implementations of 1 convolution on this processor were measured and are kept"])],
)
def test_measured_choices_are_reported(count: int, expected: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(library, "measured_choices", lambda _: count)
    convolutions.say_measured(DEFAULTS, os.environ, said.append)
    assert said == expected
