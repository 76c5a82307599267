"""The installed driver, firmware and CANN, from the files of their packages.

Lines are `key=value`. Every package declares its compatibility: the driver lists ranges of firmware versions
(`compatible_version_fw=[7.0.0,7.5.99]`), driver and CANN list releases of each other, as in
`Innerversion=V100R001C19SPC001B124` and `compatible_version=[V100R001C17],[V100R001C18]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError

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
