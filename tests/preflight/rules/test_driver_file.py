"""/etc/hccn.conf against the ports of the cards, and a file that cannot be read."""

import os
from pathlib import Path

import pytest

from tests.preflight.machines import A2, A5, Machine, machine_of
from tests.preflight.nodes import table_value


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return machine_of(A2, tmp_path, monkeypatch)


def lines(**changed: str) -> str:
    there = {f"address_{card}": f"192.168.{100 + card}.1" for card in range(8)} | changed
    return "".join(f"{key}={value}\n" for key, value in there.items())


def test_each_stale_line_is_an_error_with_the_card_the_line_and_both_addresses(machine: Machine) -> None:
    machine.file("etc/hccn.conf", lines())
    assert machine.reported() == []
    machine.file("etc/hccn.conf", lines(address_3="192.168.103.77", IPv6address_5="fd00::5"))
    assert machine.reported() == [
        ("HK642", "card 3: /etc/hccn.conf:4 has 192.168.103.77, its port has 192.168.103.1"),
        ("HK642", "card 5: /etc/hccn.conf:9 has fd00::5, its port has 192.168.105.1"),
    ]
    assert not machine.look().ok


def test_a_stale_line_of_a_card_that_the_table_does_not_use_is_named_too(machine: Machine) -> None:
    machine.file("etc/hccn.conf", lines(address_7="192.168.107.77"))
    assert [rule for rule, _ in machine.reported(made=table_value(2, 4))] == ["HK642"]


def test_a_port_without_address_differs_from_its_line_and_a_broken_tool_is_not_compared(machine: Machine) -> None:
    machine.file("etc/hccn.conf", lines())
    (machine.hccn / "ipv4.2").unlink()
    assert ("HK642", "card 2: /etc/hccn.conf:3 has 192.168.102.1, its port has none") in machine.reported()
    for card in range(8):
        machine.say("ipv4", card, "hccn_tool: error while loading shared libraries\n")
    assert [rule for rule, _ in machine.reported()] == ["HK638"]
    assert "HK642" in dict(machine.look().skipped)


def test_spellings_and_the_cards_of_other_tables_do_not_count(machine: Machine) -> None:
    machine.say("ipv6", 1, "ipv6_address:fd00:0:0::1\nprefix_length:64\n")
    machine.file("etc/hccn.conf", lines(IPv6address_1="FD00::1", address_30="10.0.0.1"))
    assert machine.reported() == []


@pytest.mark.parametrize("has_tools", [True, False])
@pytest.mark.parametrize("kind", ["folder", "pipe", "link to nothing", "line"])
def test_what_is_there_and_is_not_a_readable_file_is_never_a_pass(machine: Machine, kind: str, has_tools: bool) -> None:
    path = machine.file("etc/hccn.conf", "address_0=10.0.0\n")
    if kind != "line":
        path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link to nothing":
        path.symlink_to("x")
    if not has_tools:
        machine.without_tools()
    (told,) = [text for rule, text in machine.reported() if rule == "HK643"]
    assert "hccn.conf" in told
    assert "HK642" in dict(machine.look().skipped)
    if kind == "folder" and not has_tools:
        assert any("there is no /etc/hccn.conf" in text for rule, text in machine.reported() if rule == "HK623")


def test_atlas_950_has_other_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of(A5, tmp_path, monkeypatch)
    machine.file("etc/hccn.conf", lines(address_3="10.0.0.77"))
    assert "HK642" not in [rule for rule, _ in machine.reported()]
