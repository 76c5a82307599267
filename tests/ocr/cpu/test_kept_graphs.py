"""Graphs of an earlier start are reused only for the same job; in doubt, they are compiled."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mindspore as ms
import pytest
from mindspore import Tensor, nn
from mindspore.train.mind_ir_pb2 import ModelProto, TensorProto

from hccl_kit.base.temporary import beside
from hccl_kit.ocr import config
from hccl_kit.ocr.cpu import kept_graphs
from hccl_kit.ocr.cpu.kept_graphs import ENABLE, PLACE, TRUST, facts, keep, name
from hccl_kit.runtime.join import World
from hccl_kit.runtime.worker_env import WorkerEnv
from tests.ocr.run_tool import CONFIG
from tests.ocr.tiny import ALONE
from tests.places import ROOT


class Process:
    """A fake of MindSpore's cache in one process: its first folder, and the number of the next graph."""

    def __init__(self, role: str = "") -> None:
        self.role = role
        self.folder = ""
        self.next = 0
        self.done: list[str] = []
        self.parameters: list[str] = []
        """The parameters of the next graphs."""
        self.room: int | None = None
        """Maximum bytes of a graph that fit on the disk."""

    def compile(self, graph: str, rank: int) -> None:
        """Load the graph with the next number if it is valid, otherwise write this one."""
        if os.environ.get(ENABLE) != "1":
            self.done.append(f"compiled {graph}")
            return
        self.folder = self.folder or os.environ[PLACE]
        file = Path(self.folder, f"rank_{rank}", "graph_cache", f"{self.role}compile_cache_{self.next}.mindir")
        self.next += 1
        if TRUST in os.environ and file.is_file():
            self.done.append(f"took {ModelProto.FromString(file.read_bytes()).producer_name}")
            return
        self.done.append(f"compiled {graph}")
        file.unlink(missing_ok=True)
        parameters = [TensorProto(name=f"construct_1:{name}") for name in self.parameters]
        whole = ModelProto(producer_name=graph, graph={"parameter": parameters}).SerializeToString()
        file.write_bytes(whole[: self.room])
        file.chmod(0o400)


class Cell(nn.Cell):
    """A cell whose graph consists of its name and the shape of its input."""

    def __init__(self, process: Process, title: str, rank: int = 0) -> None:
        super().__init__()
        self.process, self.title, self.rank = process, title, rank
        self.met: set[tuple[int, ...]] = set()

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Called by MindSpore before every run."""
        del kwargs
        if args[0].shape not in self.met:
            self.process.compile(f"{self.title} {args[0].shape}", self.rank)
            self.met.add(args[0].shape)


Start = Callable[..., list[str]]


@pytest.fixture
def cache(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of kept graphs."""
    monkeypatch.delenv(ENABLE, raising=False)
    monkeypatch.setattr(sys, "argv", [__file__])
    monkeypatch.setattr(kept_graphs, "_processes", [])
    return own_cache / "graphs"


