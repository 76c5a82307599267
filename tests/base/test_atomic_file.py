"""A file has either its old or its new content at every moment, and no temporary file is left behind."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hccl_kit.base import temporary
from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import KitError
from tests.places import ROOT


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(st.binary(max_size=1000) | st.text(st.characters(codec="utf-8"), max_size=1000))
def test_writes_the_content_and_leaves_no_other_file(tmp_path: Path, content: bytes | str) -> None:
    path = tmp_path / "t.json"
    write_atomically(path, content)
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.json"]


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o755])
@pytest.mark.parametrize("umask", [0, 0o022, 0o027, 0o077])
def test_the_mode_is_the_requested_one_minus_the_umask(tmp_path: Path, mode: int, umask: int) -> None:
    (tmp_path / "t").write_text("old")
    (tmp_path / "t").chmod(0o600)
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "t", "x", mode=mode)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "t").stat().st_mode) == mode & ~umask


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o777])
def test_keeps_the_mode_of_the_old_file_despite_the_umask(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "t"
    path.write_text("old")
    path.chmod(mode)
    before = os.umask(0o077)
    try:
        write_atomically(path, "x", like=path.stat())
    finally:
        os.umask(before)
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("x", mode)


def test_a_missing_folder_is_reported_with_the_path(tmp_path: Path) -> None:
    with pytest.raises(KitError) as caught:
        write_atomically(tmp_path / "missing" / "t.json", "x")
    assert caught.value.message == f"cannot write {tmp_path / 'missing' / 't.json'}: No such file or directory"


def test_does_not_replace_a_folder(tmp_path: Path) -> None:
    (tmp_path / "t.json").mkdir()
    (tmp_path / "t.json" / "inside").write_text("kept")
    with pytest.raises(KitError):
        write_atomically(tmp_path / "t.json", "x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.json"]


def test_does_not_replace_a_device(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(KitError, match=f"{path} is not a regular file, so the file cannot be written"):
            write_atomically(path, "text")
        assert not path.is_file()
        assert path.exists()


def test_a_failing_write_keeps_the_old_content(tmp_path: Path) -> None:
    """A limit on the size of files simulates a full disk: the write fails halfway. It runs in a separate process."""
    (tmp_path / "t.json").write_text("old")
    code = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from hccl_kit.base.atomic_file import write_atomically\n"
        "from hccl_kit.base.errors import KitError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n"
        "    write_atomically(Path('t.json'), 'x' * 100_000)\n"
        "except KitError as error:\n"
        "    print(error.message)\n"
    )
    environ = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout == "cannot write t.json: File too large\n"
    assert (tmp_path / "t.json").read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.json"]


def test_an_open_reader_still_sees_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text("old")
    with path.open() as reader:
        write_atomically(path, "new")
        assert reader.read() == "old"
    assert path.read_text() == "new"


@pytest.mark.parametrize("has_links", [True, False])
def test_a_new_file_replaces_none_that_exists(has_links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not has_links:
        monkeypatch.setattr(Path, "hardlink_to", no_link)
    write_atomically(tmp_path / "t", "first", is_new=True)
    with pytest.raises(KitError, match="File exists"):
        write_atomically(tmp_path / "t", "second", is_new=True)
    assert {entry.name: entry.read_text() for entry in tmp_path.iterdir()} == {"t": "first"}


def test_a_failing_rename_leaves_no_empty_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without hard links, an empty file takes the name before the rename."""
    monkeypatch.setattr(Path, "hardlink_to", no_link)
    monkeypatch.setattr(Path, "replace", no_link)
    with pytest.raises(KitError, match="Operation not permitted"):
        write_atomically(tmp_path / "t", "text", is_new=True)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_with_the_same_number_has_left_does_not_stop_a_write(tmp_path: Path) -> None:
    """In a container, a restarted program has the process id that it had before, and its files seem to be its own."""
    for number in range(2000):
        temporary.beside(tmp_path / "a", f"{number}.tmp").touch()
    write_atomically(tmp_path / "a", "text")
    assert (tmp_path / "a").read_text() == "text"


def no_link(_path: Path, _target: Path) -> None:
    """What a file system without hard links answers."""
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
