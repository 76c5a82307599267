"""Gradient reduction: selection of the implementation, and functions of the user."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from mindspore import Tensor

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import on_cpu
from hccl_kit.ocr.train.join import Arrays, DeviceJoin, HostJoin, join_for, load
from hccl_kit.runtime.join import World
from tests.ocr.tiny import ALONE, Linear

PAIR = replace(ALONE, env=replace(ALONE.env, size=2))


def chosen(strategy: str, world: World) -> str:
    """What the log says of the all-reduce in use."""
    said: list[str] = []
    join = join_for(strategy, Linear(), world, said.append)
    (line,) = said
    name = line.removeprefix("all-reduce of gradients: ")
    assert isinstance(join, DeviceJoin if name == "framework" else HostJoin)
    return name


def write_sums(given: Arrays, sums: Arrays) -> None:
    """The sum of a group that shares memory; never called."""


@pytest.mark.parametrize(
    ("strategy", "launcher", "target", "can_share", "expected"),
    [
        ("auto", "mpirun", "CPU", True, "mpi"),
        ("auto", "mpirun", "Ascend", True, "framework"),
        ("auto", "script", "CPU", True, "memory"),
        ("auto", "script", "CPU", False, "framework"),
        ("auto", "script", "Ascend", True, "framework"),
        ("framework", "mpirun", "CPU", True, "framework"),
        ("framework", "script", "CPU", True, "framework"),
        ("memory", "mpirun", "CPU", True, "memory"),
        ("mpi", "mpirun", "CPU", True, "mpi"),
    ],
)
def test_auto_selects_the_fastest_available(
    strategy: str, launcher: str, target: str, can_share: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_cpu, "sum_over_ranks_of_host", lambda _: write_sums if can_share else None)
    assert chosen(strategy, replace(PAIR, launcher=launcher, device_target=target)) == expected


def test_mpi_needs_mpirun() -> None:
    with pytest.raises(KitError, match=r"parallel\.strategy is mpi, but these ranks were started by script on CPU"):
        chosen("mpi", replace(PAIR, launcher="script"))


@pytest.mark.parametrize(("target", "can_share"), [("CPU", False), ("Ascend", True)])
def test_memory_needs_ranks_that_can_share_it(target: str, can_share: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_cpu, "sum_over_ranks_of_host", lambda _: write_sums if can_share else None)
    with pytest.raises(
        KitError, match=rf"parallel\.strategy is memory, but these 2 ranks on {target} cannot share any"
    ):
        chosen("memory", replace(PAIR, device_target=target))


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
    network = Linear()
    loss = Tensor(np.float32(5))
    gradients = tuple(Tensor(one.asnumpy() + 1) for one in network.trainable_params())
    join = join_for(f"{module}.double", network, PAIR, print)
    assert join is not None
    total, sums, _ = join(loss, gradients)
    assert total.asnumpy() == 10
    for one, other in zip(sums, gradients, strict=True):
        np.testing.assert_array_equal(one.asnumpy(), 2 * other.asnumpy())
    short = join_for(f"{module}.short", network, PAIR, print)
    assert short is not None
    with pytest.raises(KitError, match=r"returned float32 \(1,\) for a float32 vector \([0-9]+,\)"):
        short(loss, gradients)


def test_a_single_rank_joins_nothing() -> None:
    assert join_for("auto", Linear(), ALONE, print) is None


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no_such_module.f", "no_such_module.f cannot be loaded: No module named"),
        ("own_strategy.missing", "own_strategy.missing cannot be loaded: .* has no attribute"),
        ("own_strategy.number", "is 'own_strategy.number'; accepted: auto, framework, memory, mpi"),
        ("word", "is 'word'; accepted: auto, framework, memory, mpi"),
    ],
)
def test_a_path_that_is_not_a_function_is_refused(module: str, path: str, message: str) -> None:
    with pytest.raises(KitError, match=message):
        load(path)
