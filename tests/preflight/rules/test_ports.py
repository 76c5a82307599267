"""Ports of the host are tested by binding, and the process that holds a port is named."""

import os
import pwd
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hccl_kit.launch.hccl_variables import script_variables
from hccl_kit.launch.job_ports import DEFAULT_CARD, DEFAULT_HOST_PORTS
from hccl_kit.preflight.node import CannotTellError
from hccl_kit.preflight.probes.port_holder import holder
from hccl_kit.preflight.rules.ports import card_in_use, port_taken, ports, ports_given_away
from tests.preflight.machines import A2, A3, Machine, machine_of, table_of
from tests.preflight.nodes import HERE, LINK_LOCAL, faults, free_base, messages, node
from tests.preflight.samples import sample


@contextmanager
def listening(port: int, address: str = HERE) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((address, port))
        server.listen()
        yield server


@pytest.mark.parametrize("address", [HERE, "0.0.0.0"])
def test_a_port_in_use_is_reported_with_its_process(address: str) -> None:
    base = free_base()
    where = node(environ={"HCCL_IF_BASE_PORT": str(base)})
    with listening(base + 7, address):
        found = messages(port_taken, where)
    own = Path("/proc/self/comm").read_text().strip()
    (message,) = [message for message in found if f"port {DEFAULT_CARD}" not in message]
    assert re.fullmatch(
        rf"port {base + 7} of {re.escape(HERE)} is taken by {re.escape(own)} \(process {os.getpid()}(, .+)?\)", message
    )


def test_a_port_in_time_wait_is_free() -> None:
    base = free_base()
    with listening(base) as server, socket.create_connection((HERE, base)):
        server.accept()[0].close()  # the side that closes first keeps the port in TIME_WAIT for a minute
    found = messages(port_taken, node(environ={"HCCL_IF_BASE_PORT": str(base)}))
    assert [message for message in found if str(DEFAULT_CARD) not in message] == []


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, [*range(60000, 60032), 16666]),
        ({"HCCL_IF_BASE_PORT": "50000"}, [*range(50000, 50032), 16666]),
        ({"HCCL_IF_BASE_PORT": "65520"}, [*range(65520, 65536), 16666]),
        ({"HCCL_NPU_SOCKET_PORT_RANGE": "61000-61015"}, [*range(60000, 60032)]),
        ({"HCCL_IF_BASE_PORT": "many"}, [*range(60000, 60032), 16666]),
        ({"HCCL_HOST_SOCKET_PORT_RANGE": "auto", "HCCL_IF_BASE_PORT": "50000"}, []),
        ({"HCCL_HOST_SOCKET_PORT_RANGE": "61000, 50000-50002"}, [61000, 50000, 50001, 50002]),
    ],
)
def test_the_ports_are_determined_by_the_variables(environ: dict[str, str], expected: list[int]) -> None:
    assert list(ports(node(environ=environ))) == expected


def test_without_an_address_no_port_is_tried() -> None:
    with pytest.raises(CannotTellError, match="see HK610"):
        messages(port_taken, node(environ={"HCCL_IF_IP": "192.0.2.200"}))


def put_ranges(root: Path, local: str, reserved: str) -> None:
    folder = root / "proc" / "sys" / "net" / "ipv4"
    folder.mkdir(parents=True)
    (folder / "ip_local_port_range").write_text(local)
    (folder / "ip_local_reserved_ports").write_text(reserved)


@pytest.mark.parametrize(
    ("local", "reserved", "expected"),
    [
        ("32768\t60999\n", "\n", "ports 60000 to 60031 lie in the range 32768 to 60999"),
        ("32768\t60999\n", "60000-60031\n", None),
        ("32768\t60999\n", "8080,60000-60015\n", "ports 60016 to 60031"),
        ("32768\t60015\n", "\n", "ports 60000 to 60015"),
        ("1024\t50000\n", "\n", None),
    ],
)
def test_ports_in_the_ephemeral_range_are_reported(
    tmp_path: Path, local: str, reserved: str, expected: str | None
) -> None:
    put_ranges(tmp_path, local, reserved)
    found = messages(ports_given_away, node(root=tmp_path))
    assert len(found) == (expected is not None)
    assert expected is None or expected in found[0]


