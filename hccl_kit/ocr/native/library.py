"""The compiled operators.cpp: made once with the C++ compiler of this computer, and kept in the cache folder.

So one pure Python wheel serves all computers. If it cannot be compiled, networks keep the convolutions of MindSpore.
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
from collections.abc import Mapping, Sequence
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.base.private_folder import make_private
from hccl_kit.base.temporary import beside, sweep
from hccl_kit.base.terminal import printable

SOURCE = Path(__file__).with_name("operators.cpp")
COMPILERS = ("c++", "g++", "clang++")
OPTIONS = ("-std=c++17", "-O2", "-shared", "-fPIC", "-Wl,--no-undefined")
LIBRARIES = ("libdnnl.so.3", "libmindspore_core.so", "plugin/libmindspore_ops_cpu.so")
"""The libraries in MindSpore's folder lib that it calls: oneDNN, and two for MindSpore's threads."""
TIMEOUT = 120
MOST_OF_REASON = 1000
"""Bytes of the reason of a failure that other processes read."""
CPU_INFO = Path("/proc/cpuinfo")
ELF_HEADER = 64
"""Bytes of the header of a library of a 64-bit computer."""


def library(folder: Path, environ: Mapping[str, str]) -> Path:
    """The library for this MindSpore in `folder`, compiled if it is not there yet, or damaged.

    CXX names the compiler if it is set; later runs need none. Raises KitError if MindSpore has no oneDNN, there is no
    compiler, it fails, or others may write into the folder.
    """
    called = _called()
    source = hashlib.sha256(SOURCE.read_bytes()).hexdigest()
    # Several hosts may share a home folder.
    facts = [source, *OPTIONS, *map(str, called), _version(), platform.machine(), *platform.libc_ver()]
    path = folder / f"operators-{_name(facts)}.so"
    if ":" in str(path):
        raise KitError(f"MindSpore loads no library from a path with a colon: {folder}")
    try:
        make_private(folder)
        if not _is_whole(path):
            _compile((*_compiler(environ), *OPTIONS), called, path, environ)
    except OSError as error:
        raise KitError(f"{error.filename or folder}: {error.strerror or error}") from error
    return path


def hold(path: Path) -> None:
    """Keep the library at `path` in memory: otherwise MindSpore closes it after each shape inference.

    Call it after MindSpore is imported. Raises KitError if it cannot be loaded.
    """
    try:
        ctypes.CDLL(str(path), mode=os.RTLD_NOW)
    except OSError as error:
        raise KitError(f"{path} cannot be loaded: {error}", hint=f"rm {shlex.quote(str(path))}") from error


def keep_choices(path: Path, environ: Mapping[str, str], cores: int) -> None:
    """Let the library at `path` time the implementations of each convolution when it is computed for the first time.

    The fastest ones are remembered beside the library, for this processor and number of cores.
    """
    try:
        text = CPU_INFO.read_text(encoding="utf-8")
    except OSError:
        text = ""
    first = text.split("\n\n", 1)[0]
    lines = re.findall(r"^(?:model name|flags|CPU part|Features)\s*:.*$", first, re.MULTILINE)
    facts = [*lines, str(cores), environ.get("ONEDNN_MAX_CPU_ISA", ""), _version()]
    ctypes.CDLL(str(path)).keep_choices(os.fsencode(path.with_name(f"fastest-{_name(facts)}.txt")))


def measured_choices(path: Path) -> int:
    """How many convolutions this process has measured."""
    return int(ctypes.CDLL(str(path)).measured_choices())


def _name(facts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()[:16]


def _called() -> list[Path]:
    """The libraries of MindSpore that are called."""
    found = importlib.util.find_spec("mindspore")
    folder = Path(found.origin or "").parent / "lib" if found else Path()
    files = [folder / name for name in LIBRARIES]
    absent = [file.name for file in files if not file.is_file()]
    if absent:
        raise KitError(f"this installation of MindSpore has no {absent[0]}")
    return files


def _version() -> str:
    return importlib.metadata.version("mindspore")


def _compiler(environ: Mapping[str, str]) -> Sequence[str]:
    try:
        command = shlex.split(environ.get("CXX", ""))
    except ValueError as error:
        raise KitError(f"CXX cannot be parsed as a command: {error}") from error
    if command:
        return command
    for name in COMPILERS:
        if shutil.which(name, path=environ.get("PATH")):
            return (name,)
    raise KitError(f"there is no C++ compiler ({', '.join(COMPILERS)})", hint="apt-get install g++")


def _is_whole(path: Path) -> bool:
    """Whether there is a library that is not cut: the table of sections, which a linker writes last, lies within it.

    A cut one, as after a power failure, can be loaded, and SIGBUS ends the process when it uses what is missing.
    """
    if not path.is_file():
        return False
    with path.open("rb") as file:
        header, size = file.read(ELF_HEADER), os.fstat(file.fileno()).st_size
    if len(header) < ELF_HEADER or not header.startswith(b"\x7fELF"):
        return False
    (start,), (length, number) = struct.unpack_from("=Q", header, 40), struct.unpack_from("=HH", header, 58)
    return int(start + length * number) <= size


def _compile(command: Sequence[str], called: Sequence[Path], path: Path, environ: Mapping[str, str]) -> None:
    """Write the library to `path`; processes that need it at the same time wait for the first one.

    If that one fails they fail too, for its reason, which it leaves in the locked file: a compiler that hangs costs a
    server with eight ranks its time limit once.
    """
    descriptor = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        has_waited = _lock(descriptor)
        if _is_whole(path):
            return
        reason = os.pread(descriptor, MOST_OF_REASON, 0).decode(errors="replace")
        if has_waited and reason:
            raise KitError(printable(reason))
        os.ftruncate(descriptor, 0)
        try:
            _run_compiler(command, called, path, environ)
        except KitError as error:
            os.pwrite(descriptor, str(error).encode()[:MOST_OF_REASON], 0)
            raise
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock a file; returns whether another process had it. Without locks on a file system, each compiles its own."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return True
    except OSError:
        pass
    return False


def _run_compiler(command: Sequence[str], called: Sequence[Path], path: Path, environ: Mapping[str, str]) -> None:
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
            timeout=TIMEOUT,
            env={**environ, "LC_ALL": "C"},  # _reason parses its messages
        )
        if done.returncode:
            reason = _reason(done.stderr.decode(errors="replace").splitlines()) or f"exit code {done.returncode}"
            raise KitError(f"{command[0]} cannot compile {SOURCE.name}: {printable(reason[:200])}")
        made.rename(path)
    except subprocess.TimeoutExpired as error:
        raise KitError(f"{command[0]} took longer than {TIMEOUT} s") from error
    finally:
        made.unlink(missing_ok=True)


def _reason(lines: Sequence[str]) -> str:
    """The line that says why a compiler failed; the line of `collect2` only says that the linker failed."""
    telling = [line for line in lines if re.search(r"error|failed|undefined", line) and not line.startswith("collect2")]
    return next(iter([*telling, *lines]), "")
