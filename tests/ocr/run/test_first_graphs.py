"""Graphs of an earlier start are taken for the same job alone; whatever is in doubt is compiled."""

import fcntl
import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mindspore import nn

from hccl_kit.ocr import config
from hccl_kit.ocr.checkpoints.fetch import CACHE
from hccl_kit.ocr.run import first_graphs
from hccl_kit.ocr.run.first_graphs import ENABLE, PLACE, facts, kept, name
from hccl_kit.runtime import World
from hccl_kit.runtime.worker_env import WorkerEnv
from tests.ocr.run_tool import CONFIG
from tests.ocr.tiny import ALONE
from tests.places import ROOT

BATCH = (np.zeros((2, 3, 32, 100), np.float32), np.zeros((2, 6), np.int32))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE, str(tmp_path))
    monkeypatch.delenv(ENABLE, raising=False)
    monkeypatch.setattr(sys, "argv", [__file__])
    return tmp_path / "graphs"


def start(monkeypatch: pytest.MonkeyPatch, *, world: World = ALONE, graph: str = "a graph") -> tuple[list[str], bool]:
    """What a new process says, and whether its graphs could be kept; it writes one as MindSpore would."""
    monkeypatch.setattr(first_graphs, "_places", [])
    said: list[str] = []
    with kept(config.load(CONFIG), world, nn.Dense(3, 2), BATCH, said.append):
        place = os.environ.get(PLACE)
        if os.environ.get(ENABLE) == "1" and place:
            file = Path(place, "rank_0", "compile_cache_0.mindir")
            file.parent.mkdir(exist_ok=True)
            if not file.exists():
                file.write_text(graph, encoding="utf-8")
    assert PLACE not in os.environ
    return [line.split(" /")[0] for line in said], place is not None


def rank_of(rank: int, *, of: int = 2, launcher: str = "script") -> World:
    return World(WorkerEnv(rank=rank, size=of, local_rank=rank, local_size=of, device=rank), launcher, "CPU")


TAKEN = ["the graphs of the first step are taken from"]
KEPT: list[str] = []
"""A line about what a start only keeps would be noise."""