def test_an_unknown_ephemeral_range_skips_the_check(tmp_path: Path) -> None:
    with pytest.raises(CannotTellError):
        messages(ports_given_away, node(root=tmp_path))


def test_the_process_of_a_port_may_be_invisible(tmp_path: Path) -> None:
    (tmp_path / "proc" / "net").mkdir(parents=True)
    line = "   0: 0100007F:EA60 00000000:0000 {} 00000000:00000000 00:00000000 00000000 0 0 {} 1 x\n"
    (tmp_path / "proc" / "net" / "tcp").write_text("head\n" + line.format("0A", 4711) + line.format("01", 4712))
    assert holder(60000, tmp_path) is None
    process = tmp_path / "proc" / "99"
    (process / "fd").mkdir(parents=True)
    (process / "comm").write_text("py\x1b[2Jthon\n")
    (process / "fd" / "3").symlink_to("socket:[4711]")
    assert holder(60000, tmp_path) == ("py\N{REPLACEMENT CHARACTER}[2Jthon (process 99)", True)
    assert holder(60001, tmp_path) is None
    (process / "fd" / "3").unlink()
    (process / "fd" / "4").symlink_to("socket:[4712]")
    assert holder(60000, tmp_path) == ("a connection of py\N{REPLACEMENT CHARACTER}[2Jthon (process 99)", False)
    (tmp_path / "proc" / "net" / "tcp").write_text("head\n" + line.format("06", 0))
    assert holder(60000, tmp_path) == ("a connection that was just closed", False)
    assert DEFAULT_HOST_PORTS == 32


@contextmanager
def calling_from(port: int) -> Iterator[None]:
    """An outgoing connection from `port`, as the system may choose it, without a listener there."""
    with socket.create_server((HERE, 0)) as server, socket.socket() as caller:
        caller.bind((HERE, port))
        caller.connect(server.getsockname())
        with server.accept()[0]:
            yield


def test_a_port_of_an_outgoing_connection_is_reported_as_such() -> None:
    base = free_base()
    with calling_from(base + 3):
        where = node(environ={"HCCL_IF_BASE_PORT": str(base)})
        (found,) = [fault for fault in faults(port_taken, where) if str(DEFAULT_CARD) not in fault.message]
    own = Path("/proc/self/comm").read_text().strip()
    assert found.message.startswith(
        f"port {base + 3} of {HERE} is taken by a connection of {own} (process {os.getpid()}"
    )
    assert "HK605" in (found.hint or "")


@pytest.mark.skipif(not LINK_LOCAL, reason="this machine has no link-local address")
def test_ports_of_a_link_local_address_are_tested_on_its_interface() -> None:
    base = free_base()
    environ = {"HCCL_IF_IP": LINK_LOCAL[0].address, "HCCL_IF_BASE_PORT": str(base)}
    assert [text for text in messages(port_taken, node(environ=environ)) if str(DEFAULT_CARD) not in text] == []


@pytest.mark.parametrize("job", [0, 7])
def test_planned_ports_are_outside_the_default_ephemeral_range(job: int, tmp_path: Path) -> None:
    put_ranges(tmp_path, "32768\t60999\n", "\n")
    environ = dict(script_variables(node().table, job))
    assert messages(ports_given_away, node(root=tmp_path, environ=environ)) == []


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


def test_the_owner_of_a_real_process_is_found(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    uses(machine, (0, os.getpid(), "python"))
    (machine.root / "proc").symlink_to("/proc")
    monkeypatch.setattr("hccl_kit.preflight.rules.ports.open_files", lambda _folder: None)  # they are not visible
    (message,) = messages(card_in_use, machine.node())
    assert f"process {os.getpid()} of user {pwd.getpwuid(os.geteuid()).pw_name} (" in message
