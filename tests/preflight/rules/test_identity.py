"""Identification of this machine and this process in the table."""

import socket

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.preflight.node import CannotTellError
from hccl_kit.preflight.probes.this_server import find_server, names_here, plain
from hccl_kit.preflight.rules.identity import another_interface, no_interface, not_a_server, wrong_rank
from tests.preflight.nodes import HERE, LINK_LOCAL, NAME, faults, messages, node, read, table_value
from tests.tables import ranks_value


def test_a_server_is_identified_by_its_address() -> None:
    table = read(table_value(3))
    assert find_server(table) is table.servers[0]


@pytest.mark.parametrize("name", [socket.gethostname(), socket.gethostname().partition(".")[0]])
def test_a_server_is_identified_by_its_host_name(name: str) -> None:
    table = read(table_value(2, first=name))
    assert find_server(table) is table.servers[0]


def test_a_server_is_identified_by_its_host_ip() -> None:
    made = table_value(2, first="rack 1, left")
    made["server_list"][0]["host_ip"] = HERE
    made["server_list"][1]["host_ip"] = "192.0.2.77"
    table = read(made)
    assert find_server(table) is table.servers[0]


def test_spellings_of_an_address_are_equivalent() -> None:
    assert plain("0:0::1") == plain("::1") in names_here()
    assert plain(None) == ""


def test_an_explicit_server_id_is_used() -> None:
    table = read(table_value(2))
    assert find_server(table, "10.0.0.2") is table.servers[1]
    with pytest.raises(KitError, match=r'the table has no server "x"; it has .*"10\.0\.0\.2"'):
        find_server(table, "x")


def test_a_machine_that_matches_two_servers_is_reported() -> None:
    made = table_value(2)
    made["server_list"][1]["server_id"] = socket.gethostname()
    assert find_server(read(made)) is None
    (message,) = messages(not_a_server, node(made=made, server=None))
    assert message.startswith("this machine matches several servers of the table: ")


def test_version_2_names_no_hosts() -> None:
    with pytest.raises(CannotTellError, match="names no hosts"):
        messages(not_a_server, node(made=ranks_value(2), server=None))


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, None),
        ({"RANK_ID": "9", "DEVICE_ID": "1", "RANK_SIZE": "16"}, "RANK_ID=9, which the table assigns to server"),
        ({"RANK_ID": "2", "DEVICE_ID": "2", "RANK_SIZE": "16"}, None),
        ({"RANK_ID": "2"}, None),
        ({"RANK_ID": "2", "DEVICE_ID": "0"}, "RANK_ID=2 and DEVICE_ID=0; the table assigns rank 2 the card 2"),
        ({"RANK_ID": "2", "DEVICE_ID": "0", "ASCEND_RT_VISIBLE_DEVICES": "2,3"}, None),
        ({"RANK_ID": "2", "DEVICE_ID": "1", "ASCEND_RT_VISIBLE_DEVICES": "2,3"}, "the table assigns rank 2 the card 2"),
        ({"RANK_ID": "9" * 5000}, "is not a number"),
        ({"RANK_ID": "16"}, "RANK_ID=16, and the table has ranks 0 to 15"),
        ({"RANK_ID": "zero"}, 'RANK_ID="zero" is not a number'),
        ({"RANK_ID": ""}, 'RANK_ID="" is not a number'),
        ({"RANK_ID": "\u0662"}, "is not a number"),
        ({"RANK_SIZE": "8"}, "RANK_SIZE=8, and the table has 16 ranks"),
    ],
)
def test_rank_and_card_of_the_process_are_compared_with_the_table(
    environ: dict[str, str], expected: str | None
) -> None:
    found = messages(wrong_rank, node(made=table_value(2), environ=environ))
    assert len(found) == (expected is not None)
    assert expected is None or expected in found[0]


@pytest.mark.parametrize(
    "environ", [{}, {"HCCL_IF_IP": HERE}, {"HCCL_SOCKET_IFNAME": f"={NAME}"}, {"HCCL_SOCKET_IFNAME": "lo,"}]
)
def test_variables_may_name_existing_interfaces_and_addresses(environ: dict[str, str]) -> None:
    assert faults(no_interface, node(environ=environ)) == []


@pytest.mark.parametrize(
    "environ",
    [{"HCCL_IF_IP": "192.0.2.200"}, {"HCCL_SOCKET_IFNAME": "=enp189s0f0"}, {"HCCL_SOCKET_FAMILY": "AF_UNIX"}],
)
def test_unknown_interfaces_and_addresses_are_reported_with_the_existing_ones(environ: dict[str, str]) -> None:
    (message,) = messages(no_interface, node(environ=environ))
    (value,) = environ.values()
    assert value in message
    assert HERE in message or "accepted: AF_INET" in message


def test_host_ip_takes_precedence_over_the_server_id() -> None:
    made = table_value(2, first="left")
    made["server_list"][0]["host_ip"], made["server_list"][1]["host_ip"] = "192.0.2.201", "192.0.2.202"
    (fault,) = faults(another_interface, node(made=made))
    assert "192.0.2.201" in fault.message
    assert "if that is an address of this host" in (fault.hint or "")


def test_single_servers_and_host_names_are_not_checked() -> None:
    assert faults(another_interface, node(environ={"HCCL_SOCKET_IFNAME": "lo"})) == []
    assert faults(another_interface, node(made=table_value(2, first="left"))) == []
    with pytest.raises(CannotTellError):
        faults(another_interface, node(made=table_value(2), server=None))


def test_an_address_with_a_zone_matches_this_machine() -> None:
    environ = {"HCCL_IF_IP": f"{HERE}%{NAME}"}
    assert faults(no_interface, node(environ=environ)) == []
    assert faults(another_interface, node(made=table_value(2), environ=environ)) == []


@pytest.mark.skipif(not LINK_LOCAL, reason="this machine has no link-local address")
def test_a_link_local_address_is_accepted() -> None:
    for wanted in (LINK_LOCAL[0].address, f"{LINK_LOCAL[0].address}%{LINK_LOCAL[0].name}"):
        assert faults(no_interface, node(environ={"HCCL_IF_IP": wanted})) == []
