"""Links, reachability and TLS of the network ports of cards."""

from pathlib import Path
from typing import Any

import pytest

from hccl_kit.preflight.node import CannotTellError
from hccl_kit.preflight.probes.cards import named
from hccl_kit.preflight.rules.card_links import gateway_not_set, link_down, network_unreachable, tls_mixed, tls_switches
from tests.preflight.machines import A2, GENERATIONS, Machine, machine_of
from tests.preflight.nodes import messages
from tests.tables import value

NO_GATEWAY = "no gateway is set, and other servers have addresses outside the card's network"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return machine_of(A2, tmp_path, monkeypatch)


def say(machine: Machine, word: str, text: str, *cards: int) -> None:
    for card in cards or range(8):
        machine.say(word, card, text)


def test_an_unexpected_tool_output_for_a_card_is_quoted(machine: Machine) -> None:
    say(machine, "link", "Cmd execute failed, ret = 22\n", 6)
    assert messages(link_down, machine.node()) == ["card 6: -link -g: Cmd execute failed, ret = 22"]


@pytest.mark.parametrize("state", ["Fault", "Receive timeout", "Unreachable", "Socket fail", "Unknown"])
def test_an_unreachable_network_is_reported(machine: Machine, state: str) -> None:
    say(machine, "net_health", f"net health status: {state}\n")
    assert messages(network_unreachable, machine.node()) == [f"cards 0 to 7: net health status {state}"]


@pytest.mark.parametrize("state", ["Success", "Init", "Detect ip set"])
def test_a_reachable_or_unprobed_network_is_not_reported(machine: Machine, state: str) -> None:
    say(machine, "net_health", f"net health status: {state}\n")
    assert messages(network_unreachable, machine.node()) == []


@pytest.mark.parametrize("answer", ["netdetect addr: 0.0.0.0\n", "Get netdetect failed, because it is not set!\n"])
def test_cards_without_a_netdetect_address_are_one_line(machine: Machine, answer: str) -> None:
    say(machine, "netdetect", answer)
    assert messages(gateway_not_set, machine.node()) == [
        "cards 0 to 7: no netdetect address is set, so link health cannot be probed"
    ]


@pytest.mark.parametrize("word", ["gateway", "netdetect"])
def test_an_error_message_is_not_mistaken_for_an_unset_address(machine: Machine, word: str) -> None:
    say(machine, word, "Cmd execute failed, ret = 22\n", 6)
    assert messages(gateway_not_set, machine.node()) == [f"card 6: -{word} -g: Cmd execute failed, ret = 22"]
    say(machine, word, "Cmd execute failed, ret = 22\n")
    with pytest.raises(CannotTellError, match="Cmd execute failed"):
        messages(gateway_not_set, machine.node())


def test_a_card_whose_health_is_missing_is_reported(machine: Machine) -> None:
    say(machine, "net_health", "Cmd execute failed, ret = 22\n", 6)
    assert messages(network_unreachable, machine.node()) == ["card 6: -net_health -g: Cmd execute failed, ret = 22"]


def of_cards(made: dict[str, Any], *cards: int) -> dict[str, Any]:
    """The table with addresses only on these cards of each server."""
    for number, server in enumerate(made["server_list"]):
        server["host_ip"] = f"10.0.0.{number + 1}"
        for device in server["device"]:
            if int(device["device_id"]) not in cards:
                del device["device_ip"]
    return made


def test_a_port_that_is_down_but_unused_is_ignored(machine: Machine) -> None:
    say(machine, "link", "link status: DOWN\n", 1, 3)
    assert messages(link_down, machine.node(made=of_cards(value(2, 8), 0, 1))) == ["card 1: link status DOWN"]
    by_host = machine.node(made=of_cards(value(2, 8)))
    for check in (link_down, network_unreachable, gateway_not_set):
        with pytest.raises(CannotTellError, match="the table has no device_ip for this server"):
            messages(check, by_host)


def test_hccl_intra_roce_enable_requires_all_ports(machine: Machine) -> None:
    say(machine, "link", "link status: DOWN\n", 1, 3)
    machine.environ["HCCL_INTRA_ROCE_ENABLE"] = "1"
    where = machine.node(made=of_cards(value(2, 8)))
    assert messages(link_down, where) == ["cards 1 and 3: link status DOWN"]


