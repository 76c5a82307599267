"""Many servers are queried at once, with time and size limits. A fake ssh is on PATH."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.preflight import over_ssh
from hccl_kit.preflight.over_ssh import (
    AT_ONCE,
    MAX_OUTPUT,
    OPTIONS,
    Reply,
    program_there,
    refusal,
    run_on_all,
    ssh_command,
)
from tests.interrupts import assert_unseen_interrupt_ends
from tests.waiting import wait_until


def fake_ssh(folder: Path, text: str) -> tuple[str, ...]:
    """A bash program that replaces ssh; its arguments are `-- ADDRESS COMMAND`."""
    path = folder / "ssh"
    path.write_text(f"#!/usr/bin/env bash\n{text}\n")
    path.chmod(0o755)
    return (str(path),)


def ask(
    ssh: tuple[str, ...], questions: list[tuple[str, str]], stdin: bytes = b"", timeout: float = 30.0
) -> list[Reply]:
    return run_on_all(ssh, questions, stdin, timeout=timeout)


def test_each_server_gets_its_command_and_the_same_input(tmp_path: Path) -> None:
    ssh = fake_ssh(tmp_path, 'printf "%s|" "$@"; wc -c')
    table = b"x" * 1_000_000
    said = ask(ssh, [("node1", "a b"), ("node2", "c")], table)
    assert [one.text for one in said] == ["--|node1|a b|1000000\n", "--|node2|c|1000000\n"]
    assert all(one.error is None and one.started <= one.ended for one in said)


def test_the_ssh_of_a_silent_server_is_killed_and_the_server_named(tmp_path: Path) -> None:
    ssh = fake_ssh(tmp_path, f'[ "$2" = node1 ] || exec echo yes; echo $$ >{tmp_path}/pid; sleep 600 & wait')
    slow, quick = ask(ssh, [("node1", ""), ("node2", "")], timeout=5.0)
    assert (slow.error, quick.text) == ("no answer in 5 s", "yes\n")
    group = int((tmp_path / "pid").read_text())
    assert wait_until(lambda: is_gone(group))  # children of a killed process are reaped by init or a subreaper


def is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_the_error_of_ssh_is_reported(tmp_path: Path) -> None:
    ssh = fake_ssh(
        tmp_path, "echo banner >&2; echo 'ssh: connect to host node1 port 22: Connection refused' >&2; exit 255"
    )
    (said,) = ask(ssh, [("node1", "")])
    assert said.error == "ssh: connect to host node1 port 22: Connection refused"
    (said,) = ask(fake_ssh(tmp_path, "exit 3"), [("node1", "")])
    assert said.error == "it printed nothing, exit code 3"
    (said,) = ask((str(tmp_path / "none"),), [("node1", "")])
    assert said.error == f"{tmp_path / 'none'} cannot be started: No such file or directory"


def test_an_endless_response_takes_bounded_memory(tmp_path: Path) -> None:
    (said,) = ask(
        fake_ssh(tmp_path, f"head -c {3 * MAX_OUTPUT} /dev/zero; head -c 1000000 /dev/zero >&2"), [("node1", "")]
    )
    assert (said.error, len(said.text)) == (None, MAX_OUTPUT)


def test_the_number_of_simultaneous_connections_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(over_ssh, "AT_ONCE", 3)
    ssh = fake_ssh(tmp_path, f"echo + >>{tmp_path}/log; sleep 0.2; echo - >>{tmp_path}/log; echo done")
    said = ask(ssh, [(f"node{n}", "") for n in range(9)])
    assert [one.text for one in said] == ["done\n"] * 9
    running = most = 0
    for line in (tmp_path / "log").read_text().split():
        running += 1 if line == "+" else -1
        most = max(most, running)
    assert most == 3
    assert AT_ONCE == 64


def test_many_servers_together_take_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(over_ssh, "MAX_OUTPUTS", 4 * 300_000)
    monkeypatch.setattr(over_ssh, "LEAST_OUTPUT", 200_000)
    ssh = fake_ssh(tmp_path, "head -c 1000000 /dev/zero")
    for count, size in ((4, 300_000), (10, 200_000)):
        assert [len(one.text) for one in ask(ssh, [("node1", "")] * count)] == [size] * count


def test_the_ssh_command_of_the_user_is_used() -> None:
    assert ssh_command({}, []) == ("ssh", *OPTIONS)
    found = ssh_command({"HCCL_KIT_SSH": "ssh -F 'my file' -p 2222"}, ["User=train", "-evil"])
    assert found == ("ssh", "-F", "my file", "-p", "2222", "-o", "User=train", "-o", "-evil", *OPTIONS)
    with pytest.raises(KitError, match="HCCL_KIT_SSH cannot be parsed"):
        ssh_command({"HCCL_KIT_SSH": "ssh 'x"}, [])


@pytest.mark.parametrize("address", ["10.0.0.1", "node-1.example", "fd00::1", "fe80::1%eth0"])
def test_valid_addresses_are_accepted(address: str) -> None:
    assert refusal(address) is None


@pytest.mark.parametrize("address", ["", "-oProxyCommand=x", "rack 1", "a;b", "$(x)", "x" * 300, "a\nb"])
def test_invalid_addresses_are_refused(address: str) -> None:
    assert refusal(address)


def test_an_ssh_that_survives_a_kill_is_abandoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "killpg", lambda *_given: None)
    monkeypatch.setattr("subprocess.Popen.__del__", lambda _process: None)  # it would warn about the running process
    ssh = fake_ssh(tmp_path, f"echo $$ >{tmp_path}/pid; exec sleep 600")
    try:
        (said,) = ask(ssh, [("node1", "")], timeout=5.0)
        assert said.error == "no answer in 5 s"
        os.kill(int((tmp_path / "pid").read_text()), 0)  # it was not waited for
    finally:
        pid = int((tmp_path / "pid").read_text())
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_an_interrupt_ends_the_connections_that_run(tmp_path: Path) -> None:
    ssh = fake_ssh(tmp_path, f"touch {tmp_path}/runs; sleep 30; touch {tmp_path}/ended")

    class Interrupted(list[tuple[str, str]]):
        def __iter__(self) -> Iterator[tuple[str, str]]:
            yield "node1", ""
            assert wait_until((tmp_path / "runs").exists)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(ssh, Interrupted(), timeout=600)
    assert not (tmp_path / "ended").exists()


def test_an_interrupt_that_wakes_no_thread_ends_all(tmp_path: Path) -> None:
    assert_unseen_interrupt_ends(
        "from hccl_kit.preflight.over_ssh import run_on_all",
        "run_on_all(['./sleeper'], [('node1', '')], b'', timeout=600)",
        tmp_path,
    )


def test_finds_the_command_of_hccl_kit_on_another_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert program_there("env A='b c' hccl-kit") == ["env", "A=b c", "hccl-kit"]
    monkeypatch.setattr(sys, "argv", ["python"])
    assert program_there(None) == ["hccl-kit"]
    (tmp_path / "hccl-kit").touch()
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "hccl-kit")])
    assert program_there(None) == [str(tmp_path / "hccl-kit")]
    with pytest.raises(KitError, match="cannot be parsed as a command"):
        program_there("hccl-kit '")
