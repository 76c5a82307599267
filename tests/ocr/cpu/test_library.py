"""The library is compiled once, by one process, and every error is one line."""

import fcntl
import os
import shlex
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.cpu.library import SOURCE, hold, library
from tests.ocr.compiler import NEEDS_COMPILER
from tests.places import ROOT

pytest.importorskip("mindspore")
COPYING = '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncp /bin/sh "$2"\n'
"""A fake compiler whose libraries are whole files of the format."""


def compiler(folder: Path, text: str) -> str:
    """A fake C++ compiler."""
    path = folder / "compiler"
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_it_is_compiled_once_by_the_first_process(tmp_path: Path) -> None:
    """The compiler ends when all three processes have started, so two of them wait for the first one."""
    started = tmp_path / "started"
    started.mkdir()
    wait = f'while [ "$(ls {started} | wc -l)" -lt 3 ]; do sleep 0.02; done'
    slow = COPYING.replace("cp ", f"{wait}\necho x >>{tmp_path}/calls\ncp ")
    environ = {**os.environ, "CXX": compiler(tmp_path, slow), "PYTHONPATH": str(ROOT)}
    program = (
        "import os, pathlib, sys; from hccl_kit.ocr.cpu.library import library; "
        "pathlib.Path(sys.argv[2], str(os.getpid())).touch(); print(library(pathlib.Path(sys.argv[1]), os.environ))"
    )
    argv = [sys.executable, "-c", program, str(tmp_path / "cache"), str(started)]
    processes = [subprocess.Popen(argv, env=environ, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    paths = {process.communicate(timeout=300)[0].strip() for process in processes}
    assert len(paths) == 1
    assert library(tmp_path / "cache", environ) == Path(paths.pop())
    assert (tmp_path / "calls").read_text() == "x\n"
    kept = sorted(path.suffix for path in (tmp_path / "cache").iterdir())
    assert kept == [".lock", ".so"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "#!/bin/sh\necho 'note' >&2\nprintf 'operators.cpp:1: error: \\033[31mno\\n' >&2\nexit 1\n",
            "error: \ufffd[31mno",
        ),
        (
            "#!/bin/sh\nprintf 'in function f\nld: final link failed: No space left on device\n' >&2\n"
            "echo 'collect2: error: ld returned 1 exit status' >&2\nexit 1\n",
            "cannot compile operators.cpp: ld: final link failed: No space left on device",
        ),
        ("#!/bin/sh\nexit 3\n", "cannot compile operators.cpp: exit code 3"),
        ('#!/bin/sh\necho "error: $LC_ALL" >&2\nexit 3\n', "cannot compile operators.cpp: error: C"),
    ],
)
def test_a_failed_compilation_leaves_no_files(text: str, reason: str, tmp_path: Path) -> None:
    environ = {**os.environ, "CXX": compiler(tmp_path, text)}
    with pytest.raises(KitError) as caught:
        library(tmp_path / "cache", environ)
    assert reason in str(caught.value)
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".lock"]


