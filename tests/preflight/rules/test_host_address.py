"""The host address that HCCL uses to connect to its peers."""

import pytest

from hccl_kit.preflight.node import CannotTellError
from hccl_kit.preflight.rules.identity import another_interface, no_interface
from tests.preflight.nodes import HERE, LINK_LOCAL, NAME, faults, messages, node, table_value


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
