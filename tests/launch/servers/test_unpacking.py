"""Archives of other servers: only the logs of a run are written, and nothing is overwritten."""

import io
import sys
import tarfile
from pathlib import Path

import pytest

from hccl_kit.launch.servers.fetching import fetch_logs
from hccl_kit.launch.servers.unpacking import MAX_ENTRIES, unpack


def packed(*entries: tuple[str, bytes], **fields: object) -> io.BytesIO:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, data in entries:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            for field, value in fields.items():
                setattr(entry, field, value)
            archive.addfile(entry, io.BytesIO(data))
    target.seek(0)
    return target


def written(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_logs_are_written_below_the_folder_of_the_run(tmp_path: Path) -> None:
    plog = "plog/10.0.0.2/debug/plog/plog-77_20260101.log"
    unpack(packed(("./rank_2.log", b"a"), ("restart_1/rank_2.log", b"b"), (f"./{plog}", b"c")), tmp_path)
    assert written(tmp_path) == {"rank_2.log": "a", "restart_1/rank_2.log": "b", plog: "c"}


def test_nothing_else_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for name in (
        "../rank_1.log",
        "/rank_1.log",
        "hack.sh",
        "restart_1/../../rank_1.log",
        "plog/../../x",
        "rank_1.log/x",
    ):
        unpack(packed((name, b"x")), folder)
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE):
        unpack(packed(("rank_1.log", b""), type=kind, linkname="/etc/passwd"), folder)
    assert list(tmp_path.rglob("*")) == [folder]


def test_what_is_there_is_kept_and_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "rank_1.log").write_text("mine")
    (tmp_path / "rank_2.log").symlink_to(tmp_path / "elsewhere")
    unpack(packed(("rank_1.log", b"theirs"), ("rank_2.log", b"theirs")), tmp_path)
    assert (tmp_path / "rank_1.log").read_text() == "mine"
    assert not (tmp_path / "elsewhere").exists()


def test_a_damaged_archive_is_an_error_and_leaves_no_half_of_a_log(tmp_path: Path) -> None:
    whole = packed(("rank_1.log", b"x" * 5000)).getvalue()
    for data in (whole[:2000], b"x" * 2000):
        with pytest.raises(ValueError, match="the archive is damaged"):
            unpack(io.BytesIO(data), tmp_path)
    assert list(tmp_path.iterdir()) == []
    unpack(io.BytesIO(b""), tmp_path)


def test_sizes_and_numbers_are_limited(tmp_path: Path) -> None:
    many = packed(*((f"x{number}", b"") for number in range(MAX_ENTRIES + 1)))
    with pytest.raises(ValueError, match=f"more than {MAX_ENTRIES} files"):
        unpack(many, tmp_path)
    entry = tarfile.TarInfo("rank_1.log")
    entry.size = 3 << 30
    with pytest.raises(ValueError, match="larger than"):
        unpack(io.BytesIO(entry.tobuf()), tmp_path)


def test_a_header_that_asks_for_memory_ends_only_the_child(tmp_path: Path) -> None:
    entry = tarfile.TarInfo("name")
    entry.type, entry.size = tarfile.XHDTYPE, 8 << 30
    (tmp_path / "header").write_bytes(entry.tobuf())
    endless = ("sh", "-c", f"cat {tmp_path}/header; exec cat /dev/zero")
    said = fetch_logs(["n2"], lambda _server, _command: endless, tmp_path)
    assert [line.partition(":")[0] for line in said] == ["note"]
    assert "not all logs of server n2 were fetched: " in said[0]


def test_a_server_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    words = (sys.executable, "-c", "raise SystemExit(255)")
    assert fetch_logs(["n2"], lambda _server, _command: words, tmp_path) == [
        f"note: not all logs of server n2 were fetched: {sys.executable} ended with exit code 255"
    ]


def test_logs_come_by_the_command_of_a_server(tmp_path: Path) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    for folder in (there, here):
        folder.mkdir()
    (there / "rank_3.log").write_text("three\n")
    assert (
        fetch_logs(["n2"], lambda _server, command: ("env", "-C", str(there), *command[:2], "tar -cf - ."), here) == []
    )
    assert written(here) == {"rank_3.log": "three\n"}
