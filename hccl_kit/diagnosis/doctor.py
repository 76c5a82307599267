"""What works on this machine: training, MPI, export, cards and compiler; a process tries each of the first three."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shutil import which
from typing import Literal, NamedTuple

from hccl_kit.base.extra import install_extra
from hccl_kit.base.message import Message
from hccl_kit.base.own_program import own_python
from hccl_kit.base.wording import joined
from hccl_kit.discovery import driver_tool, installation, npu_smi
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
        return Check("training", "absent", _not_installed("mindspore"), install_extra("train"))
    works = Message("diagnosis.doctor.training", "MindSpore computes on CPU")
    return _tried("training", own_python(_TRAINING), works, "train")


def mpi() -> Check:
    """Two processes of mpirun add up a number."""
    program = driver_tool.find("mpirun", ())
    if program is None or package_version("mpi4py") is None:
        no_program = Message("diagnosis.doctor.no-mpirun", "mpirun is not on PATH")
        absent = no_program if program is None else _not_installed("mpi4py")
        return Check("mpi", "absent", absent, install_extra("mpi"))
    # The variables that Open MPI needs for root and for fewer cores than processes; other MPIs ignore them.
    variables = (
        "OMPI_ALLOW_RUN_AS_ROOT=1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
        "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe",
    )
    command = ["env", *variables, program, "-n", "2", *own_python(_MPI)]
    return _tried("mpi", command, Message("diagnosis.doctor.mpi", "two processes of mpirun communicate"), "mpi")


def export() -> Check:
    """ONNX and its runtime can be imported."""
    absent = [name for name in ("onnx", "onnxruntime") if package_version(name) is None]
    if absent:
        lacking = Message("diagnosis.doctor.no-export", "{packages} not installed", packages=joined(absent))
        return Check("export", "absent", lacking, install_extra("export"))
    works = Message("diagnosis.doctor.export", "onnx and onnxruntime are importable")
    return _tried("export", own_python(_EXPORT), works, "export")


def cards(root: Path, environ: Mapping[str, str]) -> Check:
    """NPUs in /dev, npu-smi, the driver and CANN."""
    try:
        count = sum(bool(_DAVINCI.fullmatch(path.name)) for path in (root / "dev").iterdir())
    except OSError:
        count = 0
    has_smi = driver_tool.find("npu-smi", npu_smi.USUAL_PLACES) is not None
    if not count and not has_smi:
        absent = Message("diagnosis.doctor.no-cards", "this machine shows no NPU; training runs on CPU")
        return Check("cards", "absent", absent)
    summary = Message("diagnosis.doctor.cards", "{count} in /dev, npu-smi found", count=count)
    if not has_smi:
        summary = Message("diagnosis.doctor.no-tool", "{count} in /dev, npu-smi not found", count=count)
    if not count:
        fix = Message(
            "diagnosis.doctor.no-cards.fix",
            "in a container: start it with --device=/dev/davinci0 --device=/dev/davinci_manager ...",
        )
        return Check("cards", "broken", summary, fix)
    if installation.cann(root, environ) is None:
        no_cann = Message("diagnosis.doctor.no-cann", "{found}, CANN not found", found=summary)
        return Check("cards", "broken", no_cann, Message("diagnosis.doctor.no-cann.fix", "source set_env.sh of CANN"))
    next_step = Message("diagnosis.doctor.cards.fix", "hccl-kit preflight TABLE checks them for a job")
    return Check("cards", "works", summary, next_step)


def convolutions(environ: Mapping[str, str]) -> Check:
    """Convolutions on CPU are compiled once against MindSpore's oneDNN; without a compiler they are slower."""
    try:
        names = shlex.split(environ.get("CXX", ""))[:1] or COMPILERS
    except ValueError as error:
        problem = Message("diagnosis.doctor.cxx", "CXX cannot be parsed as a command: {error}", error=error)
        return Check("compiler", "broken", problem, "unset CXX")
    compilers = [name for name in names if which(name, path=environ.get("PATH"))]
    if not compilers:
        absent = Message("diagnosis.doctor.no-compiler", "no C++ compiler: training on CPU is slower")
        return Check("compiler", "absent", absent, "apt-get install g++")
    works = Message(
        "diagnosis.doctor.compiler", "{compiler} compiles the convolutions of training on CPU", compiler=compilers[0]
    )
    return Check("compiler", "works", works)


def _not_installed(package: str) -> Message:
    return Message("diagnosis.doctor.not-installed", "{package} is not installed", package=package)


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
