"""hccl-check --fix and --diff as a user runs them, on real files."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_check import check, process
from tests.places import ROOT
from tests.tables import text

GOOD = text(2, 2).encode()
BAD = GOOD.replace(b'"server_count": "2"', b'"server_count": 1').replace(b"\n", b"\r\n")
MENDED = GOOD.replace(b"\n", b"\r\n")
DOUBLED = GOOD.replace(b'"rank_id": "3"', b'"rank_id": "2"')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bad.json").write_bytes(BAD)
    (tmp_path / "good.json").write_bytes(GOOD)
    return tmp_path


def test_fix_writes_the_file_and_shows_the_diff(folder: Path) -> None:
    done = check("--fix", "bad.json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert (folder / "bad.json").read_bytes() == MENDED
    lines = done.stdout.split("\n")
    assert lines[:3] == ["--- bad.json", "+++ bad.json", "@@ -1,6 +1,6 @@"]
    assert '-    "server_count": 1,' in lines
    assert '+    "server_count": "2",' in lines
    assert "bad.json: 2 findings (HK102: 1, HK207: 1) fixed" in lines
    assert lines[-2].startswith("bad.json: ok, ")


def test_a_valid_file_is_not_modified(folder: Path) -> None:
    path = folder / "good.json"
    before = path.stat()
    done = check("--fix", "good.json", cwd=folder)
    assert done.returncode == 0
    assert done.stdout == check("good.json", cwd=folder).stdout
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_an_ambiguous_error_is_not_fixed_and_is_exit_1(folder: Path) -> None:
    (folder / "doubled.json").write_bytes(DOUBLED)
    done = check("--fix", "doubled.json", "bad.json", cwd=folder)
    assert done.returncode == 1
    assert (folder / "doubled.json").read_bytes() == DOUBLED
    assert (folder / "bad.json").read_bytes() == MENDED
    assert "doubled.json: nothing fixed: the correct value for HK201 is not certain" in done.stdout


def test_diff_shows_the_changes_and_writes_nothing(folder: Path) -> None:
    done = check("--diff", "bad.json", "good.json", cwd=folder)
    assert done.returncode == 1
    assert (folder / "bad.json").read_bytes() == BAD
    assert '+    "server_count": "2",' in done.stdout
    assert "bad.json: 2 findings (HK102: 1, HK207: 1) fixable" in done.stdout
    assert "HK102 error" in done.stdout
    assert done.stdout.count("---") == 1


def test_findings_that_are_not_selected_are_not_fixed(folder: Path) -> None:
    spoilt = b"\xef\xbb\xbf" + GOOD.replace(b'"server_count": "2"', b'"server_count": "1"').replace(
        b"completed", b"Completed"
    )
    (folder / "bad.json").write_bytes(spoilt)
    assert check("--fix", "--ignore", "HK003,HK110", "bad.json", cwd=folder).returncode == 0
    assert (folder / "bad.json").read_bytes() == b"\xef\xbb\xbf" + GOOD.replace(b"completed", b"Completed")
    assert check("--fix", "--select", "HK003", "bad.json", cwd=folder).returncode == 0
    assert (folder / "bad.json").read_bytes() == GOOD.replace(b"completed", b"Completed")


def test_fix_and_diff_exclude_each_other(folder: Path) -> None:
    assert check("--fix", "--diff", "bad.json", cwd=folder).returncode == 2


def test_standard_input_is_fixed_to_standard_output(folder: Path) -> None:
    done = check("--fix", "-", cwd=folder, stdin=BAD)
    assert (done.returncode, done.stdout.encode()) == (0, MENDED)
    assert "<stdin>: 2 findings" in done.stderr
    assert "<stdin>: ok" in done.stderr
    for same in (GOOD, DOUBLED, b"\xff\xfe{", b""):
        fixed = check("--fix", "-", cwd=folder, stdin=same).stdout
        assert fixed.encode(errors="surrogateescape") == same


def test_incomplete_standard_input_gives_no_truncated_output(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hccl_kit.cli.check.MAX_BYTES", 1000)
    done = check("--fix", "-", cwd=folder, stdin=b" " * 1002)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: cannot fix <stdin>: it is larger than")


def test_with_format_json_standard_output_is_only_json(folder: Path) -> None:
    done = check("--fix", "--format", "json", "bad.json", cwd=folder)
    assert [result["ok"] for result in json.loads(done.stdout)["results"]] == [True]
    assert '+    "server_count": "2",' in done.stderr


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_keeps_the_mode_of_the_file_despite_the_umask(folder: Path, mode: int) -> None:
    (folder / "bad.json").chmod(mode)
    before = os.umask(0o077)
    try:
        assert check("--fix", "bad.json", cwd=folder).returncode == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "bad.json").stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_keeps_the_owner_of_the_file(folder: Path) -> None:
    os.chown(folder / "bad.json", 1234, 5678)
    assert check("--fix", "bad.json", cwd=folder).returncode == 0
    assert ((folder / "bad.json").stat().st_uid, (folder / "bad.json").stat().st_gid) == (1234, 5678)


def test_a_symbolic_link_is_followed_and_kept(folder: Path) -> None:
    (folder / "data").mkdir()
    (folder / "bad.json").rename(folder / "data" / "real.json")
    (folder / "link.json").symlink_to("data/real.json")
    assert check("--fix", "link.json", cwd=folder).returncode == 0
    assert (folder / "link.json").is_symlink()
    assert (folder / "data" / "real.json").read_bytes() == MENDED


def test_a_file_that_cannot_be_written_is_one_message_and_is_unchanged(folder: Path) -> None:
    """A limit on the file size simulates a full disk."""
    program = f"ulimit -f 0; exec {sys.executable} -m hccl_kit.cli.check --fix bad.json good.json"
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", program], cwd=folder, capture_output=True, env=environ, check=False)
    assert done.returncode == 2
    assert done.stderr == f"error: cannot write {folder}/bad.json: File too large\n".encode()
    assert (folder / "bad.json").read_bytes() == BAD
    assert sorted(path.name for path in folder.iterdir()) == ["bad.json", "good.json"]
    assert done.stdout.startswith(b"good.json: ok")


def test_fix_refuses_a_pipe(folder: Path) -> None:
    done = process("--fix", "/dev/stdin", cwd=folder, stdin=BAD)
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: cannot fix /dev/stdin: it is not a regular file\n  fix: ")
