"""The compiled graphs of the first step, kept for the next start of the same job on this computer (on CPU).

MindSpore's own cache (2.10) numbers graphs by the order in which they are compiled, and compares the script that was
started, nothing else: after any other change it takes the graph of another network. So it is used for the first step
alone, whose parts are always compiled in one order, in a folder whose name has all that its graphs depend on. Every
rank of a job has a folder of its own, and decides alone: a graph that is taken computes what the compiled one does.

A graph from the cache uses the parameters of the cell that is called, by their names; of any other it has a copy. So
cells of the first step hold parameters as attributes or in a ParameterTuple, which registers them, not in a tuple.
"""

from __future__ import annotations

import ast
import fcntl
import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from mindspore import nn
from numpy.typing import NDArray

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.bounded_file import read_text
from hccl_kit.base.errors import KitError
from hccl_kit.ocr.adapt import instruction_set
from hccl_kit.ocr.checkpoints.fetch import cache
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.run import convolutions
from hccl_kit.runtime import World
from hccl_kit.runtime.worker_env import MISLEADING

ENABLE, PLACE = "MS_COMPILER_CACHE_ENABLE", "MS_COMPILER_CACHE_PATH"
"""MindSpore's variables, which it reads for each graph; the second one only once in a process."""
COMPLETE = "complete.json"
"""The digests of all files of a folder."""
MAX_BYTES = 1 << 16
KEPT = 100
"""Folders, one for each rank of a job; those that have not been written for the longest time are removed."""
SECTIONS = ("model", "loss", "optimizer", "loss_scaler", "parallel", "postprocess", "system", "train")
ELSEWHERE = {"system": ("resume",), "train": ("dataset", "ckpt_save_dir")}
"""Keys that change from start to start of a job. Of the data, graphs have the shapes of a batch, which are compared."""
CODE = Path(__file__).parents[1]
_places: list[Path] = []
"""The folder that this process has used: MindSpore keeps to it."""


@contextmanager
def kept(
    config: Config,
    world: World,
    network: nn.Cell,
    batch: Sequence[NDArray[Any]],
    say: Callable[[str], None],
) -> Iterator[None]:
    """Graphs compiled inside the with statement are taken from the cache folder, or kept there.

    They are compiled as usual the second time in a process, if another process has the folder or it cannot be written,
    and if one of MindSpore's variables is set: MS_COMPILER_CACHE_ENABLE=0 switches this off.
    """
    environ = os.environ  # that of MindSpore
    with ExitStack() as stack:
        folder, known = None, False
        if _usable(world, environ):
            with suppress(OSError, KitError):
                folder = cache(environ) / "graphs" / name(facts(config, world, network, batch, environ))
                known = _taken(folder, stack)
                _places.append(folder)
                environ.update({ENABLE: "1", PLACE: str(folder)})
                if known:
                    say(f"the graphs of the first step are taken from {folder}")
        try:
            yield
        finally:
            if environ.get(PLACE) == str(folder):
                del environ[ENABLE], environ[PLACE]
        if folder is not None and not known:
            with suppress(OSError, KitError):
                write_atomically(folder / COMPLETE, json.dumps(_digests(folder)))
                _forget_oldest(folder.parent)


def facts(
    config: Config, world: World, network: nn.Cell, batch: Sequence[NDArray[Any]], environ: Mapping[str, str]
) -> dict[str, Any]:
    """All that the graphs depend on."""
    code = hashlib.sha256()
    for path in sorted(CODE.rglob("*.py")):
        code.update(f"{path.relative_to(CODE)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return {
        "code": code.hexdigest(),
        "script": os.path.realpath(sys.argv[0]),
        "versions": [platform.python_version(), importlib.metadata.version("mindspore"), np.__version__],
        "processor": [platform.machine(), instruction_set.wide(environ), environ.get(instruction_set.VARIABLE)],
        "convolutions": str(convolutions.of_onednn(config["system"], environ)),
        "environment": {
            key: value for key, value in sorted(environ.items()) if key.startswith("MS_") and key not in MISLEADING
        },
        "config": {
            section: {key: value for key, value in config[section].items() if key not in ELSEWHERE.get(section, ())}
            for section in SECTIONS
            if section in config
        },
        "parameters": [[one.name, one.shape, str(one.dtype), one.requires_grad] for one in network.get_parameters()],
        "ranks": [world.size, world.rank, world.launcher],  # the launcher decides who sums the gradients
        "batch": [[one.shape, str(one.dtype)] for one in batch],
    }


def name(facts: Mapping[str, Any]) -> str:
    """The name of the folder for these facts."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


def _taken(folder: Path, stack: ExitStack) -> bool:
    """Whether `folder`, which no other process uses until the stack ends, has whole graphs; else it is empty.

    Raises OSError if another process has it, or it cannot be written.
    """
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(folder.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    stack.callback(os.close, descriptor)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with suppress(OSError, KitError, ValueError):
        digests = _digests(folder)
        if digests and json.loads(read_text(folder / COMPLETE, MAX_BYTES)) == digests:
            return True
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700)
    return False


def _forget_oldest(place: Path) -> None:
    """Remove the folders beyond KEPT, but none that a process has."""
    folders = sorted((path for path in place.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
    for folder in folders[:-KEPT]:
        with suppress(OSError), folder.with_suffix(".lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)


def _digests(folder: Path) -> dict[str, str]:
    """Of every file that MindSpore wrote."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != COMPLETE)
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _usable(world: World, environ: Mapping[str, str]) -> bool:
    """Whether graphs can be kept. MindSpore's cache parses the script that was started."""
    if world.device_target != "CPU" or _places or {ENABLE, PLACE} & set(environ):
        return False
    try:
        ast.parse(Path(sys.argv[0]).read_bytes())
    except (OSError, ValueError, SyntaxError):
        return False
    return True
