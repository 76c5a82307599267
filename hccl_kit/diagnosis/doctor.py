"""What works on this machine: training, MPI, export, cards and compiler; a process tries each of the first three."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shutil import which
from typing import Literal, NamedTuple

from hccl_kit.base.extra import install_extra
from hccl_kit.base.own_program import own_python
from hccl_kit.discovery import driver_tool, npu_smi, packages
from hccl_kit.discovery.installation import package_version

State = Literal["works", "absent", "broken"]
TIMEOUT = 120.0
"""Seconds for one trial; MindSpore takes 5 to 20 to start."""
_DONE = "hccl_kit trial done"
_TRAINING = f"""
import os
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX2")
import cv2, mindspore
mindspore.set_device("CPU")
assert float((mindspore.Tensor([1.0]) + 1).asnumpy()[0]) == 2
print("{_DONE}")
"""
_MPI = f"from mpi4py import MPI; assert MPI.COMM_WORLD.allreduce(1) == 2; print('{_DONE}')"
_EXPORT = f"import onnx, onnxruntime; print('{_DONE}')"
_DAVINCI = re.compile(r"davinci[0-9]{1,4}")
COMPILERS = ("c++", "g++", "clang++")
"""The compilers that `hccl_kit.ocr.cpu.library` looks for."""


class Check(NamedTuple):
    """One part: its state, what was found, and what to do (None: nothing)."""

    name: str
    state: State
    detail: str
    fix: str | None = None


def examine(root: Path, environ: Mapping[str, str]) -> Iterator[Check]:
    """Every check, in the order of the report."""
    yield training()
    yield mpi()
    yield export()
    yield cards(root, environ)
    yield convolutions(environ)


def training() -> Check:
    """MindSpore adds two numbers on CPU, and OpenCV can be imported."""
    if package_version("mindspore") is None:
        return Check("training", "absent", "mindspore is not installed", install_extra("train"))
    return _tried("training", own_python(_TRAINING), "MindSpore computes on CPU", "train")


def mpi() -> Check:
    """Two processes of mpirun add up a number."""
    program = driver_tool.find("mpirun", ())
    if program is None or package_version("mpi4py") is None:
        absent = "mpirun is not on PATH" if program is None else "mpi4py is not installed"
        return Check("mpi", "absent", absent, install_extra("mpi"))
    # The variables that Open MPI needs for root and for fewer cores than processes; other MPIs ignore them.
    variables = (
        "OMPI_ALLOW_RUN_AS_ROOT=1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
        "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe",
    )
    command = ["env", *variables, program, "-n", "2", *own_python(_MPI)]
    return _tried("mpi", command, "two processes of mpirun communicate", "mpi")


def export() -> Check:
    """ONNX and its runtime can be imported."""
    absent = [name for name in ("onnx", "onnxruntime") if package_version(name) is None]
    if absent:
        return Check("export", "absent", f"{' and '.join(absent)} not installed", install_extra("export"))
    return _tried("export", own_python(_EXPORT), "onnx and onnxruntime are importable", "export")


def cards(root: Path, environ: Mapping[str, str]) -> Check:
    """NPUs in /dev, npu-smi, the driver and CANN."""
    try:
        count = sum(bool(_DAVINCI.fullmatch(path.name)) for path in (root / "dev").iterdir())
    except OSError:
        count = 0
    has_smi = driver_tool.find("npu-smi", npu_smi.USUAL_PLACES) is not None
    if not count and not has_smi:
        return Check("cards", "absent", "this machine shows no NPU; training runs on CPU")
    found = f"{count} in /dev, npu-smi {'found' if has_smi else 'not found'}"
    if not count:
        fix = "in a container: start it with --device=/dev/davinci0 --device=/dev/davinci_manager ..."
        return Check("cards", "broken", found, fix)
    if packages.cann(root, environ) is None:
        return Check("cards", "broken", f"{found}, CANN not found", "source set_env.sh of CANN")
    return Check("cards", "works", found, "hccl-kit preflight TABLE checks them for a job")


def convolutions(environ: Mapping[str, str]) -> Check:
    """Convolutions on CPU are compiled once against MindSpore's oneDNN; without a compiler they are slower."""
    try:
        names = shlex.split(environ.get("CXX", ""))[:1] or COMPILERS
    except ValueError as error:
        return Check("compiler", "broken", f"CXX cannot be parsed as a command: {error}", "unset CXX")
    found = [name for name in names if which(name, path=environ.get("PATH"))]
    if not found:
        return Check("compiler", "absent", "no C++ compiler: training on CPU is slower", "apt-get install g++")
    return Check("compiler", "works", f"{found[0]} compiles the convolutions of training on CPU")


def _tried(name: str, command: Sequence[str], success: str, extra: str) -> Check:
    """The check of a command that prints _DONE if all is well."""
    try:
        output = driver_tool.query(command, TIMEOUT)
    except driver_tool.NoAnswerError as error:
        return Check(name, "broken", str(error), install_extra(extra))
    if _DONE in output:
        return Check(name, "works", success)
    lines = [line for line in output.splitlines() if line.strip()]
    return Check(name, "broken", driver_tool.excerpt(lines[-1] if lines else ""), install_extra(extra))
