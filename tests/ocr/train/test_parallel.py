"""Gradient reduction: selection of the implementation, and functions of the user."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from mindspore import Tensor

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.train import parallel
from tests.ocr.tiny import ALONE

PAIR = replace(ALONE, env=replace(ALONE.env, size=2))


@pytest.mark.parametrize(
    ("strategy", "launcher", "target", "chosen"),
    [
        ("auto", "mpirun", "CPU", "mpi"),
        ("auto", "mpirun", "Ascend", "framework"),
        ("auto", "script", "CPU", "framework"),
        ("framework", "mpirun", "CPU", "framework"),
        ("mpi", "mpirun", "CPU", "mpi"),
        ("my.own", "script", "CPU", "my.own"),
    ],
)
def test_auto_selects_mpi_if_possible(strategy: str, launcher: str, target: str, chosen: str) -> None:
    assert parallel.choose(strategy, replace(PAIR, launcher=launcher, device_target=target)) == chosen


def test_mpi_needs_mpirun() -> None:
    with pytest.raises(KitError, match=r"parallel\.strategy is mpi, but these ranks were started by script on CPU"):
        parallel.choose("mpi", replace(PAIR, launcher="script"))
    assert parallel.choose("mpi", ALONE) == "mpi"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = "own_strategy"
    (tmp_path / f"{name}.py").write_text(
        "def double(values): values *= 2; return values\ndef short(values): return values[:1]\nnumber = 3\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


@pytest.mark.train
def test_a_function_of_the_user_reduces_the_gradients(module: str) -> None:
    vector = Tensor(np.array([1.0, 2.0, 3.0], np.float32))
    assert parallel.all_reduce(f"{module}.double")(vector).asnumpy().tolist() == [2, 4, 6]
    with pytest.raises(KitError, match=r"returned float32 \(1,\) for a float32 vector \(3,\)"):
        parallel.all_reduce(f"{module}.short")(vector)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no_such_module.f", "no_such_module.f cannot be loaded: No module named"),
        ("own_strategy.missing", "own_strategy.missing cannot be loaded: .* has no attribute"),
        ("own_strategy.number", "is 'own_strategy.number'; accepted: auto, framework, mpi"),
        ("word", "is 'word'; accepted: auto, framework, mpi"),
    ],
)
def test_a_path_that_is_not_a_function_is_refused(module: str, path: str, message: str) -> None:
    with pytest.raises(KitError, match=message):
        parallel.load(path)
