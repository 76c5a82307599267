"""The compiled operators.cpp: made once with the C++ compiler of this computer, and kept in the cache folder.

So one pure Python wheel serves all computers. If it cannot be compiled, networks keep the convolutions of MindSpore.

It is made for one version of MindSpore and of its oneDNN: the virtual functions of a thread pool, the enumerations of
oneDNN's C interface, which are declared in operators.cpp, and MindSpore's cache of compiled graphs may mean something
else in others.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import shlex
import shutil
import struct
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.base.leftovers import sweep
from hccl_kit.base.message import Message
from hccl_kit.base.private_folder import make_private
from hccl_kit.base.temporary import beside
from hccl_kit.base.terminal import printable

MINDSPORE = "2.10.0"
ONEDNN = (3, 10)


class _Version(ctypes.Structure):
    """The beginning of `dnnl_version_t`."""

    _fields_ = (("major", ctypes.c_int), ("minor", ctypes.c_int))


def installed() -> str:
    """The version of MindSpore."""
    return importlib.metadata.version("mindspore")


def assert_mindspore() -> None:
    """Raises KitError if another MindSpore is installed than the one whose private interfaces are used."""
    if installed() != MINDSPORE:
        raise KitError(
            "cpu.other-mindspore",
            "the operators are made for MindSpore {made_for}, and {installed} is installed",
            made_for=MINDSPORE,
            installed=installed(),
        )


def assert_onednn(path: Path) -> None:
    """Raises KitError if the library at `path` is not the oneDNN whose interface operators.cpp declares."""
    try:
        version = ctypes.CDLL(str(path)).dnnl_version
    except (OSError, AttributeError) as error:
        raise KitError("cpu.onednn-not-loaded", "{path} cannot be loaded: {reason}", path=path, reason=error) from error
    version.restype = ctypes.POINTER(_Version)
    onednn = version().contents
    if (onednn.major, onednn.minor) != ONEDNN:
        raise KitError(
            "cpu.other-onednn",
            "the operators are made for oneDNN {made_for}, and MindSpore has {major}.{minor}",
            made_for=".".join(map(str, ONEDNN)),
            major=onednn.major,
            minor=onednn.minor,
        )


SOURCE = Path(__file__).with_name("operators.cpp")
COMPILERS = ("c++", "g++", "clang++")
OPTIONS = ("-std=c++17", "-O2", "-shared", "-fPIC", "-Wl,--no-undefined")
LIBRARIES = ("libdnnl.so.3", "libmindspore_core.so", "plugin/libmindspore_ops_cpu.so")
"""The libraries in MindSpore's folder lib that it calls: oneDNN, and two for MindSpore's threads."""
TIMEOUT = 600
"""Seconds in which there must be a library, the wait for another process included: or eight ranks would wait for a
compiler that hangs one after the other."""


def library(folder: Path, environ: Mapping[str, str]) -> Path:
    """The library for this MindSpore in `folder`, compiled if it is not there yet, or cut.

    CXX names the compiler if it is set; later runs need none. Raises KitError if operators.cpp is not made for this
    MindSpore or its oneDNN, there is no compiler, it fails, or others may write into the folder.
    """
    called = _called()
    assert_mindspore()
    source = hashlib.sha256(SOURCE.read_bytes()).hexdigest()
    # Several hosts may share a home folder.
    facts = [source, *OPTIONS, *map(str, called), installed(), platform.machine(), *platform.libc_ver()]
    digest = hashlib.sha256("\0".join(facts).encode()).hexdigest()
    path = folder / f"operators-{digest[:16]}.so"
    if ":" in str(path):
        raise KitError(
            "cpu.path-with-colon", "MindSpore loads no library from a path with a colon: {folder}", folder=folder
        )
    try:
        make_private(folder)
        if not _is_whole(path):
            assert_onednn(called[0])
            _compile((*_compiler(environ), *OPTIONS), called, path, environ)
    except OSError as error:
        raise KitError(
            "cpu.cache-folder", "{path}: {reason}", path=error.filename or folder, reason=error.strerror or error
        ) from error
    return path


def hold(path: Path) -> None:
    """Keep the library at `path` in memory: otherwise MindSpore closes it after each shape inference.

    Call it after MindSpore is imported. Raises KitError if it cannot be loaded.
    """
    try:
        ctypes.CDLL(str(path), mode=os.RTLD_NOW)
    except OSError as error:
        raise KitError(
            "cpu.not-loaded",
            "{path} cannot be loaded: {reason}",
            hint=Message("cpu.not-loaded.fix", "rm {path}", path=shlex.quote(str(path))),
            path=path,
            reason=error,
        ) from error


def _called() -> list[Path]:
    """The libraries of MindSpore that are called."""
    mindspore = importlib.util.find_spec("mindspore")
    folder = Path(mindspore.origin or "").parent / "lib" if mindspore else Path()
    files = [folder / name for name in LIBRARIES]
    absent = [file.name for file in files if not file.is_file()]
    if absent:
        raise KitError("cpu.no-library", "this installation of MindSpore has no {library}", library=absent[0])
    return files


def _compiler(environ: Mapping[str, str]) -> Sequence[str]:
    try:
        command = shlex.split(environ.get("CXX", ""))
    except ValueError as error:
        raise KitError("cpu.bad-compiler", "CXX cannot be parsed as a command: {reason}", reason=error) from error
    if command:
        return command
    for name in COMPILERS:
        if shutil.which(name, path=environ.get("PATH")):
            return (name,)
    raise KitError(
        "cpu.no-compiler", "there is no C++ compiler ({names})", fix="apt-get install g++", names=", ".join(COMPILERS)
    )


def _is_whole(path: Path) -> bool:
    """Whether it is there up to the table of sections at its end: a cut one is loaded, and SIGBUS ends the process."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        header, size = file.read(64), os.fstat(file.fileno()).st_size
    if len(header) < 64 or not header.startswith(b"\x7fELF"):
        return False
    (start,), (length, number) = struct.unpack_from("=Q", header, 40), struct.unpack_from("=HH", header, 58)
    return int(start + length * number) <= size


