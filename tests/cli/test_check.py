"""hccl-check as a user meets it: real processes."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from hccl_kit.cli.check import main
from hccl_kit.document import MAX_BYTES
from tests.tables import text

ROOT = Path(__file__).parents[2]
BAD = text(1, 2).replace('"rank_id": "1"', '"rank_id": "0"')


def check(*arguments: str, cwd: Path, stdin: bytes = b"", **variables: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "hccl_kit.cli.check", *arguments]
    environ = os.environ | {"PYTHONPATH": str(ROOT)} | variables
    return subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, env=environ, check=False, timeout=60)


def test_a_good_table_is_one_line_and_exit_0(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text())
    done = check("t.json", "--product", "910", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"t.json: ok, version 1.0, 1 server, 8 devices, product 910\n"


def test_an_error_is_exit_1(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(BAD)
    done = check("t.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.startswith(b"t.json:16:32: HK201 error: rank 0")


@pytest.mark.parametrize("name", ["missing.json", "folder", "nul\\0.json"])
def test_what_cannot_be_read_is_one_line_and_exit_2_after_the_rest_is_judged(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.json").write_text(BAD)
    (tmp_path / "folder").mkdir()
    path = f"{tmp_path}/{name}".replace("\\0", "\0")
    assert main([path, str(tmp_path / "bad.json")]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: cannot read {}: ".format(path.replace("\0", "\N{REPLACEMENT CHARACTER}")))
    assert captured.err.count("\n") == 1
    assert "HK201" in captured.out


def test_standard_input_is_read(tmp_path: Path) -> None:
    done = check("-", cwd=tmp_path, stdin=BAD.encode())
    assert done.returncode == 1
    assert done.stdout.startswith(b"<stdin>:16:32: HK201")


def test_several_files_are_one_json_document(tmp_path: Path) -> None:
    for name, content in (("a.json", text()), ("b.json", BAD), ("c.json", "[")):
        (tmp_path / name).write_text(content)
    done = check("a.json", "b.json", "c.json", "--format", "json", cwd=tmp_path)
    assert done.returncode == 1
    results = json.loads(done.stdout)["results"]
    assert [(result["file"], result["ok"]) for result in results] == [
        ("a.json", True),
        ("b.json", False),
        ("c.json", False),
    ]


def test_the_product_decides(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text(1, 3))
    assert [check("t.json", "--product", name, cwd=tmp_path).returncode for name in ("auto", "a2", "910", "a5")] == [
        0,
        0,
        1,
        1,
    ]


@pytest.mark.parametrize("arguments", [(), ("t.json", "--product", "911"), ("t.json", "--format", "xml")])
def test_a_wrong_command_line_is_exit_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = check(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_an_endless_input_is_read_up_to_the_limit(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hccl_kit.cli.check", "-"]
    with Path("/dev/zero").open() as zero:
        done = subprocess.run(command, cwd=ROOT, stdin=zero, capture_output=True, check=False)
    assert done.returncode == 1
    assert b"HK007" in done.stdout


def test_a_larger_file_is_a_finding(tmp_path: Path) -> None:
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(MAX_BYTES + 2)
    assert b"HK007" in check("large.json", cwd=tmp_path).stdout


def test_a_device_or_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "/dev/zero"):
        done = check(name, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.startswith(f"error: cannot read {name}: it is not a regular file\n".encode())


@pytest.mark.parametrize("name", ["/dev/stdin", "/dev/fd/0"])
def test_what_the_shell_has_opened_is_read(tmp_path: Path, name: str) -> None:
    assert b"HK201" in check(name, cwd=tmp_path, stdin=BAD.encode()).stdout


def test_a_terminal_without_utf8_shows_everything(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(BAD.replace("10.0.0.1", "服务器"), encoding="utf-8")
    done = check("t.json", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"\\u670d" in done.stdout


def on_a_terminal(*arguments: str, cwd: Path, **variables: str) -> str:
    """What the program writes to a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "hccl_kit.cli.check", *arguments]
    environ = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    environ |= {"PYTHONPATH": str(ROOT), "TERM": "xterm"} | variables
    process = subprocess.Popen(command, cwd=cwd, stdout=theirs, env=environ)
    os.close(theirs)
    written = b""
    try:
        while piece := os.read(ours, 4096):
            written += piece
    except OSError:  # Linux says so when the last writer has gone
        pass
    os.close(ours)
    process.wait()
    return written.decode()


def test_color_is_for_terminals_that_want_it(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(BAD)
    assert "\x1b[31m" in on_a_terminal("t.json", cwd=tmp_path)
    assert "\x1b" not in on_a_terminal("t.json", cwd=tmp_path, NO_COLOR="1")
    assert "\x1b" not in on_a_terminal("t.json", cwd=tmp_path, TERM="dumb")
    assert b"\x1b" not in check("t.json", cwd=tmp_path).stdout
