"""The masked archive of all that a diagnosis needs."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from hccl_kit import diagnose
from hccl_kit.diagnosis import collecting
from hccl_kit.diagnosis.collecting import collect
from hccl_kit.diagnosis.logs.sources import listing
from hccl_kit.diagnosis.masking import Masker

HEAD = "(4711,python3):2025-11-20-21:35:4{}.500.000 [a.cc:1] [4711]"
SETUP = (
    f"[INFO] HCCL{HEAD.format(0)}[HCCL_TRACE]SetupAgent rankNum[1], rank[0], rootInfo identifier[g],"
    " server[10.9.8.7%eth0], logicDevId[1], phydevId[1], deviceIp[192.168.101.2]\n"
)
FAILED = (
    f"[ERROR] HCCL{HEAD.format(9)}[HcclSocket][Listen] socket type[1], listen on ip[192.168.101.2] and specific"
    " port[16666] fail. Please check the port status and whether the port is being used by other process.\n"
)


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of a rank of 10.9.8.7, and a dmesg that prints the name of this host."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "dmesg").write_text("#!/bin/sh\necho 'secrethost9 kernel: Out of memory: Killed process 4711'\n")
    (tools / "dmesg").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setattr(collecting, "KERNEL_LOGS", ())
    folder = tmp_path / "secrethost9" / "debug" / "plog"
    folder.mkdir(parents=True)
    (folder / "plog-4711_20251120213540000.log").write_text(SETUP + FAILED)
    return tmp_path / "secrethost9"


def test_the_archive_is_masked_and_read_back(logs: Path, tmp_path: Path) -> None:
    others = {"report.json": "{}"}
    collected = collect(listing([logs]).files, others, Masker(["secrethost9"], names=["secrethost9"]))
    with tarfile.open(fileobj=io.BytesIO(collected.data)) as archive:
        texts = [archive.extractfile(member).read().decode() for member in archive.getmembers()]  # type: ignore[union-attr]
        names = archive.getnames()
    assert {"hccl-kit-logs/report.json", "hccl-kit-logs/kernel/dmesg"} <= set(names)
    everything = "\n".join([*names, *texts])
    assert "Killed process 4711" in everything
    assert not any(private in everything for private in ("10.9.8.7", "192.168.101.2", "secrethost9"))
    (tmp_path / "a.tar.gz").write_bytes(collected.data)
    before, after = diagnose([logs]).first_fault, diagnose([tmp_path / "a.tar.gz"]).first_fault
    assert before
    assert after
    assert (after.suspect.rank, after.kind, after.code) == (before.suspect.rank, before.kind, before.code)


def test_of_a_large_log_the_start_and_the_end_are_kept(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "FIRST", 1 << 10)
    monkeypatch.setattr(collecting, "LAST", 1 << 10)
    (logs / "rank_0.log").write_text("first\n" + "x\n" * 5000 + "last\n")
    (logs / "packed.log").write_bytes(b"\x1f\x8b\x08" + b"\0" * 30)
    collected = collect(listing([logs]).files, {}, Masker())
    with tarfile.open(fileobj=io.BytesIO(collected.data)) as archive:
        (member,) = (one for one in archive if one.name.endswith("rank_0.log"))
        text = archive.extractfile(member).read().decode()  # type: ignore[union-attr]
    assert text.startswith("first\n")
    assert text.endswith("x\nlast\n")
    assert len(text) < 3000
    assert [note for note in collected.notes if "packed.log is not collected" in note]