def _compile(command: Sequence[str], called: Sequence[Path], path: Path, environ: Mapping[str, str]) -> None:
    """Write the library to `path`; processes that need it at the same time wait for the first one."""
    end = time.monotonic() + TIMEOUT
    descriptor = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        with suppress(OSError):  # on a file system without locks, each process compiles
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if not _is_whole(path):
            _run_compiler(command, called, path, environ, end)
    finally:
        os.close(descriptor)


def _run_compiler(
    command: Sequence[str], called: Sequence[Path], path: Path, environ: Mapping[str, str], end: float
) -> None:
    made = beside(path)
    sweep(path.parent)
    folders = dict.fromkeys(f"-Wl,-rpath,{file.parent}" for file in called)
    words = [*command, "-o", str(made), str(SOURCE), *map(str, called), *folders]
    try:
        done = subprocess.run(
            words,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=max(0.0, end - time.monotonic()),
            env={**environ, "LC_ALL": "C"},  # _reason parses its messages
        )
        if done.returncode:
            reason = _reason(done.stderr.decode(errors="replace").splitlines()) or f"exit code {done.returncode}"
            raise KitError(
                "cpu.not-compiled",
                "{compiler} cannot compile {source}: {reason}",
                compiler=command[0],
                source=SOURCE.name,
                reason=printable(reason[:200]),
            )
        made.rename(path)
    except subprocess.TimeoutExpired as error:
        raise KitError(
            "cpu.slow-compiler", "{compiler} took longer than {seconds} s", compiler=command[0], seconds=TIMEOUT
        ) from error
    finally:
        made.unlink(missing_ok=True)


def _reason(lines: Sequence[str]) -> str:
    """The line that says why a compiler failed; the line of `collect2` only says that the linker failed."""
    telling = [line for line in lines if re.search(r"error|failed|undefined", line) and not line.startswith("collect2")]
    return next(iter([*telling, *lines]), "")
