"""Logs that are fetched over ssh: data from another server is untrusted until it is validated as a log of the run."""

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hccl_kit.launch.payload import fetch_logs
from hccl_kit.launch.payload.ssh_command import Node

Entry = tuple[str, bytes, bytes]
"""Name, content and type of a member of an archive."""


def archive(*entries: Entry, link: str = "") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, content, kind in entries:
            member = tarfile.TarInfo(name)
            member.size, member.type, member.linkname = len(content), kind, link
            tar.addfile(member, io.BytesIO(content))
    return made.getvalue()


def file(name: str, content: bytes = b"theirs\n") -> Entry:
    return name, content, tarfile.REGTYPE


@pytest.fixture
def fetch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], dict[str, str]]:
    """Fetch from a server that sends these bytes; returns the resulting content of the log folder."""
    logs = tmp_path / "top" / "logs"
    logs.mkdir(parents=True)

    def fetched(sent: bytes) -> dict[str, str]:
        (tmp_path / "sent").write_bytes(sent)
        ssh = tmp_path / "ssh"
        ssh.write_text(f"#!/bin/sh\nexec cat {tmp_path}/sent\n")
        ssh.chmod(0o755)
        monkeypatch.setenv("HCCL_KIT_SSH", str(ssh))
        fetch_logs.fetch_all([Node("n2", "10.0.0.2")], logs)
        return {str(path.relative_to(logs)): path.read_text() for path in sorted(logs.rglob("*")) if path.is_file()}

    return fetched


Fetch = Callable[[bytes], dict[str, str]]


def test_the_logs_of_a_run_are_fetched(fetch: Fetch) -> None:
    names = ["rank_8.log", "rank_8.log.1", "error_8.json", "step_8", "failed", "restart_1/rank_8.log"]
    names += ["facts_8.jsonl", "launcher_1", "plog/10.0.0.2/debug/plog/plog-4711_20260101101010123.log"]
    names += ["restart_1/plog/10.0.0.2/run/device-0/device-4711_20260101101010123.log"]
    directories = [("./", b"", tarfile.DIRTYPE), ("./restart_1/", b"", tarfile.DIRTYPE)]
    assert fetch(archive(*directories, *(file(f"./{name}") for name in names))) == dict.fromkeys(
        sorted(names), "theirs\n"
    )


def test_extended_headers_of_an_archive_are_skipped(fetch: Fetch) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo("./rank_8.log")
        member.size, member.pax_headers = 3, {"comment": "x" * 2000}
        tar.addfile(member, io.BytesIO(b"log"))
    assert fetch(made.getvalue()) == {"rank_8.log": "log"}


@pytest.mark.parametrize(
    "name",
    [
        "{top}/rank_8.log",
        "../rank_8.log",
        "./../rank_8.log",
        "restart_1/../../rank_8.log",
        "restart_1/../rank_9.log",
        "a/rank_8.log",
        ".bashrc",
        "rank_8.log\nx",
        "rank_x.log",
        "rank_8.log.2",
        "restart_x/rank_8.log",
        ".started-here",
        "",
        "restart_1",
        "rank_8.log/",
        "plog/../debug/plog/plog-1_1.log",
        "plog/a/../debug/plog/plog-1_1.log",
        "plog/a/b/plog/plog-1_1.log",
        "plog/a/debug/plog/plog-1_1.sh",
        "plog/a/debug/device-../plog-1_1.log",
    ],
)
def test_files_with_other_names_are_not_fetched(fetch: Fetch, tmp_path: Path, name: str) -> None:
    top = tmp_path / "top"
    assert fetch(archive(file(name.format(top=top)), file("rank_7.log"))) == {"rank_7.log": "theirs\n"}
    assert [path.name for path in top.iterdir()] == ["logs"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, b"S", b"7"])
