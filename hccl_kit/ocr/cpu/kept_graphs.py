"""Compiled graphs, kept for the next start of the same job on this computer.

MindSpore's own cache (2.10) numbers graphs by the order in which a process compiles them, and compares the script that
was started, nothing else. After any other change, or in another order, it takes the graph of another network. So here
its cache holds one graph at a time: before a cell is compiled, the graph that is kept under a digest of everything it
depends on is put where MindSpore looks for it. If there is none, MindSpore compiles, and its file is kept under that
digest. Every rank has a folder of its own and decides alone: a graph that is taken computes what the compiled one does.

A graph from the cache uses the parameters of the cell that is called, by their names; of any other it has a copy. So
cells hold parameters as attributes or in a ParameterTuple, which registers them, not in a tuple. The graph of a cell
that does not is not kept. Nor is one that draws random numbers: it holds the seed, and other seeds share the graphs.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from mindspore import Parameter, Tensor, nn
from mindspore.train.mind_ir_pb2 import ModelProto

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError
from hccl_kit.base.leftovers import sweep
from hccl_kit.base.message import Message
from hccl_kit.base.private_folder import make_private
from hccl_kit.base.temporary import beside
from hccl_kit.ocr.checkpoints.fetch import cache
from hccl_kit.ocr.code_digest import code_digest
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.cpu import library
from hccl_kit.runtime.join import World
from hccl_kit.runtime.worker_env import MISLEADING

ENABLE, PLACE = "MS_COMPILER_CACHE_ENABLE", "MS_COMPILER_CACHE_PATH"
"""MindSpore's variables, which it reads for each graph; the second one only once in a process."""
TRUST = "MS_DEV_FORCE_USE_COMPILE_CACHE"
"""Makes MindSpore use a cached graph although the one before it was missing."""
ROLES = ("", "MS_WORKER")
"""What MindSpore puts before the names of graphs; the second one if the job has a scheduler."""
HIDDEN_STATE = "side_effect_hidden"
"""MindSpore's mark of operators that draw random numbers."""
MAX_BYTES = 1 << 28
"""Maximum size of a graph; those of the shipped configurations take a few million."""
KEPT = 100
"""Maximum number of folders, one for each rank of a job; the least recently used ones are removed."""
SECTIONS = ("model", "loss", "optimizer", "loss_scaler", "parallel", "postprocess", "system", "train")
ELSEWHERE = {
    "system": {
        *("seed", "resume", "log_interval", "ckpt_save_policy", "ckpt_max_keep"),
        *("val_while_train", "val_interval", "val_before_train", "val_start_epoch"),
    },
    "train": {"dataset", "loader", "ckpt_save_dir", "max_steps", "patience", "resume_interval_steps"},
}
"""Keys that no graph depends on. Of the data, graphs have the shapes of a batch, which are compared."""
CODE = Path(__file__).parents[1]


def keep(
    cells: Mapping[str, nn.Cell],
    config: Config,
    world: World,
    *,
    network: nn.Cell,
    operators: Path | None,
    say: Callable[[str], None],
) -> None:
    """From now on these cells take the graphs that they would compile from the cache folder. The keys are any names.

    A graph that is not there is compiled and kept. `operators` is the library that computes convolutions. All are
    compiled as usual with another MindSpore, if the folder cannot be written or others may change it, which `say`
    reports, and if one of MindSpore's variables is set: MS_COMPILER_CACHE_ENABLE=0 switches this off.
    """
    if not _usable(world, os.environ):
        return
    try:
        folder = cache(os.environ) / "graphs" / name(facts(config, world, network, operators, os.environ))
        make_private(folder)
        os.utime(folder)
        sweep(folder)
        sweep(folder.parent)
        _forget_oldest(folder.parent)
        kept = _Folder(folder, world.rank, _process(folder.parent), lru_cache(None)(say))
    except (OSError, KitError) as error:
        reason: object = error
        if isinstance(error, KitError):
            reason = Message("cpu.graphs-not-private", "{reason} ({hint})", reason=error.message, hint=error.hint)
        say(Message("cpu.graphs-not-kept", "compiled graphs are not kept: {reason}", reason=reason))
        return
    for title, cell in cells.items():
        _follow(cell, title, kept)


