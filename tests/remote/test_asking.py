"""Many hosts are asked at once, with limits on time and size. A program takes the place of ssh."""

import os
import shlex
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hccl_kit.base.child import MAX_STDERR
from hccl_kit.remote import asking
from hccl_kit.remote.asking import AT_ONCE, LEAST_OUTPUT, Question, Reply
from tests.interrupts import assert_unseen_interrupt_ends
from tests.waiting import PATIENCE, wait_until


def fake_ssh(folder: Path, text: str) -> tuple[str, ...]:
    """A bash program that replaces ssh; its arguments are `-- ADDRESS COMMAND`."""
    path = folder / "ssh"
    path.write_text(f"#!/usr/bin/env bash\n{text}\n")
    path.chmod(0o755)
    return (str(path),)


def ask(ssh: tuple[str, ...], addresses: "list[str]", stdin: bytes = b"", timeout: float = 30.0) -> list[Reply]:
    return asking.ask(ssh, [Question(address, ("a b", "c")) for address in addresses], stdin, timeout=timeout)


def test_each_host_gets_its_command_and_the_same_input(tmp_path: Path) -> None:
    ssh = fake_ssh(tmp_path, 'printf "%s|" "${@: -3}"; wc -c')
    sent = b"x" * 1_000_000
    replies = ask(ssh, ["node1", "node2"], sent)
    assert [reply.text for reply in replies] == [f"--|node{n}|'a b' c|1000000\n" for n in (1, 2)]
    assert all(reply.error is None and reply.started <= reply.ended for reply in replies)


def test_the_ssh_of_a_silent_server_is_killed_and_the_server_named(tmp_path: Path) -> None:
    ssh = fake_ssh(tmp_path, f'[ "${{@: -2:1}}" = node1 ] || exec echo yes; echo $$ >{tmp_path}/pid; sleep 600 & wait')
    slow, quick = ask(ssh, ["node1", "node2"], timeout=5.0)
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
    (said,) = ask(ssh, ["node1"])
    assert said.error == "ssh: connect to host node1 port 22: Connection refused"
    (said,) = ask(fake_ssh(tmp_path, "exit 3"), ["node1"])
    assert said.error == "it printed nothing, exit code 3"
    (said,) = ask((str(tmp_path / "none"),), ["node1"])
    assert said.error == f"{tmp_path / 'none'} cannot be started: No such file or directory"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("exec cat /dev/zero", f"it printed more than {LEAST_OUTPUT} bytes"),
        ("exec cat /dev/zero >&2", "no answer in 1 s"),
        ("exec >&- 2>&-; exec sleep 600", "no answer in 1 s"),
        ("exec sleep 600", "no answer in 1 s"),
        ("exit 0", "it printed nothing, exit code 0"),
        ("head -c 9000 /dev/zero >&2; echo >&2; echo error: this >&2", "error: this"),
    ],
)
def test_a_hostile_host_takes_bounded_time_and_memory(
    text: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "MAX_OUTPUT", LEAST_OUTPUT)
    timeout = 1.0 if error.startswith("no answer") else PATIENCE
    since = time.monotonic()
    (reply,) = ask(fake_ssh(tmp_path, text), ["node1"], timeout=timeout)
    assert (reply.text, reply.error) == ("", error)
    assert len(reply.stderr) <= MAX_STDERR
    assert time.monotonic() - since < PATIENCE


def test_a_host_that_does_not_read_its_input_answers(tmp_path: Path) -> None:
    (reply,) = ask(fake_ssh(tmp_path, "exec <&-; echo yes"), ["node1"], b"x" * 10_000_000)
    assert reply.text == "yes\n"


def test_the_document_is_the_last_object_in_what_a_host_prints() -> None:
    assert Reply('Welcome {\n{"a": 1}\n {"a": 2}\r\nbye\n', 0, 0).document() == '{"a": 2}'


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply("", 0, 0, "no answer in 5 s"), "no answer in 5 s"),
        (Reply("hello {\nbye", 0, 0), "it printed 'bye'"),
        (Reply("\0\x1b[2J", 0, 0), r"it printed '\\x00\\x1b\[2J'"),
        (Reply("hello", 0, 0, stderr="error: too old"), "error: too old"),
    ],
)
def test_what_is_no_document_is_named(reply: Reply, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        reply.document()


def test_the_number_of_simultaneous_connections_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "AT_ONCE", 3)
    ssh = fake_ssh(tmp_path, f"echo + >>{tmp_path}/log; sleep 0.2; echo - >>{tmp_path}/log; echo done")
    said = ask(ssh, [f"node{n}" for n in range(9)])
    assert [one.text for one in said] == ["done\n"] * 9
    running = most = 0
    for line in (tmp_path / "log").read_text().split():
        running += 1 if line == "+" else -1
        most = max(most, running)
    assert most == 3
    assert AT_ONCE == 64


def test_many_hosts_together_take_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "MAX_OUTPUTS", 4 * 300_000)
    monkeypatch.setattr(asking, "LEAST_OUTPUT", 200_000)
    ssh = fake_ssh(tmp_path, "head -c 250000 /dev/zero")
    assert {len(reply.text) for reply in ask(ssh, ["node1"] * 4)} == {250_000}
    assert {reply.error for reply in ask(ssh, ["node1"] * 10)} == {"it printed more than 200000 bytes"}


def test_an_address_that_is_an_option_is_not_asked(tmp_path: Path) -> None:
    (reply,) = ask(fake_ssh(tmp_path, f"touch {shlex.quote(str(tmp_path))}/asked"), ["-oProxyCommand=touch x"])
    assert reply.error == "not a valid address or host name for ssh"
    assert not (tmp_path / "asked").exists()


def test_an_ssh_that_survives_a_kill_is_abandoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "killpg", lambda *_given: None)
    monkeypatch.setattr("subprocess.Popen.__del__", lambda _process: None)  # it would warn about the running process
    ssh = fake_ssh(tmp_path, f"echo $$ >{tmp_path}/pid; exec sleep 600")
    try:
        (said,) = ask(ssh, ["node1"], timeout=5.0)
        assert said.error == "no answer in 5 s"
        os.kill(int((tmp_path / "pid").read_text()), 0)  # it was not waited for
    finally:
        pid = int((tmp_path / "pid").read_text())
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_an_interrupt_ends_the_connections_that_run(tmp_path: Path) -> None:
    ssh = fake_ssh(tmp_path, f"touch {tmp_path}/runs; sleep 30; touch {tmp_path}/ended")

    class Interrupted(list[Question]):
        def __iter__(self) -> Iterator[Question]:
            yield Question("node1", ())
            assert wait_until((tmp_path / "runs").exists)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asking.ask(ssh, Interrupted(), timeout=600)
    assert not (tmp_path / "ended").exists()


def test_an_interrupt_that_wakes_no_thread_ends_all(tmp_path: Path) -> None:
    assert_unseen_interrupt_ends(
        "from hccl_kit.remote.asking import Question, ask",
        "ask(['./sleeper'], [Question('node1', ('x',))], timeout=600)",
        tmp_path,
    )
