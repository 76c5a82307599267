"""Distribution of cores over simultaneous pages or batches in onnxruntime."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("onnxruntime")
from hccl_kit.ocr.run import onnx_session


@pytest.mark.parametrize(
    ("tasks", "cores", "expected"), [(1, 4, (1, 4)), (3, 4, (3, 1)), (50, 4, (4, 1)), (50, 64, (8, 8)), (0, 4, (1, 4))]
)
def test_cores_are_distributed_over_sessions(
    monkeypatch: pytest.MonkeyPatch, tasks: int, cores: int, expected: tuple[int, int]
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    assert onnx_session.share(tasks) == expected