def test_entries_that_are_not_regular_files_are_not_fetched(fetch: Fetch, tmp_path: Path, kind: bytes) -> None:
    (tmp_path / "top" / "mine").write_text("mine")
    sent = archive(("rank_8.log", b"", kind), file("rank_8.log"), link="../mine")
    assert fetch(sent) == {"rank_8.log": "theirs\n"}
    assert (tmp_path / "top" / "mine").read_text() == "mine"


def test_a_folder_that_is_a_link_is_not_followed(
    fetch: Fetch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "top" / "logs" / "restart_1").symlink_to(outside)
    fetch(archive(file("restart_1/rank_8.log")))
    assert list(outside.iterdir()) == []
    assert "not all logs of server 'n2' were fetched: " in capfd.readouterr().err


def test_a_folder_of_plogs_that_is_a_link_is_not_followed(fetch: Fetch, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "top" / "logs" / "plog").mkdir()
    (tmp_path / "top" / "logs" / "plog" / "a").symlink_to(outside)
    fetch(archive(file("plog/a/debug/plog/plog-1_1.log")))
    assert list(outside.iterdir()) == []


def test_existing_files_are_not_overwritten(fetch: Fetch, tmp_path: Path) -> None:
    logs = tmp_path / "top" / "logs"
    (logs / "rank_0.log").write_text("mine")
    (logs / "rank_1.log").symlink_to(tmp_path / "top" / "made")
    found = fetch(archive(file("rank_0.log"), file("rank_1.log"), file("rank_8.log")))
    assert found == {"rank_0.log": "mine", "rank_8.log": "theirs\n"}
    assert not (tmp_path / "top" / "made").exists()


@pytest.mark.parametrize(("name", "value"), [("MAX_LOG", 10), ("MAX_LOGS", 10), ("MAX_ENTRIES", 1)])
def test_logs_beyond_the_size_limits_are_not_fetched(
    fetch: Fetch, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], name: str, value: int
) -> None:
    monkeypatch.setattr(fetch_logs, name, value)
    found = fetch(archive(file("rank_8.log", b"small"), file("rank_9.log", b"x" * 100)))
    assert found == {"rank_8.log": "small"}
    assert "note: not all logs of server 'n2' were fetched: " in capfd.readouterr().err


def broken(at: int, new: bytes) -> bytes:
    """An archive with changed bytes in the header of its second file, and a recomputed checksum."""
    made = bytearray(archive(file("rank_8.log"), file("rank_9.log")))
    header = bytearray(made[1024:1536])
    header[at : at + len(new)] = new
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    made[1024:1536] = header
    return bytes(made)


@pytest.mark.parametrize(
    "sent",
    [
        broken(124, b"-0000000007\0"),
        broken(124, b"\x80" + b"\xff" * 11),  # a size of 95 bits
        broken(124, b"\xff" * 12),  # a negative one
        broken(124, b"7_7\0"),
        broken(124, b"777777777777"),
        archive(file("rank_8.log"), file("rank_9.log"))[:1100],
        archive(file("rank_8.log"), file("rank_9.log", b"x" * 2000))[:2000],
        archive(file("rank_8.log"))[:1024] + b"\x01" * 5000,
    ],
)
def test_a_damaged_archive_gives_the_files_before_the_damage(
    fetch: Fetch, sent: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    assert fetch(sent) == {"rank_8.log": "theirs\n"}
    assert "note: not all logs of server 'n2' were fetched: " in capfd.readouterr().err


def test_a_server_with_the_same_disk_sends_nothing(fetch: Fetch, capfd: pytest.CaptureFixture[str]) -> None:
    assert fetch(b"") == {}
    assert capfd.readouterr().err == ""


def test_a_server_that_sends_endless_data_is_disconnected(
    fetch: Fetch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fetch_logs, "FETCH_TIMEOUT", 0.5)
    fifo = tmp_path / "sent"
    os.mkfifo(fifo)
    holder = os.open(fifo, os.O_RDWR)
    monkeypatch.setattr(Path, "write_bytes", lambda *_: 0)
    try:
        assert fetch(b"") == {}
    finally:
        os.close(holder)
    assert capfd.readouterr().err == ""
