"""Addresses and super pod ids of the table are compared with those of the cards."""

from pathlib import Path
from typing import Any

import pytest

from hccl_kit.preflight.node import CannotTellError
from hccl_kit.preflight.rules.card_addresses import address_differs, sdid_differs, uses_roce
from tests.preflight.machines import A2, A3, DUO, Machine, machine_of, table_of
from tests.preflight.nodes import faults, messages
from tests.tables import pods_value


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return machine_of(A2, tmp_path, monkeypatch)


def test_a_port_without_address_is_reported_only_if_the_job_needs_it(machine: Machine) -> None:
    (machine.hccn / "ipv4.2").unlink()
    why = "Get ipconf failed, because no ip was preset there!"
    assert messages(address_differs, machine.node()) == [
        f"card 2: the table has 192.168.102.1, its port has no address ({why})"
    ]
    assert messages(address_differs, machine.node(made=table_of(A2, servers=1))) == []


def test_a_placeholder_is_not_an_address(machine: Machine) -> None:
    machine.say("ipv4", 2, "ipaddr:-.-.-.-\n")
    assert machine.reported() == [
        ("HK628", "card 2: the table has 192.168.102.1, its port has no address ('-.-.-.-' is not an IP address)")
    ]


def test_a_table_of_another_server_is_reported_even_for_a_single_server_job(machine: Machine) -> None:
    machine.say("ipv4", 2, "ipaddr:10.0.0.1\n")
    assert len(messages(address_differs, machine.node(made=table_of(A2, servers=1)))) == 1


def test_spellings_of_an_address_are_equal(machine: Machine) -> None:
    made = table_of(A2)
    made["server_list"][0]["device"][0]["device_ip"] = "fd00:0:0::1"
    for server in made["server_list"]:
        for device in server["device"][1:] if server is made["server_list"][0] else server["device"]:
            device["device_ip"] = f"fd00::{server['server_id'][-1]}:{device['device_id']}"
    for card in range(8):
        (machine.hccn / f"ipv4.{card}").unlink()
        machine.say("ipv6", card, f"ipv6_address:fd00:0:0:0:0:0:1:{card}\nprefix_length:64\n")
    machine.say("ipv6", 0, "ipv6_address:FD00::1\nprefix_length:64\n")
    assert messages(address_differs, machine.node(made=made)) == []


def test_the_address_inside_the_super_pod_is_accepted_on_a3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of(A3, tmp_path, monkeypatch)
    address = machine.table["server_list"][0]["device"][6]["device_ip"]
    (machine.hccn / "ipv4.6").unlink()
    machine.say("vnic", 6, f"vnic link status: UP\nvnic ipaddr: {address}\nvnic netmask: 255.255.255.0\n")
    assert messages(address_differs, machine.node()) == []


def ports_of_both_families(machine: Machine) -> dict[str, Any]:
    """A table with the IPv6 addresses of ports that also have IPv4 addresses."""
    made = table_of(A2)
    for server in made["server_list"]:
        for device in server["device"]:
            device["device_ip"] = f"fd00::{server['server_id'][-1]}:{device['device_id']}"
    for card in range(8):
        machine.say("ipv6", card, f"ipv6_address:FD00::1:{card}\nprefix_length:64\n")
    return made


def test_either_address_family_of_a_port_may_match(machine: Machine) -> None:
    made = ports_of_both_families(machine)
    assert messages(address_differs, machine.node(made=made)) == []
    machine.say("ipv6", 3, "ipv6_address:fd00::77\nprefix_length:64\n")
    assert messages(address_differs, machine.node(made=made)) == [
        "card 3: the table has fd00::1:3, its port has 192.168.103.1 and fd00::77"
    ]


def test_either_address_family_in_the_driver_file_may_match(machine: Machine) -> None:
    made = ports_of_both_families(machine)
    machine.without_tools()
    lines = [f"address_{card}=192.168.{100 + card}.1\nIPv6address_{card}=fd00::1:{card}\n" for card in range(8)]
    machine.file("etc/hccn.conf", "".join(lines))
    assert messages(address_differs, machine.node(made=made)) == []