@pytest.fixture
def start(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Run some cells in a new process, such as "a3 b2" with inputs of 3 and 2 numbers; returns the action for each."""
    del cache

    def started(
        runs: str, *overrides: str, world: World = ALONE, role: str = "", said: list[str] | None = None
    ) -> list[str]:
        monkeypatch.setattr(kept_graphs, "_processes", [])
        process = Process(role)
        cells = {title: Cell(process, title, world.rank) for title in "abc"}
        loaded, say = config.load(CONFIG, overrides), (said if said is not None else []).append
        keep(cells, loaded, world, network=nn.Dense(3, 2), operators=None, say=say)
        for run in runs.split():
            cells[run[0]].compile(Tensor(shape=(int(run[1]),), dtype=ms.float32))
        assert not {ENABLE, PLACE, TRUST} & set(os.environ)
        return process.done

    return started


def rank_of(rank: int, *, of: int = 2, launcher: str = "script") -> World:
    return World(WorkerEnv(rank=rank, size=of, local_rank=rank, local_size=of, device=rank), launcher, "CPU")


def test_a_second_start_reuses_graphs_in_any_order(start: Start, cache: Path) -> None:
    first, again, third = (list[str]() for _ in range(3))
    assert start("a2 b2 a3 a2 c4 c4", said=first) == [
        "compiled a (2,)",
        "compiled b (2,)",
        "compiled a (3,)",
        "compiled c (4,)",
    ]
    assert start("c4 a3 b3 a2 b2 b3", said=again) == [
        "took c (4,)",
        "took a (3,)",
        "compiled b (3,)",
        "took a (2,)",
        "took b (2,)",
    ]
    assert start("b3 a2", said=third) == ["took b (3,)", "took a (2,)"]
    assert first == []  # a line about graphs that are only stored would be noise
    assert [line.split(" /")[0] for line in (*again, *third)] == ["compiled graphs are taken from"] * 2
    assert len([path for path in cache.iterdir() if path.is_dir()]) == 1  # no temporary files are left


def run(cell: Cell, *counts: int, say: Callable[[str], None] = lambda _: None) -> None:
    """Start a process that stores the graphs of this cell, and runs it with inputs of each of these sizes."""
    keep({"a": cell}, config.load(CONFIG), ALONE, network=nn.Dense(3, 2), operators=None, say=say)
    for count in counts:
        cell.compile(Tensor(shape=(count,), dtype=ms.float32))


def test_training_and_evaluation_have_separate_graphs(cache: Path) -> None:
    process = Process()
    for training in (True, False, True):
        run(Cell(process, f"training {training}").set_train(training), 2)
    assert process.done == ["compiled training True (2,)", "compiled training False (2,)", "took training True (2,)"]
    assert len(list(cache.glob("*/*"))) == 2


@pytest.mark.parametrize(("used", "second", "lines"), [("bias", "took", 0), ("hidden", "compiled", 2)])
@pytest.mark.usefixtures("cache")
def test_a_graph_with_an_unregistered_parameter_is_not_stored(used: str, second: str, lines: int) -> None:
    """MindSpore would give it a copy of the parameter, so later values would have no effect. Reported once."""
    process, said = Process(), list[str]()
    process.parameters = [used]
    for _ in range(2):
        cell = Cell(process, "a")
        cell.bias = ms.Parameter(Tensor(0.0), name="bias")
        cell.others = (ms.Parameter(Tensor(0.0), name="hidden"),)
        run(cell, 2, 3, say=said.append)
    assert process.done == ["compiled a (2,)", "compiled a (3,)", f"{second} a (2,)", f"{second} a (3,)"]
    message = "the graph of a is compiled at each start: its cell does not list the parameter hidden"
    assert said.count(message) == lines


@pytest.mark.usefixtures("cache")
def test_an_incomplete_graph_is_not_stored() -> None:
    process = Process()
    for room in (5, None, None):
        process.room = room
        run(Cell(process, "a"), 2)
    assert process.done == ["compiled a (2,)", "compiled a (2,)", "took a (2,)"]


def test_another_configuration_has_separate_graphs(start: Start) -> None:
    assert start("a2") == ["compiled a (2,)"]
    assert start("a2", "optimizer.weight_decay=0.5") == ["compiled a (2,)"]
    assert start("a2") == ["took a (2,)"]


def test_other_constants_have_separate_graphs(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as the letter pairs of another dictionary at the same path."""
    monkeypatch.setattr(kept_graphs, "_processes", [])
    process = Process()
    for pairs in ([0, 1], [1, 0], [0, 1]):
        cell = Cell(process, str(pairs))
        cell.constant = Tensor(pairs)
        keep({"a": cell}, config.load(CONFIG), ALONE, network=nn.Dense(3, 2), operators=None, say=lambda _: None)
        cell.compile(Tensor(shape=(2,), dtype=ms.float32))
    assert process.done == ["compiled [0, 1] (2,)", "compiled [1, 0] (2,)", "took [0, 1] (2,)"]
    assert len(list(cache.glob("*/*"))) == 2


def test_a_damaged_graph_is_recompiled(start: Start, cache: Path) -> None:
    start("a2")
    (file,) = cache.glob("*/*")
    for damaged in (b"", b"half", file.read_bytes()[:-1], file.read_bytes() + b"x"):
        file.write_bytes(damaged)
        assert start("a2") == ["compiled a (2,)"]
        assert start("a2") == ["took a (2,)"]


def test_a_graph_that_mindspore_rejects_is_replaced(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as after a compilation without the cache in this process, which MindSpore has counted."""
    start("a2 a3")
    counted = Process.__init__

    def further(self: Process, role: str = "") -> None:
        counted(self, role)
        self.next = 5

    monkeypatch.setattr(Process, "__init__", further)
    assert start("a2 a3 b2") == ["compiled a (2,)", "took a (3,)", "compiled b (2,)"]
    monkeypatch.setattr(Process, "__init__", counted)
    assert start("b2 a2") == ["took b (2,)", "took a (2,)"]


def test_a_failed_compilation_stores_nothing(cache: Path, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Process, graph: str, rank: int) -> None:
        del self, rank
        Path(os.environ[PLACE], "rank_0", "graph_cache", "compile_cache_0.mindir").write_text(graph, encoding="utf-8")
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(Process, "compile", fail)
        with pytest.raises(KeyboardInterrupt):
            start("a2")
    assert not list(cache.glob("[0-9a-f]*/[0-9a-f]*"))
    assert {ENABLE, PLACE, TRUST}.isdisjoint(os.environ)
    assert start("a2") == ["compiled a (2,)"]


def test_every_rank_has_a_separate_folder(start: Start, cache: Path) -> None:
    worlds = [rank_of(0), rank_of(1)]
    for did in ("compiled", "took"):
        assert [start("a2", world=world, role="MS_WORKER") for world in worlds] == [[f"{did} a (2,)"]] * 2
        assert len(list(cache.glob("*/*"))) == 2


def test_the_oldest_folders_are_removed(start: Start, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_graphs, "KEPT", 2)
    for age, old in enumerate(("oldest", "newer")):
        (cache / old).mkdir(parents=True)
        os.utime(cache / old, (age, age))
    start("a2")
    assert len(list(cache.iterdir())) == 2
    assert not (cache / "oldest").exists()


def test_with_a_full_disk_graphs_are_only_compiled(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    said = list[str]()
    monkeypatch.setattr(Path, "mkdir", full)
    assert start("a2", said=said) == ["compiled a (2,)"]
    assert said == ["compiled graphs are not kept: [Errno 28] No space left on device"]


def test_graphs_that_another_user_may_have_put_there_are_not_taken(start: Start, cache: Path) -> None:
    """They run as this user: the rule is that for compiled convolutions."""
    start("a2")
    (folder,) = cache.iterdir()
    for place, mode in ((folder, 0o700), (folder.parent, 0o755)):
        place.chmod(0o777)
        said = list[str]()
        assert start("a2", said=said) == ["compiled a (2,)"]
        assert said == [f"compiled graphs are not kept: others may write into {place} (chmod go-w {place})"]
        place.chmod(mode)
    assert start("a2") == ["took a (2,)"]


def test_the_folder_of_a_killed_process_is_removed(start: Start, cache: Path) -> None:
    start("a2")
    with subprocess.Popen(["true"]) as ended:
        pass
    left = beside(cache / "process")
    left = left.with_name(left.name.replace(f".{os.getpid()}.", f".{ended.pid}."))
    (left / "rank_0").mkdir(parents=True)
    start("a2")
    assert not left.exists()


def test_conditions_that_disable_the_cache(start: Start, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def kept_none() -> bool:
        return start("a2") == ["compiled a (2,)"] and not cache.is_dir()

    card = World(ALONE.env, "single", "Ascend")
    assert start("a2", world=card) == ["compiled a (2,)"]
    monkeypatch.setattr(sys, "argv", ["-c"])
    assert kept_none()
    monkeypatch.setattr(sys, "argv", [__file__])
    cache.write_text("a file", encoding="utf-8")
    assert kept_none()
    cache.unlink()
    with monkeypatch.context() as off:
        off.setattr("hccl_kit.ocr.cpu.library.installed", lambda: "2.11.0")  # whose cache may work in another way
        assert kept_none()
    with monkeypatch.context() as off:
        off.setattr(kept_graphs, "ENABLE", "MS_OTHER")
        off.setenv("MS_OTHER", "0")
        assert kept_none()


def named(
    *overrides: str,
    network: nn.Cell | None = None,
    world: World = ALONE,
    operators: Path | None = None,
    **environ: Any,
) -> str:
    return name(facts(config.load(CONFIG, overrides), world, network or nn.Dense(3, 2), operators, environ))


def test_the_folder_name_depends_on_everything_that_affects_graphs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    frozen = nn.Dense(3, 2)
    frozen.weight.requires_grad = False
    different = [
        named(),
        named("model.backbone.channels=[8, 16, 32, 32, 48]"),
        named("optimizer.weight_decay=0.5"),
        named("train.clip_norm=3"),
        named("system.amp_level=O2"),
        named(network=nn.Dense(3, 4)),
        named(network=frozen),
        named(operators=Path("operators-1.so")),
        named(MS_DEV_X="1"),
        *(named(world=world) for world in (rank_of(0), rank_of(1), rank_of(1, of=3), rank_of(1, launcher="mpirun"))),
    ]
    monkeypatch.setattr(sys, "argv", ["another.py"])
    different.append(named())
    monkeypatch.setattr("hccl_kit.ocr.cpu.library.installed", lambda: "99")
    different.append(named())
    (tmp_path / "network.py").write_text("x = 1\n", encoding="utf-8")
    monkeypatch.setattr(kept_graphs, "CODE", tmp_path)
    different.append(named())
    (tmp_path / "network.py").write_text("x = 2\n", encoding="utf-8")
    different.append(named())
    assert len(set(different)) == len(different)


def test_a_resumed_job_and_one_with_another_seed_have_the_same_name() -> None:
    again = named(
        "system.seed=7",
        *("system.resume=auto", "train.ckpt_save_dir=/elsewhere", "train.max_steps=9", "train.loader.shuffle=False"),
        *("system.log_interval=1", "system.val_interval=7", "system.ckpt_max_keep=2"),
        HOME="/other",
        MS_SCHED_PORT="1",
        MS_NODE_ID="2",
    )
    assert named() == again


PROGRAM = """
import sys
import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn
from hccl_kit.ocr import config
from hccl_kit.ocr.cpu.kept_graphs import keep
from tests.ocr.tiny import ALONE

class Line(nn.Cell):
    def __init__(self, factor, start):
        super().__init__()
        self.factor = factor
        self.start = Parameter(Tensor(np.float32(start)), name="start")

    def construct(self, x):
        return x * self.factor + self.start

def run():
    ms.set_context(mode=ms.GRAPH_MODE, jit_config={"jit_level": "O0"})
    cells = {"a": Line(2.0, float(sys.argv[2])), "b": Line(3.0, float(sys.argv[2])), "c": nn.Dropout(p=0.5).set_train()}
    keep(
        cells, config.load(config.Path(sys.argv[1])), ALONE, network=nn.Dense(3, 2), operators=None, say=print
    )
    for title in sys.argv[3:]:
        print(title, cells[title[0]](Tensor(np.ones(int(title[1]), np.float32))))
    print("other", Line(5.0, 0.0)(Tensor(np.ones(2, np.float32))))

run()
"""


Program = Callable[..., list[str]]


@pytest.fixture
def of_a_process(tmp_path: Path) -> Program:
    """The output of PROGRAM: the value of the parameters, then the cells that run, each with the size of its input."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM, encoding="utf-8")

    def lines(start: str, *runs: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, str(script), str(CONFIG), start, *runs],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()

    return lines


def test_a_graph_that_draws_random_numbers_is_not_stored(of_a_process: Program, cache: Path) -> None:
    """It contains the seed, and a training with another seed would reuse it."""
    for _ in range(2):
        assert of_a_process("1", "c9")[0] == "the graph of c is compiled at each start: Dropout draws random numbers"
    assert not list(cache.glob("*/*"))


def test_mindspore_uses_stored_graphs_with_the_parameters_of_this_start(of_a_process: Program, cache: Path) -> None:
    def files() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in cache.glob("*/*")}

    assert of_a_process("1", "a2", "b2", "b3") == ["a2 [3. 3.]", "b2 [4. 4.]", "b3 [4. 4. 4.]", "other [5. 5.]"]
    first = files()
    _, *lines = of_a_process("10", "b3", "a3", "b2", "a2")
    assert lines == ["b3 [13. 13. 13.]", "a3 [12. 12. 12.]", "b2 [13. 13.]", "a2 [12. 12.]", "other [5. 5.]"]
    assert len(first) == 3
    assert len(files()) == 4
    assert files().items() > first.items()


DROPPING = """
import sys
import mindspore as ms
import numpy as np
from mindspore import Tensor, nn
from hccl_kit.ocr import config
from hccl_kit.ocr.models import dropout
from hccl_kit.ocr.cpu.kept_graphs import keep
from hccl_kit.ocr.train.step import Compute
from tests.ocr.tiny import ALONE

class Sum(nn.Cell):
    def construct(self, predicted, weights):
        return (predicted * weights).sum()

def run():
    ms.set_context(mode=ms.GRAPH_MODE, jit_config={"jit_level": "O0"})
    ms.set_seed(0)
    network = nn.SequentialCell(dropout.Dropout(0.5), dropout.DropPath(0.5), nn.Dense(64, 64, "ones"))
    compute = Compute(network, Sum()).set_train(True)
    loaded = config.load(config.Path(sys.argv[1]))
    keep({"compute": compute}, loaded, ALONE, network=network, operators=None, say=print)
    images = np.ones((8, 1, 64), np.float32)
    for seed in sys.argv[2:]:
        dropout.draw(dropout.cells(network), np.random.default_rng(int(seed)))
        loss, _ = compute(Tensor(np.float32(1)), Tensor(images), Tensor(np.cumsum(images, 0)))
        print(seed, float(loss))

run()
"""


def test_a_graph_from_the_cache_drops_other_values_in_each_step(tmp_path: Path, cache: Path) -> None:
    """Like in the process that has compiled it."""
    del cache
    script = tmp_path / "program.py"
    script.write_text(DROPPING, encoding="utf-8")
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    first, (line, *again) = (
        subprocess.run(
            [sys.executable, str(script), str(CONFIG), *seeds], env=environ, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for seeds in ("1234", "4321")
    )
    assert line.startswith("compiled graphs are taken from")
    assert again == first[::-1]
    assert len({row.split()[1] for row in first}) == 4
