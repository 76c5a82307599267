"""Programs whose standard streams are full, closed, or without a reader."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hccl_kit.cli import exit_code_of
from tests.places import ROOT
from tests.tables import text

BAD = text(1, 2).replace('"rank_id": "1"', '"rank_id": "0"')
CHECK = ("check", "ok.json")
GEN = ("gen", "--device_num", "[0,4)", "--simulate", "--server_ip", "a")
FILES = ["ascend4p.sh", "hccl_4p_0123_a.json"]


def start(
    folder: Path, program: str, *arguments: str, redirections: str, stdout: int | None = None, buffering: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs a program of the kit in a shell that redirects its streams."""
    (folder / "ok.json").write_text(text())
    (folder / "bad.json").write_text(BAD)
    line = ["sh", "-c", f'exec "$@" {redirections}', "sh", sys.executable, "-m", f"hccl_kit.cli.{program}", *arguments]
    return subprocess.run(
        line,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": buffering},
        stdin=subprocess.DEVNULL,
        stdout=stdout or subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=300,
    )


def unread(folder: Path, program: str, *arguments: str, buffering: str = "") -> subprocess.CompletedProcess[str]:
    """Runs with a standard output whose reader has already closed it."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return start(folder, program, *arguments, redirections="", stdout=writer, buffering=buffering)
    finally:
        os.close(writer)


@pytest.mark.parametrize("command", [CHECK, ("check", *["bad.json"] * 300), GEN, (*GEN, "--dry-run")])
@pytest.mark.parametrize("buffering", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_closed_output_is_neither_success_nor_a_traceback(
    tmp_path: Path, command: tuple[str, ...], buffering: str
) -> None:
    done = unread(tmp_path, *command, buffering=buffering)
    assert (done.returncode, done.stderr) == (141, "")


def test_files_are_written_before_anything_is_printed(tmp_path: Path) -> None:
    unread(tmp_path, *GEN)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name not in ("ok.json", "bad.json")) == FILES


@pytest.mark.parametrize("buffering", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_a_help_that_cannot_be_printed_is_an_error(tmp_path: Path, option: str, buffering: str) -> None:
    done = start(tmp_path, "check", option, redirections=">/dev/full", buffering=buffering)
    assert (done.returncode, done.stderr) == (2, "error: standard output: No space left on device\n")
    done = unread(tmp_path, "check", option, buffering=buffering)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("command", [CHECK, ("check", *["bad.json"] * 300), GEN, (*GEN, "--dry-run")])
@pytest.mark.parametrize(
    ("redirections", "said"),
    [(">/dev/full", "standard output: No space left on device"), (">&-", "standard output is closed")],
)
def test_output_that_cannot_be_written_is_one_line_and_exit_2(
    tmp_path: Path, command: tuple[str, ...], redirections: str, said: str
) -> None:
    done = start(tmp_path, *command, redirections=redirections)
    assert (done.returncode, done.stderr) == (2, f"error: {said}\n")


def test_standard_input_that_is_closed_is_one_line_and_exit_2(tmp_path: Path) -> None:
    done = start(tmp_path, "check", "-", redirections="<&-")
    assert (done.returncode, done.stderr) == (2, "error: cannot read standard input: it is closed\n")


@pytest.mark.parametrize("redirections", ["2>&-", "2>/dev/full"])
def test_an_error_that_cannot_be_printed_keeps_its_exit_code_and_is_not_in_stdout(
    tmp_path: Path, redirections: str
) -> None:
    done = start(tmp_path, "check", "missing.json", "--format", "json", redirections=redirections)
    assert done.returncode == 2
    assert "error" not in done.stdout
    done = start(tmp_path, "gen", "--device_num", "x", redirections=redirections)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError("AF_UNIX path too long"), "error: AF_UNIX path too long\n"),
        (OSError(28, "No space left on device"), "error: standard output: No space left on device\n"),
        (OSError(28, "No space left on device", "x.json"), "error: x.json: No space left on device\n"),
    ],
)
def test_an_error_of_the_system_is_shown_with_its_place(
    error: OSError, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def program() -> int:
        raise error

    assert exit_code_of(program) == 2
    assert capsys.readouterr().err == message
