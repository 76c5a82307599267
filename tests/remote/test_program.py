"""A program goes over a connection, runs there from memory, and leaves nothing behind."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.remote.program import archive, command, python_of, pythons


def start(sent: bytes, *, size: int, minor: int = 8, folder: Path) -> "subprocess.CompletedProcess[bytes]":
    words = command(sys.executable, "hccl_kit.agent", size=size, minor=minor)
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "TMPDIR": str(folder)}
    return subprocess.run(words, input=sent, check=False, capture_output=True, cwd=folder, env=environ)


def test_what_follows_the_archive_is_the_input_of_the_program(tmp_path: Path) -> None:
    sent = archive(["agent"])
    done = start(sent + b'{"version": 1}\n', size=len(sent), folder=tmp_path)
    assert json.loads(done.stdout)["text"] == "not an assignment of version 2"
    assert list(tmp_path.iterdir()) == []


def test_a_connection_that_ends_early_starts_nothing(tmp_path: Path) -> None:
    sent = archive(["agent"])
    done = start(sent[:100], size=len(sent), folder=tmp_path)
    assert (done.returncode, done.stderr) == (1, b"error: the connection ended before the program was there\n")


def test_a_python_that_is_too_old_is_named_with_its_version(tmp_path: Path) -> None:
    done = start(b"", size=1, minor=99, folder=tmp_path)
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert done.returncode == 1
    assert f"is Python {version}; accepted: 3.99 and later" in done.stderr.decode()
    assert sys.executable in done.stderr.decode()


def test_the_same_files_are_the_same_bytes() -> None:
    assert archive(["agent", "base"]) == archive(["base", "agent"])


def test_each_host_may_have_a_python_of_its_own() -> None:
    given = pythons(["/opt/python/bin/python3", "10.0.0.2=python3.9", "fd00::1=python3.12"])
    assert python_of(given, "10.0.0.1") == "/opt/python/bin/python3"
    assert python_of(given, "node2", "10.0.0.2") == "python3.9"
    assert python_of(given, "fd00::1") == "python3.12"
    assert python_of(pythons([]), "10.0.0.1") == "python3"


def test_a_python_that_is_no_path_is_refused() -> None:
    for text in ("", "-c", "python3 -c x", "a b=python3", "=python3", "$(x)"):
        with pytest.raises(KitError, match="--python"):
            pythons([text])