def facts(
    config: Config, world: World, network: nn.Cell, operators: Path | None, environ: Mapping[str, str]
) -> dict[str, Any]:
    """All that graphs depend on, except the name of the cell and the shapes of its inputs."""
    return {
        "code": code_digest(CODE),
        "script": os.path.realpath(sys.argv[0]),
        "versions": [platform.python_version(), library.installed(), np.__version__],
        "processor": platform.machine(),
        "operators": str(operators),
        "environment": {
            key: value for key, value in sorted(environ.items()) if key.startswith("MS_") and key not in MISLEADING
        },
        "config": {
            section: {key: value for key, value in config[section].items() if key not in ELSEWHERE.get(section, set())}
            for section in SECTIONS
            if section in config
        },
        "parameters": [
            [parameter.name, parameter.shape, str(parameter.dtype), parameter.requires_grad]
            for parameter in network.get_parameters()
        ],
        "ranks": [world.size, world.rank, world.launcher],  # the launcher decides who sums the gradients
    }


def name(facts: Any) -> str:
    """The name of the folder or file for these facts."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


@dataclass(slots=True)
class _Folder:
    """The kept graphs of one rank of a job: files of a digest and the graph."""

    path: Path
    rank: int
    process: _Process
    say: Callable[[str], None]
    """Reports a line once: images of each width have a graph of their own."""

    @contextmanager
    def compiling(self, key: str, title: str, cell: nn.Cell) -> Iterator[None]:
        """Inside the with statement MindSpore compiles a graph of `cell`, or takes the one that is kept for `key`."""
        known = self._read(key)
        with self.process.compiling(self.rank, known):
            yield
        made = self.process.taken_out()
        if made is not None:
            with suppress(KitError, DecodeError):
                self._write(key, made, title, cell)
        elif known is not None:
            self.say(Message("cpu.graphs-taken", "compiled graphs are taken from {folder}", folder=self.path))

    def _write(self, key: str, graph: bytes, title: str, cell: nn.Cell) -> None:
        """Keep the graph, unless another start could not use it.

        Raises DecodeError if MindSpore has not written it to its end, KitError if there is no room for it.
        """
        if reason := _obstacle(ModelProto.FromString(graph), cell):
            self.say(
                Message(
                    "cpu.graph-not-kept",
                    "the graph of {title} is compiled at each start: {reason}",
                    title=title,
                    reason=reason,
                )
            )
            return
        write_atomically(self.path / key, hashlib.sha256(graph).digest() + graph, mode=0o600)

    def _read(self, key: str) -> bytes | None:
        """The graph for `key`, if there is a whole one."""
        with suppress(KitError):
            content = read_bounded(self.path / key, MAX_BYTES)
            digest, graph = content[:32], content[32:]
            return graph if hashlib.sha256(graph).digest() == digest else None
        return None


class _Process:
    """MindSpore's cache folder in this process: it holds the graph that is being compiled, or none."""

    def __init__(self, parent: Path) -> None:
        self.path = beside(parent / "process")
        shutil.rmtree(self.path, ignore_errors=True)  # of a killed process with the same number
        self.number = 0
        """Number of the next graph, as MindSpore counts them."""
        self.given: dict[Path, int] = {}
        """The graph that MindSpore is to take, and when its file was written."""

    @contextmanager
    def compiling(self, rank: int, known: bytes | None) -> Iterator[None]:
        """MindSpore finds the `known` graph if there is one, and writes the one that it compiles."""
        variables = {ENABLE: "1", PLACE: str(self.path)}
        self.given = {}
        try:
            folder = self.path / f"rank_{rank}" / "graph_cache"
            make_private(folder)
            if known is not None:
                for role in ROLES:
                    file = folder / f"{role}compile_cache_{self.number}.mindir"
                    file.write_bytes(known)
                    self.given[file] = file.stat().st_mtime_ns
                variables[TRUST] = "1"
        except (OSError, KitError):
            variables = {}
        os.environ.update(variables)
        try:
            yield
        finally:
            for variable in variables:
                del os.environ[variable]

    def taken_out(self) -> bytes | None:
        """The graph that MindSpore has compiled, None if it has taken the one it was given. The folder is removed."""
        with suppress(OSError):
            files = list(self.path.rglob("*.mindir"))
            made = [path for path in files if self.given.get(path) != path.stat().st_mtime_ns]
            graph = made[0].read_bytes() if made else None
            if files:
                self.number = int((made or files)[0].stem.rpartition("_")[2]) + 1
            shutil.rmtree(self.path)
            return graph
        return None


