"""A program of this package that goes over a connection: its packages, zipped, and the command that runs them there.

The other side reads the archive from its standard input into memory, as a file without a name, so nothing is left
behind however it ends. What follows on standard input is the program's. Linux only, for memfd_create.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.base.host_name import is_host
from hccl_kit.base.terminal import printable

PYTHON = "python3"
"""The Python of another host, if the user names none."""
START = """\
import os, sys
if sys.version_info < (3, {minor}):
    sys.exit("error: on %s, %s is Python %d.%d; accepted: 3.{minor} and later; --python HOST=PATH names another" % (
        (os.uname()[1], sys.executable) + sys.version_info[:2]))
file, left = os.memfd_create("hccl_kit"), int(sys.argv[1])
while left:
    piece = os.read(0, min(left, 65536))
    if not piece:
        sys.exit("error: the connection ended before the program was there")
    os.write(file, piece)
    left -= len(piece)
sys.path.insert(0, "/proc/%d/fd/%d" % (os.getpid(), file))
del sys.argv[:2]
import runpy
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
"""What Python does there before the program; {minor} is the oldest version that the program accepts."""
MAIN = 'import runpy\n\nrunpy.run_module("{module}", run_name="__main__", alter_sys=True)\n'
_ROOT = Path(__file__).resolve().parents[1]
_TIME = (1980, 1, 1, 0, 0, 0)


def command(python: str, module: str, *arguments: str, size: int, minor: int) -> tuple[str, ...]:
    """The words that run `module` of an archive of `size` bytes there, with a Python of at least 3.`minor`."""
    return (python, "-I", "-c", START.format(minor=minor), str(size), module, *arguments)


def archive(packages: Iterable[str], main: str = "") -> bytes:
    """These packages of hccl_kit, such as "agent", as a zip; the same bytes for the same files.

    `main` is the package that Python runs if it is given the zip as a program.
    """
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        made.writestr(zipfile.ZipInfo(f"{_ROOT.name}/__init__.py", _TIME), "")
        if main:
            made.writestr(zipfile.ZipInfo("__main__.py", _TIME), MAIN.format(module=f"{_ROOT.name}.{main}"))
        for package in sorted(packages):
            for path in sorted((_ROOT / package).rglob("*")):
                if path.is_file() and path.suffix != ".pyc":
                    entry = zipfile.ZipInfo(path.relative_to(_ROOT.parent).as_posix(), _TIME)
                    made.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target.getvalue()


def pythons(given: Sequence[str]) -> Mapping[str, str]:
    """The values of --python: host -> path of Python there, "" -> that of the others. Raises KitError."""
    paths: dict[str, str] = {}
    for text in given:
        host, equals, path = text.rpartition("=")
        if not re.fullmatch(r"[A-Za-z0-9_./+-]+", path) or path.startswith("-") or (equals and not is_host(host)):
            raise KitError(
                "remote.python",
                "--python {text}; accepted: the path of Python on the other servers, or HOST=PATH for one of them",
                fix="--python /usr/bin/python3.10",
                text=printable(text[:80]),
            )
        paths[host] = path
    return paths


def python_of(given: Mapping[str, str], *names: str) -> str:
    """The Python of a host that is called by any of `names`."""
    return next((given[name] for name in names if name in given), given.get("", PYTHON))