@pytest.mark.parametrize("address", ["192.168.9.1%eth0", "no address", "fd00::1", "192.168.100.9,"])
def test_invalid_addresses_of_other_servers_do_not_stop_the_check(machine: Machine, address: str) -> None:
    without_gateway(machine)
    where = machine.node()
    far = where.table.servers[1]
    devices = tuple(device._replace(ip=address) for device in far.devices)
    table = where.table._replace(servers=(where.table.servers[0], far._replace(devices=devices)))
    found = messages(gateway_not_set, where._replace(table=table, server=table.servers[0]))
    outside = {"192.168.9.1%eth0": range(8), "192.168.100.9,": range(1, 8)}.get(address)
    assert found == ([f"{named(outside)}: {NO_GATEWAY}"] if outside else [])


def test_a_netmask_that_is_not_valid_in_ipv4_is_ignored(machine: Machine) -> None:
    without_gateway(machine)
    for card in range(8):
        machine.say("ipv4", card, f"ipaddr:192.168.{100 + card}.1\nnetmask:64\n")
    assert messages(gateway_not_set, machine.node()) == []


def without_gateway(machine: Machine) -> None:
    for card in range(8):
        machine.say("gateway", card, "Get gateway failed, because no gateway was preset there!\n")


def test_a_gateway_is_required_if_peers_are_in_another_network(machine: Machine) -> None:
    without_gateway(machine)
    # on A2 every card may communicate with every other, and these are in eight networks
    assert messages(gateway_not_set, machine.node()) == [f"cards 0 to 7: {NO_GATEWAY}"]
    for card in range(8):
        address = machine.table["server_list"][0]["device"][card]["device_ip"]
        machine.say("ipv4", card, f"ipaddr:{address}\nnetmask:255.255.0.0\n")
    assert messages(gateway_not_set, machine.node()) == []


def test_cards_of_910_only_need_to_reach_their_own_plane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = value(2, 8)
    for server in made["server_list"]:
        for device in server["device"]:
            card = int(device["device_id"])
            device["device_ip"] = f"192.168.{100 + card % 4}.{server['server_id'][-1]}{card}"
    machine = machine_of(GENERATIONS[0], tmp_path, monkeypatch, made)
    without_gateway(machine)
    assert messages(gateway_not_set, machine.node()) == []
    far = machine.table["server_list"][1]["device"][4]
    far["device_ip"] = "192.168.9.1"
    assert messages(gateway_not_set, machine.node(made=machine.table)) == [f"cards 0 and 4: {NO_GATEWAY}"]


def test_a_card_with_an_unknown_netmask_is_not_checked(machine: Machine) -> None:
    without_gateway(machine)
    for card in range(8):
        machine.say("ipv4", card, f"ipaddr:192.168.{100 + card}.1\n")
    assert messages(gateway_not_set, machine.node()) == []


def test_cards_with_ipv6_only_are_not_checked_for_ipv4(machine: Machine) -> None:
    for card in range(8):
        (machine.hccn / f"ipv4.{card}").unlink()
        machine.say("ipv6", card, f"ipv6_address:fd00::{card}\nprefix_length:64\n")
    with pytest.raises(CannotTellError, match="no card here has an IPv4 address"):
        messages(gateway_not_set, machine.node())


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        ((4,), ["card 4: TLS is on; on the other cards it is off"]),
        ((0, 1, 2, 3, 4, 5), ["cards 6 to 7: TLS is off; on the other cards it is on"]),
        (tuple(range(8)), []),
        ((), []),
    ],
)
def test_a_differing_tls_setting_is_reported_for_the_minority(
    machine: Machine, on: tuple[int, ...], expected: list[str]
) -> None:
    if on:
        say(machine, "tls", "dev_id:0, tls switch[1](0:disable, 1:enable), tls alarm time threshold[60]days\n", *on)
    assert messages(tls_mixed, machine.node()) == expected
    assert set(tls_switches(machine.node()).values()) == ({"on"} if on else set()) | ({"off"} if len(on) < 8 else set())
