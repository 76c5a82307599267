"""Which spare replaces which server, the messages to the launch script, and why a job cannot continue."""

import asyncio
import time
from pathlib import Path

import pytest

from hccl_kit.launch.payload.membership import Membership, NoSpareError, Spare
from hccl_kit.launch.payload.ssh_command import Node
from hccl_kit.table import formats
from hccl_kit.table.operations.generate import generate_cluster
from tests.launch.jobs import fake_kit
from tests.launch.payload.test_substitute import entry_of, hosts
from tests.waiting import wait_until

A, B, C, D = (Node(f"10.0.0.{number}", f"10.0.0.{number}") for number in (1, 2, 9, 10))


@pytest.fixture
def members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Membership:
    """Servers A and B, spares C and D, and a fake kit that accepts every table."""
    for name, value in fake_kit(tmp_path, "exit 0").items():
        monkeypatch.setenv(name, value)
    table = tmp_path / "t.json"
    table.write_text(formats.write(generate_cluster(hosts(2, [0]), version="1.0")), encoding="utf-8")
    spares = [Spare(node, entry_of(host)) for node, host in zip((C, D), hosts(2, [0], first=9), strict=True)]
    return Membership((A, B), spares, table, tmp_path)


def replaced(members: Membership, lost: set[Node], *, signal_after: float | None = None) -> list[str]:
    """The result of `replace`; a signal is sent after this many seconds."""

    async def replace() -> list[str]:
        signaled = asyncio.Event()
        if signal_after is not None:
            asyncio.get_running_loop().call_later(signal_after, signaled.set)
        return await members.replace(lost, signaled)

    return asyncio.run(replace())


def test_a_lost_spare_is_replaced_by_the_next_one(members: Membership) -> None:
    assert members.options == []
    assert replaced(members, {B}) == ["spare 10.0.0.9 takes the place of server 10.0.0.2; left: 10.0.0.10"]
    assert members.nodes == (A, C)
    first = members.sha256
    assert replaced(members, {C}) == ["spare 10.0.0.10 takes the place of server 10.0.0.9; left: none"]
    assert members.nodes == (A, D)
    pairs = ["--replace", "10.0.0.2=10.0.0.9", "--replace", "10.0.0.9=10.0.0.10"]
    assert members.options == [*pairs, "--table-sha256", members.sha256]
    assert members.sha256 != first


def test_two_servers_may_be_lost_at_once(members: Membership) -> None:
    assert len(replaced(members, {B, A})) == 2
    assert members.nodes == (C, D)


def test_without_a_spare_the_job_cannot_continue(members: Membership) -> None:
    replaced(members, {A, B})
    with pytest.raises(NoSpareError, match=r"^no spare is left for server 10\.0\.0\.10$"):
        replaced(members, {D})


def test_the_kit_checks_the_new_table(members: Membership, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kit = tmp_path / "bin" / "hccl-kit"
    kit.write_text('#!/bin/sh\necho "$@" >>asked\necho "t.json:1:1: HK201 error: \033[31mno"\nexit 1\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoSpareError) as caught:
        replaced(members, {B})
    (path,) = tmp_path.glob("t-*.json")
    assert str(caught.value) == f"hccl-kit check refuses {path}: t.json:1:1: HK201 error: \\x1b[31mno"
    assert (tmp_path / "asked").read_text() == f"check --quiet --format text {path}\n"
    assert (members.nodes, members.options) == ((A, B), [])  # no logs are fetched from a spare that never ran


def test_a_kit_that_is_not_installed_does_not_stop_the_job(members: Membership, tmp_path: Path) -> None:
    (tmp_path / "bin" / "hccl-kit").write_text("#!/bin/sh\nexit 1\n")  # like `python -m hccl_kit` without the kit
    assert len(replaced(members, {B})) == 1


def test_a_missing_folder_is_one_error_line(members: Membership, tmp_path: Path) -> None:
    members.folder = tmp_path / "gone"
    with pytest.raises(NoSpareError) as caught:
        replaced(members, {B})
    assert str(caught.value) == f"cannot write the new table to {tmp_path}/gone: No such file or directory"


@pytest.mark.parametrize(
    "content", [b'{"version": "1.0", "server_li', b"\xff\xfe", b"", b"[]", b'{"server_list":[{"a":1}]}']
)
def test_a_table_that_was_damaged_meanwhile_is_one_line(members: Membership, content: bytes) -> None:
    members.table.write_bytes(content)
    with pytest.raises(NoSpareError, match="has changed since the job started"):
        replaced(members, {B})


def test_a_missing_table_is_one_error_line(members: Membership) -> None:
    members.table.unlink()
    with pytest.raises(NoSpareError) as caught:
        replaced(members, {B})
    assert str(caught.value) == f"cannot read {members.table}: No such file or directory"


def test_a_signal_ends_a_kit_that_hangs(members: Membership, tmp_path: Path) -> None:
    (tmp_path / "bin" / "hccl-kit").write_text(f"#!/bin/sh\necho $$ >{tmp_path}/pid\nsleep 600 & wait\n")
    began = time.monotonic()
    replaced(members, {B}, signal_after=2.0)
    assert time.monotonic() - began < 30
    session = (tmp_path / "pid").read_text().strip()
    assert wait_until(lambda: not any(_session(path) == session for path in Path("/proc").glob("[0-9]*/stat")))


def _session(stat: Path) -> str:
    try:
        fields = stat.read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return ""
    return "" if fields[0] == "Z" else fields[3]