def test_the_second_start_takes_them(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [start(monkeypatch)[0] for _ in range(3)] == [KEPT, TAKEN, TAKEN]
    assert ENABLE not in os.environ
    assert len(list(cache.glob("*/complete.json"))) == 1


def test_a_damaged_graph_is_thrown_away(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start(monkeypatch)
    (file,) = cache.rglob("*.mindir")
    file.write_text("half", encoding="utf-8")
    assert start(monkeypatch)[0] == KEPT
    assert file.read_text(encoding="utf-8") == "a graph"


def test_a_start_that_failed_leaves_none(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        with kept(config.load(CONFIG), ALONE, nn.Dense(3, 2), BATCH, print):
            Path(os.environ[PLACE], "half.mindir").write_text("x", encoding="utf-8")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert not list(cache.glob("*/complete.json"))
    assert start(monkeypatch)[0] == KEPT
    assert not list(cache.glob("*/half.mindir"))


def test_an_empty_folder_is_none(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start(monkeypatch)
    (file,) = cache.rglob("*.mindir")
    file.unlink()
    (mark,) = cache.glob("*/complete.json")
    mark.write_text(json.dumps({}), encoding="utf-8")
    assert start(monkeypatch)[0] == KEPT


def test_every_rank_has_a_folder_of_its_own(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worlds = [rank_of(0), rank_of(1)]
    assert [start(monkeypatch, world=world)[0] for world in worlds] == [KEPT, KEPT]
    assert len(list(cache.glob("*/complete.json"))) == 2
    assert [start(monkeypatch, world=world)[0] for world in worlds] == [TAKEN, TAKEN]


@pytest.mark.usefixtures("cache")
def test_a_second_job_in_a_process_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """MindSpore would look for its graphs among those of the first one."""
    assert start(monkeypatch)[1]
    with kept(config.load(CONFIG), ALONE, nn.Dense(3, 2), BATCH, print):
        assert PLACE not in os.environ


def test_the_oldest_are_removed_but_none_that_a_process_has(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_graphs, "KEPT", 2)
    for age, old in enumerate(("taken", "oldest", "newer")):
        (cache / old).mkdir(parents=True)
        (cache / f"{old}.lock").touch()
        os.utime(cache / old, (age, age))
    with (cache / "taken.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        start(monkeypatch)
    assert {path.name for path in cache.iterdir() if path.is_dir()} > {"taken", "newer"}
    assert not (cache / "oldest").exists()


def test_another_process_has_the_folder(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start(monkeypatch)
    (lock,) = cache.glob("*.lock")
    with lock.open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert start(monkeypatch) == ([], False)
    assert start(monkeypatch)[0] == TAKEN


def test_where_it_is_not_used(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = World(ALONE.env, "single", "Ascend")
    assert start(monkeypatch, world=card) == ([], False)
    monkeypatch.setattr(sys, "argv", ["-c"])
    assert start(monkeypatch) == ([], False)
    monkeypatch.setattr(sys, "argv", [__file__])
    monkeypatch.setenv(ENABLE, "0")
    assert start(monkeypatch) == ([], False)
    assert os.environ[ENABLE] == "0"
    monkeypatch.delenv(ENABLE)
    cache.write_text("a file", encoding="utf-8")
    assert start(monkeypatch) == ([], False)


def named(
    *overrides: str, network: nn.Cell | None = None, width: int = 100, world: World = ALONE, **environ: Any
) -> str:
    images = np.zeros((2, 3, 32, width), np.float32)
    known = {CACHE: os.environ[CACHE], **environ}  # of compiled convolutions
    return name(facts(config.load(CONFIG, overrides), world, network or nn.Dense(3, 2), (images,), known))


def test_the_name_has_all_that_graphs_depend_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    frozen = nn.Dense(3, 2)
    frozen.weight.requires_grad = False
    different = [
        named(),
        named("model.backbone.channels=[8, 16, 32, 32, 48]"),
        named("optimizer.weight_decay=0.5"),
        named("train.clip_norm=3"),
        named("system.amp_level=O2"),
        named(width=104),
        named(network=nn.Dense(3, 4)),
        named(network=frozen),
        named(ONEDNN_MAX_CPU_ISA="AVX2"),
        named(MS_DEV_X="1"),
        *(named(world=world) for world in (rank_of(0), rank_of(1), rank_of(1, of=3), rank_of(1, launcher="mpirun"))),
    ]
    monkeypatch.setattr(sys, "argv", ["another.py"])
    different.append(named())
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "99")
    different.append(named())
    (tmp_path / "network.py").write_text("x = 1\n", encoding="utf-8")
    monkeypatch.setattr(first_graphs, "CODE", tmp_path)
    different.append(named())
    (tmp_path / "network.py").write_text("x = 2\n", encoding="utf-8")
    different.append(named())
    assert len(set(different)) == len(different)


def test_a_resumed_job_has_the_same_name() -> None:
    again = named(
        "system.resume=auto", "train.ckpt_save_dir=/elsewhere", HOME="/other", MS_SCHED_PORT="1", MS_NODE_ID="2"
    )
    assert named() == again


PROGRAM = """
import os, sys
import mindspore as ms
import numpy as np
from mindspore import Tensor, nn
from hccl_kit.ocr import config
from hccl_kit.ocr.run.first_graphs import kept
from tests.ocr.tiny import ALONE

class Times(nn.Cell):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def construct(self, x):
        return x * self.factor

def train():
    ms.set_context(mode=ms.GRAPH_MODE, jit_config={"jit_level": "O0"})
    loaded = config.load(config.Path(sys.argv[1]), [f"optimizer.weight_decay={sys.argv[2]}"])
    x = Tensor(np.ones(2, np.float32))
    print("before", Times(float(sys.argv[2]) + 2)(x))
    with kept(loaded, ALONE, nn.Dense(3, 2), (np.ones(2),), lambda text: print(text.split(" /")[0])):
        print("first", Times(float(sys.argv[2]))(x))
    print("later", Times(float(sys.argv[2]) + 1)(x))

train()
"""


def of_a_process(script: Path, factor: str, **environ: Any) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(script), str(CONFIG), factor],
        env={**{key: value for key, value in os.environ.items() if key != ENABLE}, "PYTHONPATH": str(ROOT), **environ},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.long
def test_mindspore_takes_the_graph_of_the_same_job_alone(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM, encoding="utf-8")
    environ = {CACHE: str(tmp_path)}
    for factor, places in (("0.5", (KEPT, TAKEN)), ("0.25", (KEPT,))):
        for place in places:
            before, *said, first, later = of_a_process(script, factor, **environ)
            value = float(factor)
            assert said == place
            assert [before, first, later] == [
                f"{what} [{one} {one}]" for what, one in (("before", value + 2), ("first", value), ("later", value + 1))
            ]
