"""Whole inputs: files, folders, archives, logs of launchers, and files that are not logs."""

# ruff: noqa: E501 - log lines are not wrapped

from __future__ import annotations

import errno
import gzip
import io
import json
import lzma
import os
import random
import re
import socket
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from types import FrameType
from typing import IO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.diagnosis.facts import (
    Connected,
    Evidence,
    Exited,
    Fault,
    Heartbeat,
    Joined,
    LinkTimedOut,
    OperatorEntered,
    OperatorTimedOut,
    Process,
    Step,
)
from hccl_kit.diagnosis.logs import archives, reading, scanning, sources
from hccl_kit.diagnosis.logs.assembling import SEARCH
from hccl_kit.diagnosis.logs.log_file import Found, Log, read_log
from hccl_kit.diagnosis.logs.reader_process import read_archive, read_file
from hccl_kit.diagnosis.logs.reading import read
from tests.diagnosis.logs.lines import GROUP, TIME, events_of, facts_of, info, plog
from tests.launch.jobs import clean_environ
from tests.places import ROOT
from tests.waiting import PATIENCE, wait_until

WAITED = plog("wait socket establish timeout, role[1] rank[9] timeout[120 s]")
NAME = "plog-77_20250615150640500.log"


def kinds(evidence: Evidence) -> list[str]:
    return [type(event.fact).__name__ for event in evidence.events]


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def tar_of(**members: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, text in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


def test_reads_a_folder_of_plogs(tmp_path: Path) -> None:
    write(tmp_path / "worker-0/debug/plog" / NAME, WAITED)
    write(tmp_path / "worker-0/run/plog/plog-77_20250615150641111.log", info("HCCL_BUFFSIZE set by default to [200]M"))
    write(
        tmp_path / "worker-0/run/device-3/device-77_20250615150641111.log",
        "[INFO] HCCP(5,h):2025-06-15-15:06:41.500.000 [s.c:1]tid:5,f(1) : TLS SWITCH (0)\n",
    )
    write(tmp_path / "worker-1/process_log/debug/plog" / NAME, "")
    evidence = read([tmp_path])
    assert {event.process for event in evidence.events} == {Process("worker-0", 77)}
    assert sorted(kinds(evidence)) == ["LinkTimedOut", "Setting", "Tls"]
    assert {file.process for file in evidence.files} == {Process("worker-0", 77), Process("worker-1", 77)}
    (event,) = [event for event in evidence.events if isinstance(event.fact, LinkTimedOut)]
    assert (event.time, event.is_error, event.place.line) == (TIME, True, 1)
    assert event.place.file.endswith(NAME)


def test_workers_with_one_name_are_distinguished(tmp_path: Path) -> None:
    for job in ("a", "b"):
        write(tmp_path / job / "worker-0/debug/plog" / NAME, WAITED)
    assert {file.process.worker for file in read([tmp_path]).files} == {"a/worker-0", "b/worker-0"}


def test_a_file_that_is_given_twice_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path / NAME, WAITED)
    assert kinds(read([path, tmp_path, path])) == ["LinkTimedOut"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_an_archive_is_read_like_its_folder(tmp_path: Path, pack: type[bytes]) -> None:
    long = "d/" * 60
    write(
        tmp_path / "logs.tar",
        pack(
            tar_of(
                **{f"worker-0/{long}debug/plog/{NAME}": WAITED, f"worker-1/run/plog/{NAME}": WAITED, "x.bin": WAITED}
            )
        ),
    )
    evidence = read([tmp_path])
    assert kinds(evidence) == ["LinkTimedOut"] * 2
    assert [file.process.worker for file in evidence.files] == ["d", "worker-1"]
    assert evidence.files[0].file == f"{tmp_path}/logs.tar:worker-0/{long}debug/plog/{NAME}"


def test_an_archive_of_a_worker_is_that_worker(tmp_path: Path) -> None:
    write(tmp_path / "node7.tar.gz", gzip.compress(tar_of(**{f"debug/plog/{NAME}": WAITED})))
    assert read([tmp_path / "node7.tar.gz"]).files[0].process == Process("node7", 77)


def test_reads_a_compressed_log(tmp_path: Path) -> None:
    write(tmp_path / f"{NAME}.gz", gzip.compress(WAITED.encode()))
    assert [event.process.pid for event in read([tmp_path]).events] == [77]


def test_reads_all_streams_of_a_compressed_log(tmp_path: Path) -> None:
    late = lzma.compress(b"nothing\n") + bytes(4) + lzma.compress(WAITED.encode()) + bytes(8)
    write(tmp_path / f"{NAME}.xz", late)
    assert kinds(read([tmp_path])) == ["LinkTimedOut"]
    # The position where a chunk of the file ends does not matter; it may be inside the header of a stream.
    for cut in range(len(late)):
        pieces = archives.unpacked(iter([late[:cut], late[cut:]] if cut else [late]))
        assert b"".join(pieces).endswith(WAITED.encode()) or cut < len(archives.XZ), cut


def test_reads_an_archive_of_several_gzip_members(tmp_path: Path) -> None:
    whole = tar_of(**{f"debug/plog/{NAME}": WAITED})
    for cut in (0, 1, 511, 513):
        write(tmp_path / "node7.tar.gz", gzip.compress(whole[:cut]) + gzip.compress(whole[cut:]))
        assert read([tmp_path / "node7.tar.gz"]).files[0].process == Process("node7", 77)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_truncated_compressed_log_is_read_as_far_as_possible(tmp_path: Path, pack: type[bytes]) -> None:
    noise = "".join(info(f"nothing {random.Random(1).random()}{n * 7919 % 104729}") for n in range(4000))
    data = pack((WAITED + noise).encode())
    path = write(tmp_path / f"{NAME}.gz", data[: len(data) // 2])
    evidence = read([path])
    assert kinds(evidence) == ["LinkTimedOut"]
    assert (evidence.files[0].cut, evidence.notes) == (
        "it ends in the middle",
        (f"{path} was not read to its end: it ends in the middle",),
    )


@pytest.mark.parametrize("name", ["launcher_0", "rank_3.log"])
def test_an_error_in_the_middle_of_any_file_is_noted(tmp_path: Path, name: str) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"1 7\n"
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    found = read_log(Log(name, tmp_path / name, None, pieces()))
    assert found.notes == (f"{name} was not read to its end: Input/output error",)


def test_a_truncated_archive_is_read_as_far_as_possible(tmp_path: Path) -> None:
    whole = tar_of(**{"a/x.log": WAITED, "b/y.log": WAITED * 50})
    path = write(tmp_path / "x.tar", whole[:2000])
    evidence = read([path])
    assert kinds(evidence)[0] == "LinkTimedOut"
    assert "it ends in the middle" in " ".join(evidence.notes)


def header(kind: bytes, size: int = 0, name: str = "a.log") -> bytes:
    """A header of an archive; negative sizes are written as GNU tar writes numbers that are large."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.size = kind, size
    return entry.tobuf(tarfile.GNU_FORMAT)


GOOD = tar_of(**{f"debug/plog/{NAME}": WAITED})[: 512 + (len(WAITED) + 511) // 512 * 512]
END = bytes(1024)
PAX = b"30 path=debug/plog/other.log\n\n".ljust(512, b"\0")
HOSTILE_ARCHIVES = {
    "a name as long as memory": (header(b"L", 1 << 40), "it ends in the middle|too much memory"),
    "a record as long as memory": (header(b"x", 1 << 40), "it ends in the middle|too much memory"),
    "a file that is not all there": (header(b"0", 1 << 40), "it ends in the middle"),
    "a size below zero": (header(b"0", -512) + END, "it is not a tar archive from there on"),
    "a file of holes": (header(b"S") + END, ""),
    "headers of headers": (header(b"x", 512) + PAX + b"".join([header(b"x", 512) + PAX] * 2000), "archive|middle"),
    "links and devices": (b"".join(map(header, (b"1", b"2", b"3", b"4", b"5", b"6"))) + END, ""),
    "no header": (b"x" * 512, "it is not a tar archive from there on"),
    "half a header": (header(b"0")[:100], "it ends in the middle"),
    "no end": (b"", "it ends in the middle"),
}
"""What follows a good log in an archive, and why it is not read to its end."""


def test_hostile_archives_cost_none_of_the_logs_before(tmp_path: Path) -> None:
    for name, (rest, why) in HOSTILE_ARCHIVES.items():
        archive = Log("x.tar", tmp_path / "x.tar", None, iter([GOOD + rest]))
        found: list[Found] = []
        reason = ""
        try:
            found.extend(read_archive(archive))
        except archives.DamagedError as error:
            reason = str(error)
        assert [event.process.pid for part in found for event in part.events] == [77], name
        assert (bool(reason), bool(re.search(why, reason))) == (bool(why), True), (name, reason)


def test_the_number_of_files_of_an_archive_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tar_of(**{f"{number}.log": "" for number in range(3)})
    for most, is_read in ((2, False), (3, True)):
        monkeypatch.setattr(archives, "MAX_ENTRIES", most)
        log = Log("x.tar", tmp_path / "x.tar", None, iter([whole]))
        if is_read:
            assert len(list(read_archive(log))) == 3
        else:
            with pytest.raises(archives.DamagedError, match="more than 2 files"):
                list(read_archive(log))


def test_unpacking_of_a_decompression_bomb_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MIN_UNPACKED", 1 << 20)
    packed = gzip.compress(WAITED.encode() + bytes(64 << 20))
    (found,) = read_file(Log("x.log.gz", tmp_path / "x.log.gz", None, iter([packed])))
    assert found.file
    assert found.file.cut == "it unpacks to more than 300 times its size"
    assert found.file.size < 32 << 20


def test_unsafe_paths_in_an_archive_are_only_used_as_names(tmp_path: Path) -> None:
    write(tmp_path / "x.tar", tar_of(**{f"../../etc/{NAME}": WAITED, f"/root/{NAME}": WAITED}))
    assert {file.process.worker for file in read([tmp_path]).files} == {"etc", "root"}


def test_links_pipes_and_sockets_are_skipped(tmp_path: Path) -> None:
    write(tmp_path / "logs" / NAME, WAITED)
    secret = write(tmp_path / "outside" / "plog-5_20250101000000000.log", WAITED)
    (tmp_path / "logs/link.log").symlink_to(secret)
    (tmp_path / "logs/folder").symlink_to(tmp_path / "outside")
    (tmp_path / "logs/loop").symlink_to(tmp_path / "logs")
    os.mkfifo(tmp_path / "logs/pipe.log")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(tmp_path / "logs/s.log"))
        evidence = read([tmp_path / "logs"])
    assert [event.process.pid for event in evidence.events] == [77]
    assert f"3 symbolic links in {tmp_path / 'logs'}: not followed" in evidence.notes


@pytest.mark.parametrize("make", ["pipe", "device", "missing", "nothing", "unreadable", "nul"])
def test_an_unreadable_input_is_one_error(tmp_path: Path, make: str) -> None:
    path = tmp_path / "x.log"
    if make == "pipe":
        os.mkfifo(path)
    elif make == "device":
        path = Path("/dev/null")
    elif make == "nothing":
        path = tmp_path / "empty"
        path.mkdir()
    elif make == "unreadable":
        path.write_text("x")
        path.chmod(0)
        if os.geteuid() == 0:
            pytest.skip("root reads everything")
    elif make == "nul":
        path = Path("a\0b")
    with pytest.raises(KitError) as error:
        read([path])
    assert "\n" not in error.value.message


def test_a_file_that_vanishes_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / NAME, WAITED)
    gone = write(tmp_path / "plog-78_20250615150640500.log", WAITED)
    listed = sources.listing([tmp_path])
    gone.unlink()
    monkeypatch.setattr(sources, "listing", lambda _: listed)
    evidence = read([tmp_path])
    assert (kinds(evidence), evidence.notes) == (
        ["LinkTimedOut"],
        (f"{gone} cannot be read: No such file or directory",),
    )


def test_other_and_binary_files_are_skipped(tmp_path: Path) -> None:
    write(tmp_path / "checkpoint.ckpt", WAITED)
    write(tmp_path / "b.log", bytes(range(256)) * 100)
    write(tmp_path / NAME, WAITED)
    evidence = read([tmp_path])
    assert [file.process.pid for file in evidence.files] == [77]
    assert evidence.notes == (f"{tmp_path / 'b.log'} is not text",)


def test_a_format_that_is_not_read_is_named(tmp_path: Path) -> None:
    write(tmp_path / NAME, WAITED)
    with zipfile.ZipFile(tmp_path / "logs.log", "w") as file:  # a stored file would be text, with other names and lines
        file.writestr("worker.log", WAITED)
    assert read([tmp_path]).notes == (f"{tmp_path / 'logs.log'} is packed with zip: unpack it first",)


def test_a_folder_without_logs_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "checkpoint.ckpt", WAITED)
    with pytest.raises(KitError, match=r"1 file in .*, none named like a log"):
        read([tmp_path])


@given(st.binary(max_size=2000))
@example(b"[ERROR] " * 200)
@example(b"Traceback (most recent call last):\n\xff\n")
@example(b"connected rankinfo[LINE 99999]: [1];\nconnected rankinfo[LINE 0]: [1]")
def test_any_bytes_are_read(data: bytes) -> None:
    events_of(data)
    events_of(data, "rank_3.log")
    for name in ("launcher_0", "step_3", "error_3.json", "npu_info_after.txt"):
        events_of(data, name)


def test_lines_of_a_hundred_megabytes_take_bounded_memory(tmp_path: Path) -> None:
    with (tmp_path / NAME).open("wb") as file:
        file.write(b"[ERROR] HCCL(" * (8 << 20) + b"\n" + WAITED.encode() + b"|" * (50 << 20))
    started = time.monotonic()
    evidence = read([tmp_path])
    assert kinds(evidence) == ["LinkTimedOut"]
    assert evidence.events[0].place.line == 2
    assert "too long" in evidence.notes[0]
    assert time.monotonic() - started < PATIENCE


def test_a_repetitive_log_keeps_its_first_and_last_lines(tmp_path: Path) -> None:
    many = 3000
    lines = [info(f"Entry-HcclAllReduce: tag[AllReduce_{GROUP}], count[{n}], dataType[int8]") for n in range(many)]
    write(tmp_path / NAME, "".join(lines))
    evidence = read([tmp_path])
    found = [event.fact.elements for event in evidence.events if isinstance(event.fact, OperatorEntered)]
    assert found == [*range(scanning.FIRST), *range(many - scanning.LAST, many)]
    assert [event.place.line for event in evidence.events][-1] == many
    assert "repeats itself" in evidence.notes[0]


def test_a_line_is_searched_only_for_the_keys_of_the_probes_in_it() -> None:
    """All keys in each line made a log of repeated errors take 90 s for 350 MB."""
    search = scanning.Search.of([b"wait socket", b"set by", b"Traceback", b"Trabc"], [b"T(?:race|abc)"])
    assert [(probe.pattern, keys) for probe, keys in search.probes] == [
        (b"T(?:race|abc)", (b"Traceback",)),
        (rb"wait\ socket", (b"wait socket",)),
        (rb"set\ by", (b"set by",)),
        (b"Trabc", (b"Trabc",)),
    ]
    assert max(len(keys) for _, keys in SEARCH.probes) < len(SEARCH.keys) / 4
    assert sorted(key for _, keys in SEARCH.probes for key in keys) == sorted(SEARCH.keys)


@pytest.mark.parametrize("error", ["RuntimeError: timeout connect occurred", "[ERROR] A"])
def test_not_every_line_of_a_log_of_repeated_errors_is_looked_at(tmp_path: Path, error: str) -> None:
    """1 GB of such lines in 3.5 MB took minutes: each was looked at. What stands once between them is found."""
    calls = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    many = "".join(f"{error} {n % 9999}\n" for n in range((6 << 20) // (len(error) + 4)))
    write(tmp_path / NAME, many + WAITED + many)
    sys.setprofile(count)
    try:
        evidence = read([tmp_path])
    finally:
        sys.setprofile(None)
    assert [type(event.fact) for event in evidence.events if event.fact] == [LinkTimedOut]
    assert calls < many.count("\n") / 2


def test_block_and_chunk_sizes_do_not_change_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "x" * 300 + "\n" + WAITED + info("HCCL_BUFFSIZE set by default to [200]M") + "\r\n"
    ) * 5 + "Traceback (most recent call last):\n  x\nValueError: no\nend"
    search = scanning.Search.of([b"wait socket", b"set by", b"Traceback"], [b"T(?:race|abc)"])
    lines: list[list[scanning.Line]] = []
    for size, dense, repeated in product((1, 7, 100, 5000), (0, 9999), (0, 9999)):
        monkeypatch.setattr(scanning, "DENSE", dense)
        monkeypatch.setattr(scanning, "REPEATED", repeated)
        data = text.encode()
        taken: list[scanning.Line] = []

        def take(line: scanning.Line, taken: list[scanning.Line] = taken) -> bool:
            taken.append(line)
            return "Traceback" in line.text or line.text.startswith("  ")

        scanning.scan((data[at : at + size] for at in range(0, len(data), size)), search, take)
        lines.append(taken)
    assert all(one == lines[0] for one in lines)
    assert [line.number for line in lines[0]] == [2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 21, 22, 23]


def test_reads_the_list_of_connected_ranks(tmp_path: Path) -> None:
    def row(number: int, *ranks: int) -> str:
        return plog(
            f"[DisplayConnectionedRank]connected rankinfo[LINE {number}]: "
            + ",".join(f"[{rank:016}]" for rank in ranks)
            + ";"
        )

    total = plog("[DisplayConnectionedRank]total connected num is [10],line num is [2]")
    needed = plog("[DisplayConnectionedRank]need connect rankNum is [16]")
    text = total + needed + row(0, *range(8)) + row(1, 8, 10)
    assert facts_of(text) == [Connected((*range(8), 8, 10), 16)]
    assert facts_of(total + needed + row(0, *range(8))) == []
    assert facts_of(row(0, 0, 2)) == [Connected((0, 2), None)]
    assert facts_of(row(0, *range(8))) == []
    assert facts_of(row(0, *range(8)) + row(1, 9)) == [Connected((*range(8), 9), None)]
    assert facts_of(row(1, 9)) == []
    for at in range(len(text)):
        assert all(fact == Connected((*range(8), 8, 10), 16) for fact in facts_of(text[:at]))


def test_timeouts_of_two_threads_are_distinguished() -> None:
    def part(text: str, thread: str) -> str:
        return plog(f"Task run failed, {text}", thread=thread)

    text = (
        part("base information is streamID:[1], tag[AllReduce_group_name_1].", "[1]")
        + part("base information is streamID:[2], tag[AllGather_group_name_2].", "[2]")
        + part("para information is notify id:[1], remote rank:[4].", "[1]")
        + part("para information is notify id:[2], remote rank:[5].", "[2]")
        + part("base information is streamID:[3], tag[AllReduce_group_name_1].", "[1]")
    )
    found = [(fact.group, fact.awaited) for fact in facts_of(text) if isinstance(fact, OperatorTimedOut)]
    assert found == [("group_name_1", 4), ("group_name_2", 5), ("group_name_1", None)]


def test_reads_the_last_line_of_a_traceback() -> None:
    text = 'start\nTraceback (most recent call last):\n  File "a.py", line 1\n    x()\ntorch.OutOfMemoryError: NPU out of memory\n[rank2]: Traceback (most recent call last):\n[rank1]: Traceback (most recent call last):\n[rank2]:   File\n[rank1]: KeyError: 3\n[rank2]: ValueError: bad\n'
    events = [
        (event.process.rank, event.fact.kind, event.place.line)
        for event in events_of(text, "all.log")
        if isinstance(event.fact, Fault)
    ]
    assert events == [
        (None, "OutOfMemoryError: the memory of the card is used up", 5),
        (1, "KeyError", 9),
        (2, "ValueError", 10),
    ]


ELASTIC = """\
Failures:
[1]:
  time      : 2025-06-15_15:06:40
  rank      : 4 (local_rank: 2)
  exitcode  : 1 (pid: 4712)
[2]:
  rank      : 5 (local_rank: 3)
  exitcode  : -15 (pid: 4713)
Root Cause (first observed failure):
[0]:
  time      : 2025-06-15_15:06:40
  host      : n1
  rank      : 3 (local_rank: 1)
"""


@pytest.mark.parametrize("prefix", ["[1,3]<stderr>:", "node-1: ", "[pod/a/b] ", "2025-06-15T15:06:40.1Z ", "\x1b[31m"])
def test_reads_a_traceback_behind_the_prefix_of_a_tool(prefix: str) -> None:
    lines = ["Traceback (most recent call last):", '  File "a.py", line 1, in f', "ValueError: no"]
    (fault,) = [one for one in facts_of("".join(f"{prefix}{line}\n" for line in lines)) if isinstance(one, Fault)]
    assert fault.kind == "ValueError"


def test_reads_a_traceback_without_its_first_lines_but_no_dump_of_a_stack() -> None:
    lines = ['  File "/x/a.py", line 1, in f', "    g()", "ValueError: no"]
    (fault,) = facts_of("".join(f"(W pid=7) ERROR 05-09 08:06:34 [e.py:4] {line}\n" for line in lines))
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.raised_at) == ("ValueError", "a.py:1")
    assert facts_of('Thread 0x7f (most recent call first):\n  File "/x/a.py", line 1 in f\nValueError: no\n') == []


def test_reads_the_failed_ranks_and_the_first_one_from_torchrun() -> None:
    events = events_of(f"{ELASTIC}  exitcode  : -9 (pid: 4711)\n", "torchrun.log")
    assert [(event.process.pid, event.fact) for event in events] == [
        (4712, Exited(4, 1, None)),
        (4713, Exited(5, None, 15, True)),
        (4711, Exited(3, None, 9, is_first=True)),
    ]


def test_failed_ranks_of_torchrun_do_not_count_if_the_first_one_is_cut_off() -> None:
    assert events_of(ELASTIC, "torchrun.log") == ()


def test_the_rank_in_a_header_of_torch_is_that_of_the_process() -> None:
    text = (
        "[ERROR] 2025-06-15-15:06:40 (PID:77, Device:0, RankID:2) ERR02200 DIST call hccl api failed.\n"
        "EJ0001: [PID: 77] 2025-06-15-15:06:40.500.000 Failed to initialize the HCCP process.\n"
    )
    (event,) = (event for event in events_of(text, "train.log") if isinstance(event.fact, Fault))
    assert isinstance(event.fact, Fault)
    assert event.fact.code == "EJ0001"
    assert Joined(None, 2) in [one.fact for one in events_of(text, "train.log") if one.process == event.process]


def test_heartbeats_in_a_message_on_a_screen_are_of_its_process() -> None:
    wait = "EI0002: [PID: 77] 2025-06-15-15:06:40.500.000 The wait execution of the Notify register times out.\n"
    stuck = (
        "Cluster Exception Location[IP/ID]:[10.0.0.1/6], Arrival Time:[Sun Jun 15 15:00:00 2025],"
        " ExceptionType:[Stuck Occurred]\n"
    )

    def process(text: str) -> int | None:
        (found,) = (event for event in events_of(text, "train.log") if isinstance(event.fact, Heartbeat))
        return found.process.pid

    assert process(f"{wait}there is 1 abnormal device:\n{stuck}") == 77
    assert process(stuck) is None
    assert process(wait + "\n" * 20 + stuck) is None


def test_reads_the_files_of_our_launchers(tmp_path: Path) -> None:
    error = {
        "version": 1,
        "rank": 3,
        "host": "n1",
        "device": 7,
        "pid": 4711,
        "exception": "ValueError",
        "message": "bad",
        "traceback": "x",
        "time": TIME,
    }
    write(tmp_path / "error_3.json", json.dumps(error, indent=1))
    write(tmp_path / "launcher_0", "1767225600 exited 3 1\n1767225600 ending rank 3 1\n1767225601 exited 2 143\n")
    write(tmp_path / "step_2", "41\n")
    write(tmp_path / "step_3", "")
    write(tmp_path / "rank_3.log", "Traceback (most recent call last):\n  x\nValueError: bad\n")
    os.utime(tmp_path / "step_2", (TIME, TIME))
    evidence = read([tmp_path])
    facts = [(event.process, event.fact) for event in evidence.events]
    worker = tmp_path.name
    assert (Process(worker, 4711), Joined(None, 3, server="n1", logic=7)) in facts
    faults = [(process, fact.kind) for process, fact in facts if isinstance(fact, Fault)]
    assert faults == [(Process(worker, 4711), "ValueError")] * 2
    exits = [fact for _, fact in facts if isinstance(fact, Exited)]
    assert exits == [Exited(3, 1, None), Exited(2, None, 15, True)]
    assert (Process(worker, None, 2), Step(2, 41)) in facts
    assert [event.time for event in evidence.events if isinstance(event.fact, Step)] == [TIME]


def test_an_exception_has_its_last_frame_of_the_users_own_code_and_a_message_of_several_lines(tmp_path: Path) -> None:
    frames = '  File "/job/train.py", line 31, in step\n  File "/v/lib/python3.11/site-packages/x.py", line 7, in f\n'
    rule = "-" * 52
    message = f"TypeError: \n{rule}\n- Kernel select failed:\n{rule}\nSelect CPU operator[AllReduce] fail!\n"
    write(tmp_path / "rank_3.log", f"Traceback (most recent call last):\n{frames}{message}")
    faults = [event.fact for event in read([tmp_path]).events if isinstance(event.fact, Fault)]
    assert [(fault.text, fault.raised_at) for fault in faults] == [
        ("TypeError: Kernel select failed: Select CPU operator[AllReduce] fail!", "train.py:31")
    ]


def test_of_a_group_of_exceptions_the_first_one_counts(tmp_path: Path) -> None:
    log = (
        '  + Exception Group Traceback (most recent call last):\n  |   File "/job/main.py", line 9, in <module>\n'
        "  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)\n"
        "  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n"
        '    |   File "/job/data.py", line 3, in load\n    | ValueError: bad label\n'
        "    +---------------- 2 ----------------\n    | KeyError: 'y'\n"
        "    +------------------------------------\n"
    )
    write(tmp_path / "rank_3.log", log)
    evidence = read([tmp_path])
    faults = [event.fact for event in evidence.events if isinstance(event.fact, Fault)]
    assert [(fault.text, fault.raised_at) for fault in faults] == [("ValueError: bad label", "data.py:3")]
    assert [file.has_error for file in evidence.files] == [False]


def test_equal_pids_of_several_hosts_in_one_file_are_several_processes(tmp_path: Path) -> None:
    lines = "Traceback (most recent call last):\n", '  File "a.py", line 1\n', "ValueError: no\n"
    prefixes = ("[pod/job-0/main] (Worker pid=5) ", "[pod/job-1/main] (Worker pid=5) ")
    write(tmp_path / "all.log", "".join(prefix + line for line in lines for prefix in prefixes))
    events = [event for event in read([tmp_path]).events if isinstance(event.fact, Fault)]
    assert [event.process.worker for event in events] == ["job-0", "job-1"]


def test_reading_in_two_processes_gives_the_same_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        write(tmp_path / f"worker-{number}/debug/plog/{NAME}", WAITED)
    alone = read([tmp_path])
    monkeypatch.setattr(reading, "MANY", 1)
    seen: list[tuple[int, int]] = []
    assert read([tmp_path], lambda done, total: seen.append((done, total))) == alone
    assert seen[-1][0] == seen[-1][1] == 4 * len(WAITED)


IN_PROCESSES = """
import sys
from pathlib import Path
from hccl_kit.diagnosis.logs import reading
reading.MANY = 1
reading.read([Path(sys.argv[1])])
"""


def children_of(pid: int) -> list[str]:
    """The processes that the threads of a program have started."""
    pids: list[str] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # the thread has ended
            pids += path.read_text().split()
    return pids


def test_reader_processes_end_if_the_program_is_killed(tmp_path: Path) -> None:
    for number in range(2):
        write(tmp_path / f"worker-{number}/debug/plog/{NAME}", WAITED * 50_000)
    program = tmp_path / "program.py"
    program.write_text(IN_PROCESSES)
    command = [sys.executable, str(program), str(tmp_path)]
    with subprocess.Popen(command, env=clean_environ({"PYTHONPATH": str(ROOT)}), stderr=subprocess.DEVNULL) as process:
        assert wait_until(lambda: len(children_of(process.pid)) == 2)
        pids = children_of(process.pid)
        process.kill()
    assert wait_until(lambda: [pid for pid in pids if Path(f"/proc/{pid}/exe").exists()] == [])


def test_reads_a_log_of_the_shell(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, WAITED.encode())
    os.close(writer)
    file: IO[bytes]
    with os.fdopen(reader, "rb") as file:
        assert kinds(read([Path(f"/dev/fd/{file.fileno()}")])) == ["LinkTimedOut"]


def test_an_unknown_error_line_still_counts_as_an_error(tmp_path: Path) -> None:
    """Otherwise a log that ends after such a line would look like that of a rank without errors, which would be blamed."""
    write(tmp_path / "debug" / NAME, plog("errNo[0x0000000005000099] a sentence of a later release") + "\n")
    write(tmp_path / "run" / NAME, info("a line") + "\n")
    assert {Path(file.file).parent.name: file.has_error for file in read([tmp_path]).files} == {
        "debug": True,
        "run": False,
    }


@pytest.mark.parametrize(("end", "has_error"), [("    modu", True), ("    module()\nKeyError: 1\n", False)])
def test_a_traceback_whose_exception_is_cut_off_counts_as_an_error(
    tmp_path: Path, end: str, *, has_error: bool
) -> None:
    head = 'Traceback (most recent call last):\n  File "/workspace/train.py", line 212, in <module>\n'
    write(tmp_path / "rank_7.log", f"step 1\n{head}{end}")
    assert [file.has_error for file in read([tmp_path]).files] == [has_error]


def test_an_empty_plog_has_lost_its_lines(tmp_path: Path) -> None:
    """CANN makes a log when there is something to write."""
    write(tmp_path / "debug" / "plog" / "plog-7_20251120213540000.log", "")
    write(tmp_path / "rank_0.log", "")
    assert {Path(file.file).name: file.cut for file in read([tmp_path]).files} == {
        "plog-7_20251120213540000.log": "it is empty",
        "rank_0.log": None,
    }
