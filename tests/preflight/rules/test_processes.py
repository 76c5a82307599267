"""Processes on the cards are reported with id, user and command, and are not touched."""

import subprocess
import sys
from pathlib import Path

import pytest

from hccl_kit.preflight.rules.processes import card_in_use
from tests.preflight.machines import A2, A3, Machine, machine_of, table_of
from tests.preflight.nodes import faults, messages
from tests.preflight.samples import sample


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return machine_of(A2, tmp_path, monkeypatch)


def runs(machine: Machine, pid: int, command: str, *, user: int = 0, opens: str = "/dev/davinci0") -> None:
    """A process in the folder proc."""
    machine.file(f"proc/{pid}/status", f"Name:\tx\nUid:\t{user}\t{user}\t{user}\t{user}\n")
    machine.file(f"proc/{pid}/cmdline", command.replace(" ", "\0") + "\0")
    machine.file(f"proc/{pid}/comm", "x\n")
    (machine.root / f"proc/{pid}/fd").mkdir()
    (machine.root / f"proc/{pid}/fd/7").symlink_to(opens)


def uses(machine: Machine, *rows: tuple[int, int, str]) -> None:
    """Sets the processes of npu-smi: rows of NPU, process id and name."""
    text = sample("a2/npu-smi-info.txt")
    machine.smi_says("info", text + "".join(f"| {npu} 0 | {pid} | {name} | 90 |\n" for npu, pid, name in rows))


def test_a_process_is_named_with_user_and_command_and_all_its_cards(machine: Machine) -> None:
    uses(machine, *[(npu, 4711, "python") for npu in range(8)])
    runs(machine, 4711, "python -u train.py", user=0)
    (found,) = faults(card_in_use, machine.node())
    assert found.message == 'process 4711 of user root ("python -u train.py") uses cards 0 to 7'
    assert found.hint == "ask the owner; if left over from an old job: kill 4711, and wait 10 s"
    assert found.device is None


def test_equal_processes_of_a_job_are_one_line(machine: Machine) -> None:
    uses(machine, *[(npu, 100 + npu, "python") for npu in range(8)])
    for npu in range(8):
        runs(machine, 100 + npu, "python train.py", user=4242)
    assert messages(card_in_use, machine.node()) == [
        'processes 100, 101, 102, 103, 104, 105, 106, 107 of user 4242 ("python train.py") use cards 0 to 7'
    ]


def test_an_invisible_process_is_reported_with_the_data_of_npu_smi(machine: Machine) -> None:
    machine.smi_says("info", sample("a2/npu-smi-info-busy.txt"))
    assert messages(card_in_use, machine.node()) == [
        "process 1333928 (not visible from here) uses card 2",
        'processes 47881, 47892 ("python", not visible from here) use card 3',
    ]


def test_another_process_with_the_same_id_is_not_mistaken_for_it(machine: Machine) -> None:
    uses(machine, (0, 4711, "python"))
    runs(machine, 4711, "sshd", opens="/dev/null")
    assert messages(card_in_use, machine.node()) == ['process 4711 ("python", not visible from here) uses card 0']


def test_the_id_inside_the_container_takes_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of(A3, tmp_path, monkeypatch)
    row = "| 1       1                 | 632268        | python3.1          | 197                   | 42 |\n"
    machine.smi_says("info", sample("a3/npu-smi-info.txt") + row)
    runs(machine, 42, "python3.11 train.py")
    runs(machine, 632268, "another of this container")
    (found,) = faults(card_in_use, machine.node())
    assert found.message == 'process 632268 of user root ("python3.11 train.py") uses card 3'
    assert found.device == 3


def test_processes_on_unused_cards_are_ignored(machine: Machine) -> None:
    uses(machine, (7, 4711, "python"))
    assert messages(card_in_use, machine.node(made=table_of(A2._replace(cards=4)))) == []


def test_a_command_is_printable_and_short(machine: Machine) -> None:
    uses(machine, (0, 4711, "python"))
    runs(machine, 4711, "python \x1b[2J" + "x" * 10_000)
    (message,) = messages(card_in_use, machine.node())
    assert message.isprintable()
    assert len(message) < 200


def test_a_real_process_is_not_touched(machine: Machine) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        uses(machine, (0, process.pid, "python"))
        (machine.root / "proc").symlink_to("/proc")
        (message,) = messages(card_in_use, machine.node())
        assert str(process.pid) in message
        assert process.poll() is None
        assert process.stdin is not None
        process.stdin.close()
    assert process.returncode == 1  # it ended by itself, at the end of its input
