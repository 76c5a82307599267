"""Addresses and super pod ids of the table and of /etc/hccn.conf are compared with those of the cards."""

import os
from typing import Any

import pytest

from hccl_kit.preflight.node import CannotTellError
from hccl_kit.preflight.rules.card_addresses import address_differs, sdid_differs, uses_roce
from tests.preflight.machines import A2, DUO, Machine, table_of
from tests.preflight.nodes import faults, messages, table_value
from tests.tables import pods_value


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


def test_the_address_inside_the_super_pod_is_accepted_on_a3(a3: Machine) -> None:
    address = a3.table["server_list"][0]["device"][6]["device_ip"]
    (a3.hccn / "ipv4.6").unlink()
    a3.say("vnic", 6, f"vnic link status: UP\nvnic ipaddr: {address}\nvnic netmask: 255.255.255.0\n")
    assert messages(address_differs, a3.node()) == []


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


def test_the_super_pod_address_may_match_in_addition_to_another_address(a3: Machine) -> None:
    address = a3.table["server_list"][0]["device"][6]["device_ip"]
    a3.say("ipv4", 6, "ipaddr:10.9.9.9\nnetmask:255.255.255.0\n")
    a3.say("vnic", 6, f"vnic link status: UP\nvnic ipaddr: {address}\nvnic netmask: 255.255.255.0\n")
    assert messages(address_differs, a3.node()) == []


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
def test_a_single_card_without_super_pod_id_is_reported(a3: Machine, answer: str, why: str) -> None:
    a3.smi_says("spod.3.1", answer)
    (found,) = faults(sdid_differs, a3.node())
    assert (found.message, found.device) == (f"card 7: npu-smi reports no place in a super pod ({why})", 7)


def test_a_server_without_super_pods_is_reported(a3: Machine) -> None:
    for path in a3.smi.glob("spod.*"):
        path.unlink()
    with pytest.raises(CannotTellError, match="npu-smi: This device does not support querying spod-info"):
        messages(sdid_differs, a3.node())


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


def test_atlas_950_has_other_names(a5: Machine) -> None:
    a5.file("etc/hccn.conf", lines(address_3="10.0.0.77"))
    assert "HK642" not in [rule for rule, _ in a5.reported()]