def test_a_process_that_waited_for_another_gives_up_when_that_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler that hangs costs a server with eight ranks its time limit once."""
    monkeypatch.setattr("hccl_kit.ocr.cpu.library.TIMEOUT", 1.0)
    monkeypatch.setattr(fcntl, "flock", lambda *_: time.sleep(1.0))  # another process had it
    with pytest.raises(KitError, match="compiler took longer than"):
        library(tmp_path / "cache", {**os.environ, "CXX": compiler(tmp_path, "#!/bin/sh\nsleep 0.3\n")})


def test_a_damaged_library_is_compiled_again(tmp_path: Path) -> None:
    """Half of one was loaded, and SIGBUS ended each training without a word until somebody emptied the cache."""
    environ = {**os.environ, "CXX": compiler(tmp_path, COPYING)}
    path = library(tmp_path / "cache", environ)
    whole = path.read_bytes()
    for left in (b"", whole[: len(whole) // 2], b"x" * len(whole)):
        path.write_bytes(left)
        assert library(tmp_path / "cache", environ) == path
        assert path.read_bytes() == whole


def test_an_error_about_a_damaged_library_names_the_file_to_remove(tmp_path: Path) -> None:
    (tmp_path / "x.so").write_text("no library")
    with pytest.raises(KitError, match=r"x.so cannot be loaded: ") as caught:
        hold(tmp_path / "x.so")
    assert caught.value.hint == f"rm {tmp_path / 'x.so'}"


@pytest.mark.parametrize(
    ("environ", "reason"),
    [
        ({"PATH": "/nowhere"}, "there is no C++ compiler (c++, g++, clang++)"),
        ({"CXX": "g++ 'x"}, "CXX cannot be parsed as a command: No closing quotation"),
        ({"CXX": "/nowhere/g++"}, "/nowhere/g++: No such file or directory"),
    ],
)
def test_a_missing_compiler_is_reported(environ: dict[str, str], reason: str, tmp_path: Path) -> None:
    with pytest.raises(KitError) as caught:
        library(tmp_path / "cache", environ)
    assert str(caught.value) == reason


def test_a_folder_writable_by_others_is_refused(tmp_path: Path) -> None:
    """Otherwise they could put a library there, which would run as this user."""
    tmp_path.chmod(tmp_path.stat().st_mode | stat.S_IWOTH)
    with pytest.raises(KitError, match="others may write into"):
        library(tmp_path, os.environ)


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    if os.getuid() == 0:  # whose folders are trusted
        os.chown(tmp_path, 2, -1)
    with pytest.raises(KitError, match="belongs to another user") as caught:
        library(tmp_path, os.environ)
    assert caught.value.hint == "set HCCL_KIT_CACHE to a folder of your own"


def test_a_folder_name_that_mindspore_does_not_support_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KitError, match="MindSpore loads no library from a path with a colon"):
        library(tmp_path / "a:b", os.environ)


def test_different_architectures_have_separate_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several hosts may share a home folder."""
    environ = {**os.environ, "CXX": compiler(tmp_path, COPYING)}
    here = library(tmp_path / "cache", environ)
    monkeypatch.setattr("platform.machine", lambda: "other")
    assert library(tmp_path / "cache", environ) != here


def test_no_compiler_is_needed_for_a_compiled_library(tmp_path: Path) -> None:
    """The nodes of a cluster may have no compiler, but share the home folder of the login host."""
    environ = {**os.environ, "CXX": compiler(tmp_path, COPYING)}
    assert library(tmp_path / "cache", environ) == library(tmp_path / "cache", {"PATH": "/nowhere"})


def test_a_blank_compiler_variable_is_ignored(tmp_path: Path) -> None:
    with pytest.raises(KitError, match="there is no C"):
        library(tmp_path, {"CXX": " ", "PATH": "/nowhere"})


def test_a_file_in_place_of_the_folder_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    with pytest.raises(KitError, match="cache: "):
        library(tmp_path / "cache", os.environ)


@NEEDS_COMPILER
def test_the_source_compiles_without_warnings() -> None:
    """Warnings are treated as errors."""
    words = [
        *shlex.split(os.environ.get("CXX") or "c++"),
        "-std=c++17",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsyntax-only",
        str(SOURCE),
    ]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_another_mindspore_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its private interfaces may differ, and then the process would crash."""
    monkeypatch.setattr("hccl_kit.ocr.cpu.library.installed", lambda: "2.11.0")
    with pytest.raises(KitError, match=r"the operators are made for MindSpore 2.10.0, and 2.11.0 is installed"):
        library(tmp_path / "cache", os.environ)


def test_another_onednn_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hccl_kit.ocr.cpu.library.ONEDNN", (3, 9))
    with pytest.raises(KitError, match=r"the operators are made for oneDNN 3.9, and MindSpore has 3.10"):
        library(tmp_path / "cache", os.environ)
