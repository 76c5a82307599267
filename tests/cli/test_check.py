"""hccl-check as a user runs it."""

import fcntl
import json
import os
import pty
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path

import pytest

from hccl_kit.cli.check import main
from tests.places import ROOT
from tests.program import kit
from tests.tables import text

BAD = text(1, 2).replace('"rank_id": "1"', '"rank_id": "0"')


def check(*arguments: str, cwd: Path, stdin: bytes | str = b"", **variables: str) -> subprocess.CompletedProcess[str]:
    return kit("check", *arguments, cwd=cwd, stdin=stdin, variables=variables)


def process(*arguments: str, cwd: Path, stdin: bytes = b"", **variables: str) -> subprocess.CompletedProcess[bytes]:
    """For what is read or written below the streams of Python."""
    command = [sys.executable, "-m", "hccl_kit.cli.check", *arguments]
    environ = os.environ | {"PYTHONPATH": str(ROOT)} | variables
    return subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, env=environ, check=False, timeout=300)


def test_a_good_table_is_one_line_and_exit_0(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text())
    done = check("t.json", "--product", "910", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "t.json: ok, version 1.0, 1 server, 8 devices, product 910\n"


def test_an_error_is_exit_1(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(BAD)
    done = check("t.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("t.json:16:32: HK201 error: rank 0")


@pytest.mark.parametrize("name", ["missing.json", "folder", "nul\\0.json"])
def test_an_unreadable_file_is_one_line_and_exit_2_after_the_rest_is_checked(
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
    done = check("-", cwd=tmp_path, stdin=BAD)
    assert done.returncode == 1
    assert done.stdout.startswith("<stdin>:16:32: HK201")


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


def test_the_product_option_selects_the_rules(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text(1, 3))
    assert [check("t.json", "--product", name, cwd=tmp_path).returncode for name in ("auto", "a2", "910", "a5")] == [
        0,
        0,
        1,
        1,
    ]


@pytest.mark.parametrize("arguments", [(), ("t.json", "--product", "911"), ("t.json", "--format", "xml")])
def test_an_invalid_command_line_is_exit_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = check(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_an_endless_input_is_read_up_to_the_limit(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hccl_kit.cli.check", "-"]
    with Path("/dev/zero").open() as zero:
        done = subprocess.run(command, cwd=ROOT, stdin=zero, capture_output=True, check=False)
    assert done.returncode == 1
    assert b"HK009" in done.stdout


def test_a_device_or_a_pipe_is_refused_without_blocking(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "/dev/zero"):
        done = check(name, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"error: cannot read {name}: it is not a regular file\n")


@pytest.mark.parametrize("name", ["/dev/stdin", "/dev/fd/0"])
def test_reads_a_pipe_that_the_shell_opened(tmp_path: Path, name: str) -> None:
    assert b"HK201" in process(name, cwd=tmp_path, stdin=BAD.encode()).stdout


def test_a_terminal_without_utf8_shows_everything(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(BAD.replace("10.0.0.1", "服务器"), encoding="utf-8")
    done = process("t.json", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"\\u670d" in done.stdout


def on_a_terminal(*arguments: str, cwd: Path, **variables: str) -> str:
    """What the program writes to a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "hccl_kit.cli.check", *arguments]
    environ = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    environ |= {"PYTHONPATH": str(ROOT), "TERM": "xterm"} | variables
    process = subprocess.Popen(command, cwd=cwd, stdout=theirs, env=environ)
    os.close(theirs)
    written = b""
    try:
        while piece := os.read(ours, 4096):
            written += piece
    except OSError:  # Linux raises it when the last writer has closed the terminal
        pass
    os.close(ours)
    process.wait()
    return written.decode()


def test_color_is_only_used_on_terminals_that_support_it(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(BAD)
    assert "\x1b[31m" in on_a_terminal("t.json", cwd=tmp_path)
    assert "\x1b" not in on_a_terminal("t.json", cwd=tmp_path, NO_COLOR="1")
    assert "\x1b" not in on_a_terminal("t.json", cwd=tmp_path, TERM="dumb")
    assert "\x1b" not in check("t.json", cwd=tmp_path).stdout


LOOPBACK = BAD.replace("10.0.0.1", "127.0.0.1")
"""An error (HK201) and a note (HK210)."""


def test_rules_are_selected_and_ignored(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(LOOPBACK)
    for arguments, code, rules in [
        ((), 1, {"HK201", "HK210"}),
        (("--select", "HK201"), 1, {"HK201"}),
        (("--ignore", "HK201"), 0, {"HK210"}),
        (("--ignore", "HK201", "--ignore", "HK210"), 0, set()),
        (("--select", "HK2,HK3", "--ignore", "HK210"), 1, {"HK201"}),
        (("--select", "HK4"), 0, set()),
    ]:
        done = check("t.json", "--format", "json", *arguments, cwd=tmp_path)
        found = json.loads(done.stdout)["results"][0]["findings"]
        assert (done.returncode, {one["rule"] for one in found}) == (code, rules), arguments


def test_an_unreadable_file_is_reported_whatever_is_selected(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text("[")
    assert check("t.json", "--select", "HK4", "--ignore", "HK0", cwd=tmp_path).returncode == 1


def test_an_unknown_rule_is_exit_code_2_and_nothing_is_checked(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(BAD)
    for option in ("--select", "--ignore"):
        done = check("t.json", option, "HK2,HK2O1", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            "error: no rule is named 'HK2O1'; accepted: an id, its beginning or a name, such as HK201, HK2 or"
            " duplicate-rank\n"
            "  fix: hccl-kit rules lists all\n"
        )


def test_strict_turns_warnings_into_errors(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(text())
    assert check("t.txt", cwd=tmp_path).returncode == 0
    done = check("t.txt", "--strict", cwd=tmp_path)
    assert done.returncode == 1
    assert "HK008 error:" in done.stdout
    assert check("t.txt", "--strict", "--ignore", "HK008", cwd=tmp_path).returncode == 0


def test_quiet_reports_errors_only(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(LOOPBACK)
    (tmp_path / "good.json").write_text(text(1, 1).replace("10.0.0.1", "127.0.0.1"))
    done = check("bad.json", "good.json", "--quiet", cwd=tmp_path)
    assert done.returncode == 1
    assert "HK201" in done.stdout
    assert "HK210" not in done.stdout
    assert "good.json" not in done.stdout
    done = check("good.json", "--quiet", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_format_has_the_findings_of_every_file(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(BAD)
    github = check("a.json", "b.json", "--format", "github", cwd=tmp_path)
    assert [line.split(",")[0] for line in github.stdout.split("\n")[:-1]] == [
        "::error file=a.json",
        "::error file=b.json",
        "hccl-check: errors: 2",
    ]
    sarif = check("a.json", "b.json", "--format", "sarif", cwd=tmp_path)
    results = json.loads(sarif.stdout)["runs"][0]["results"]
    files = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results]
    assert files == ["a.json", "b.json"]
    assert (github.returncode, sarif.returncode) == (1, 1)


def test_a_product_that_was_not_named_is_reported(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text().replace('"version": "1.0"', '"version": "1.2"'))
    assert "product a3 (derived from the version; change it with --product)\n" in check("t.json", cwd=tmp_path).stdout
    assert check("t.json", "--product", "a3", cwd=tmp_path).stdout.endswith("product a3\n")


@pytest.mark.parametrize(("name", "platform"), [("jobstart_hccl.json", "ModelArts"), ("hccl.json", "Kubernetes")])
def test_an_error_about_a_missing_file_names_the_table_of_the_platform(
    tmp_path: Path, name: str, platform: str
) -> None:
    (tmp_path / name).write_text(text())
    assert check(str(tmp_path), "--product", "910", cwd=tmp_path).returncode == 0
    done = kit("digest", str(tmp_path), cwd=ROOT)
    assert (done.returncode, done.stdout) == (2, "")
    assert platform in done.stderr
    assert f"hccl-check {tmp_path / name}" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("t.json", "--product", "Ascend910B"), "did you mean a2?"),
        (("t.json", "--product=--"), "argument --product: '--' is not a value"),
        (("",), "error: cannot read '': No such file or directory"),
        (("--prodct", "910"), "unrecognized arguments: --prodct; did you mean --product?"),
        (("t.json", "--select", "HK2", "--ignore", "HK"), "no rule is left to check: --select HK2 --ignore HK"),
    ],
)
def test_a_typo_in_an_option_gets_a_suggestion(tmp_path: Path, arguments: tuple[str, ...], error: str) -> None:
    (tmp_path / "t.json").write_text(text())
    done = check(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout, error in done.stderr) == (2, "", True), done.stderr


def waits_for_more(process: int, pipe: int) -> bool:
    """Whether a process has read everything in a pipe and sleeps, or has ended too early."""
    unread = int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
    state = Path(f"/proc/{process}/stat").read_text().rsplit(")")[-1].split()[0]
    return state == "Z" or (state == "S" and unread == 0)


@pytest.mark.parametrize("options", [(), ("--fix",)], ids=["check", "fix"])
@pytest.mark.parametrize("cut", [100, 70_000])
def test_non_blocking_standard_input_is_read_to_its_end(tmp_path: Path, cut: int, options: tuple[str, ...]) -> None:
    document = text(64, 8).encode()
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    command = [sys.executable, "-m", "hccl_kit.cli.check", *options, "-"]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdin=reader, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ) as made:
        os.close(reader)
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(document[:cut])
            pipe.flush()
            while not waits_for_more(made.pid, pipe.fileno()):
                time.sleep(0.02)
            with suppress(BrokenPipeError):
                pipe.write(document[cut:])
                pipe.flush()
        out, err = made.communicate(timeout=300)
    assert made.returncode == 0, err
    assert out == document if options else b"512 devices" in out