_processes: list[_Process] = []
"""The one of this process, once it keeps graphs: MindSpore keeps to the first folder that it has read."""


def _process(parent: Path) -> _Process:
    if not _processes:
        _processes.append(_Process(parent))
    return _processes[0]


def _follow(cell: nn.Cell, title: str, kept: _Folder) -> None:
    """Let `cell` be compiled with the graphs of `kept`. MindSpore calls `compile` before each run of a cell."""
    compile_if_new, seen, constants = cell.compile, set[Any](), _constants(cell)

    def compiled(*arguments: Any, **keywords: Any) -> None:
        inputs = tuple((tuple(tensor.shape), str(tensor.dtype)) for tensor in cell.get_inputs() or arguments)
        if (cell.phase, inputs) in seen:
            compile_if_new(*arguments, **keywords)
            return
        with kept.compiling(name([title, cell.phase, inputs, constants]), title, cell):
            compile_if_new(*arguments, **keywords)
        seen.add((cell.phase, inputs))

    cell.compile = compiled


def _obstacle(compiled: ModelProto, cell: nn.Cell) -> Message | None:
    """Why another start cannot take this graph of `cell`; None if it can."""
    # In the file, each parameter has the name of a function before its own.
    used = {parameter.name.partition(":")[2] for parameter in compiled.graph.parameter}
    if hidden := used - {parameter.name for parameter in cell.get_parameters()}:
        return Message("cpu.hidden-parameter", "its cell does not list the parameter {name}", name=min(hidden))
    stateful = [made.op_type for made in compiled.primitives if HIDDEN_STATE in (row.name for row in made.attribute)]
    if stateful:
        return Message("cpu.random-operator", "{operator} draws random numbers", operator=min(stateful))
    return None


def _constants(cell: nn.Cell) -> str:
    """The digest of the tensors that graphs of `cell` hold as constants, such as the pairs of letters of a loss."""
    values = hashlib.sha256()
    for place, part in cell.cells_and_names():
        for key, value in sorted(vars(part).items()):
            if isinstance(value, Tensor) and not isinstance(value, Parameter):
                values.update(f"{place}.{key}\0{value.shape}\0{value.dtype}\0".encode())
                values.update(value.asnumpy().tobytes())
    return values.hexdigest()


def _forget_oldest(place: Path) -> None:
    """Remove the folders beyond KEPT. A process that has one of them compiles from then on."""
    folders = sorted((path for path in place.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
    for folder in folders[:-KEPT]:
        shutil.rmtree(folder, ignore_errors=True)


def _usable(world: World, environ: Mapping[str, str]) -> bool:
    """Whether graphs can be kept. MindSpore's cache parses the script that was started."""
    if world.device_target != "CPU" or {ENABLE, PLACE} & set(environ) or library.installed() != library.MINDSPORE:
        return False
    with suppress(OSError, ValueError, SyntaxError):
        ast.parse(Path(sys.argv[0]).read_bytes())
        return True
    return False
