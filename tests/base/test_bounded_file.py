"""A file is read up to its limit; no kind of file can block the reader or exhaust the memory."""

import os
import socket
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from hccl_kit.base.bounded_file import read_bounded, read_descriptor, read_start, read_text
from hccl_kit.base.errors import KitError
from tests.places import ROOT

READ = "import sys, pathlib, hccl_kit.base.bounded_file as b; print(b.read_bounded(pathlib.Path(sys.argv[1]), 5))"


def test_a_file_within_the_limit_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("f")
    assert read_bounded(tmp_path / "f", 5) == read_bounded(tmp_path / "link", 9) == b"12345"
    assert read_start(tmp_path / "f", 3) == b"123"


def test_a_misspelled_file_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "hccl_2s_16p.json").touch()
    with pytest.raises(KitError, match="No such file") as refusal:
        read_start(tmp_path / "hccl_2s_16p.jsn", 5)
    assert refusal.value.hint == f"did you mean {tmp_path}/hccl_2s_16p.json?"
    for other in (tmp_path / "train.yaml", tmp_path / "none" / "hccl_2s_16p.json"):
        with pytest.raises(KitError, match="No such file") as refusal:
            read_start(other, 5)
        assert refusal.value.hint is None


def test_a_link_to_a_missing_file_is_refused_with_its_target(tmp_path: Path) -> None:
    (tmp_path / "table.json").symlink_to("missing.json")
    with pytest.raises(KitError, match="No such file") as refusal:
        read_start(tmp_path / "table.json", 5)
    assert refusal.value.hint == "it is a link to missing.json, which is missing"


def test_a_larger_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"12345")
    with pytest.raises(KitError, match=r"/f is larger than 4 bytes"):
        read_bounded(tmp_path / "f", 4)


def test_a_sparse_file_takes_no_memory(tmp_path: Path) -> None:
    with (tmp_path / "f").open("wb") as file:
        file.truncate(12 << 30)
    tracemalloc.start()
    with pytest.raises(KitError, match=r"/f is larger than 1073741824 bytes"):
        read_bounded(tmp_path / "f", 1 << 30)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_a_pipe_without_a_writer_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = subprocess.run(
        [sys.executable, "-c", READ, tmp_path / "pipe"], cwd=ROOT, capture_output=True, check=False, timeout=300
    )
    assert done.stderr.endswith(b"/pipe: it is not a regular file\n")


def test_a_path_that_is_not_a_regular_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KitError, match="cannot read /dev/zero: it is not a regular file"):
        read_bounded(Path("/dev/zero"), 5)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        with pytest.raises(KitError, match=r"cannot read .*/socket: "):
            read_bounded(tmp_path / "socket", 5)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("missing", "No such file"), (".", "Is a directory"), ("a\0b", "embedded null"), ("x" * 300, "name too long")],
)
def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(KitError, match=f"cannot read .*: .*{reason}"):
        read_bounded(tmp_path / name, 5)


@pytest.mark.parametrize("path", ["/dev/stdin", "/dev/fd/0"])
def test_reads_a_pipe_that_the_shell_opened(path: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READ, path], cwd=ROOT, input=b"12345", capture_output=True, check=True, timeout=300
    )
    assert done.stdout == b"b'12345'\n"


def test_text_is_decoded_as_utf_8_without_its_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(b"\xef\xbb\xbf\xe4\xb8\xad\xe6\x96\x87\r\n")
    assert read_text(path, 100) == "中文\r\n"


def test_an_error_about_invalid_utf_8_names_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(b"ab\xff")
    with pytest.raises(KitError, match=r"words.txt is not UTF-8: byte 2"):
        read_text(path, 100)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x" * 100)
    code = (
        "import os, sys, pathlib, hccl_kit.base.bounded_file as b\n"
        "read = os.read\n"
        "def cut(descriptor, size):\n"
        "    piece = read(descriptor, size)\n"
        "    os.truncate(sys.argv[1], 10)\n"
        "    return piece\n"
        "os.read = cut\n"
        "b.read_bounded(pathlib.Path(sys.argv[1]), 1000)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], cwd=ROOT, capture_output=True, check=False, timeout=300)
    assert done.stderr.endswith(b"/f: it changed while it was read\n"), done.stderr


def test_a_file_that_reports_size_0_is_read_to_the_end() -> None:
    for name in ("/proc/self/maps", "/proc/kallsyms", "/proc/self/mountinfo"):
        whole = read_bounded(Path(name), 1 << 28)
        assert whole.count(b"\n") >= 10
        assert whole.endswith(b"\n")


def test_a_descriptor_without_data_is_refused_if_blocking_is_not_allowed() -> None:
    reading, writing = os.pipe()
    try:
        os.set_blocking(reading, False)
        os.write(writing, b"half")
        with pytest.raises(KitError, match="cannot read x: it has no end"):
            read_descriptor(reading, 100, "x", waits=False)
    finally:
        os.close(reading)
        os.close(writing)