def test_the_super_pod_address_may_match_in_addition_to_another_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machine_of(A3, tmp_path, monkeypatch)
    address = machine.table["server_list"][0]["device"][6]["device_ip"]
    machine.say("ipv4", 6, "ipaddr:10.9.9.9\nnetmask:255.255.255.0\n")
    machine.say("vnic", 6, f"vnic link status: UP\nvnic ipaddr: {address}\nvnic netmask: 255.255.255.0\n")
    assert messages(address_differs, machine.node()) == []


def test_a_broken_tool_is_not_reported_as_a_card_error(machine: Machine) -> None:
    for card in range(8):
        machine.say("ipv4", card, "hccn_tool: error while loading shared libraries: libdsmi.so: cannot open\n")
    assert [rule for rule, _ in machine.reported()] == ["HK638"]
    skipped = dict(machine.look().skipped)
    assert "error while loading" in skipped["HK628"]


def test_without_the_tool_the_file_of_the_driver_is_read(machine: Machine) -> None:
    machine.without_tools()
    lines = [f"address_{card}=192.168.{100 + card}.1\nnetmask_{card}=255.255.255.0\n" for card in range(8)]
    machine.file("etc/hccn.conf", "".join(lines).replace("192.168.105.1", "192.168.105.2"))
    assert messages(address_differs, machine.node()) == [
        "card 5: the table has 192.168.105.1, its port has 192.168.105.2"
    ]
    machine.file("etc/hccn.conf", "".join(lines[:7]).replace("192.168.105.1", "192.168.105.2"))
    assert messages(address_differs, machine.node()) == [
        "card 5: the table has 192.168.105.1, its port has 192.168.105.2",
        "card 7: the table has 192.168.107.1, its port has no address (/etc/hccn.conf has none)",
    ]
    machine.file("etc/hccn.conf", "address_30=10.0.0.1\n")
    with pytest.raises(CannotTellError, match="no address of a card of the table"):
        messages(address_differs, machine.node())


def test_without_tool_and_file_the_check_is_skipped(machine: Machine) -> None:
    machine.without_tools()
    with pytest.raises(CannotTellError, match="hccn_tool not found, see HK623"):
        messages(address_differs, machine.node())


def test_a_tool_that_fails_for_all_cards_is_reported_with_its_message(machine: Machine) -> None:
    for card in range(8):
        machine.say("link", card, "dsmi init failed\n")
    skipped = dict(machine.look().skipped)
    assert skipped["HK630"] == "hccn_tool: -link -g: dsmi init failed"


def test_a_table_without_addresses_has_nothing_to_compare(machine: Machine) -> None:
    made = table_of(A2, servers=1)
    for device in made["server_list"][0]["device"]:
        device["device_ip"] = ""
    with pytest.raises(CannotTellError, match="the table has no device_ip for this server"):
        messages(address_differs, machine.node(made=made))


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (f"SDID : {0xFFFF_FFFF}\nSuper Pod ID : 0\n", "SDID '4294967295' is not valid"),
        ("Failed to get spod info\n", "Failed to get spod info"),
    ],
)
def test_a_single_card_without_super_pod_id_is_reported(
    answer: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machine_of(A3, tmp_path, monkeypatch)
    machine.smi_says("spod.3.1", answer)
    (found,) = faults(sdid_differs, machine.node())
    assert (found.message, found.device) == (f"card 7: npu-smi reports no place in a super pod ({why})", 7)


def test_a_server_without_super_pods_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of(A3, tmp_path, monkeypatch)
    for path in machine.smi.glob("spod.*"):
        path.unlink()
    with pytest.raises(CannotTellError, match="npu-smi: This device does not support querying spod-info"):
        messages(sdid_differs, machine.node())


@pytest.mark.parametrize(
    ("made", "environ", "expected"),
    [
        (table_of(A2, 1), {}, False),
        (table_of(A2, 2), {}, True),
        (table_of(DUO, 1), {"HCCL_INTRA_ROCE_ENABLE": "1"}, True),
        (pods_value(1, 2, 16), {}, False),
        (pods_value(2, 1, 16), {}, True),
    ],
)
def test_jobs_that_use_the_roce_network(
    made: dict[str, object], environ: dict[str, str], expected: bool, machine: Machine
) -> None:
    assert uses_roce(machine.node(made=made, environ=environ, product=None)) is expected
