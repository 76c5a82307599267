"""The plan of variables: interfaces from the address in the table, consistent timeouts, and variables of scripts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.discovery.server_id import Interface, choose
from hccl_kit.launch.emitters import LAUNCHERS, emit
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.hccl_variables import Host, ServerVariables, VariablePlan, Wanted, plan_variables, script_variables
from hccl_kit.launch.job_ports import Kernel, job_ports
from hccl_kit.launch.plan import plan
from hccl_kit.preflight.rules.variable_verdict import refusal
from hccl_kit.table import formats
from hccl_kit.table.model import Server
from hccl_kit.table.products import PRODUCT_NAMES
from tests.launch.ways import servers

ONE = servers([0, 1], ids=["10.0.0.1"])
TWO = servers([0, 1], [0, 1], ids=["10.0.0.1", "10.0.0.2"])
LO = Interface("lo", "127.0.0.1")


def host(*interfaces: tuple[str, str], kernel: Kernel | None = None) -> Host:
    return Host((LO, *(Interface(*one) for one in interfaces)), kernel or Kernel())


def of(plan: VariablePlan | ServerVariables) -> dict[str, str]:
    return {one.name: one.value for one in plan.variables}


def of_interface(name: str) -> dict[str, str]:
    return {"HCCL_SOCKET_IFNAME": f"={name}", "GLOO_SOCKET_IFNAME": name, "TP_SOCKET_IFNAME": name}


@pytest.mark.parametrize("product", PRODUCT_NAMES)
@given(st.integers(0, 7), st.booleans())
def test_hccl_accepts_the_planned_values(product: str, job: int, several: bool) -> None:
    made = plan_variables(TWO if several else ONE, Wanted(job), {"10.0.0.1": host(("eth0", "10.0.0.1"))})
    for server in made.servers:
        for name, value in {**of(made), **of(server)}.items():
            assert refusal(name, value, product=product) is None


def test_the_interface_with_the_address_is_selected_as_in_hccl() -> None:
    known = host(("docker0", "172.17.0.1"), ("bond1", "10.0.0.1"), ("eth0", "192.168.0.1"))
    made = plan_variables(ONE, Wanted(), {"10.0.0.1": known})
    assert of(made.servers[0]) == {"HCCL_IF_IP": "10.0.0.1", **of_interface("bond1")}
    assert choose(known.interfaces, of(made.servers[0])).address == "10.0.0.1"
    assert choose(known.interfaces, {"HCCL_SOCKET_IFNAME": "=bond1"}).address == "10.0.0.1"


def test_an_unknown_server_gets_its_address_and_a_note() -> None:
    (_, other) = plan_variables(TWO, Wanted(), {"10.0.0.1": host(("eth0", "10.0.0.1"))}).servers
    assert of(other) == {"HCCL_IF_IP": "10.0.0.2"}
    assert other.note == "its interfaces are not known here; --ssh asks it, or run this on it"


def test_an_address_that_the_server_does_not_have_is_not_set() -> None:
    (server,) = plan_variables(ONE, Wanted(), {"10.0.0.1": host(("eth0", "10.9.9.9"))}).servers
    assert of(server) == {}
    assert server.note == "no interface of it has 10.0.0.1; it has lo 127.0.0.1, eth0 10.9.9.9"


@pytest.mark.parametrize("name", ["node1", "127.0.0.1", "localhost"])
def test_hccl_selects_the_interface_for_a_name_or_a_loopback_address(name: str) -> None:
    (server,) = plan_variables(servers([0], ids=[name]), Wanted(), {}).servers
    assert of(server) == {}
    assert server.note


def test_an_ipv6_server_sets_the_socket_family() -> None:
    made = plan_variables(servers([0], ids=["fd00::0:1"]), Wanted(), {"fd00::0:1": host(("eth0", "fd00::1"))})
    wanted = {"HCCL_IF_IP": "fd00::1", **of_interface("eth0"), "HCCL_SOCKET_FAMILY": "AF_INET6"}
    assert of(made.servers[0]) == wanted


def test_host_ip_takes_precedence_over_the_server_id() -> None:
    table = ONE._replace(servers=(Server("node1", ONE.servers[0].devices, extra={"host_ip": "10.0.0.7"}),))
    assert of(plan_variables(table, Wanted(), {}).servers[0]) == {"HCCL_IF_IP": "10.0.0.7"}


def test_an_unknown_server_is_assumed_to_have_the_defaults_of_linux() -> None:
    """All servers use the same ports, so these must be free on each."""
    wide = host(("eth0", "10.0.0.1"), kernel=Kernel((1024, 60000)))
    assert plan_variables(TWO, Wanted(), {"10.0.0.1": wide}).ports == job_ports(0, 8, [Kernel(), wide.kernel])
    high = host(("eth0", "10.0.0.1"), kernel=Kernel((32768, 65535)))
    assert plan_variables(TWO, Wanted(), {"10.0.0.1": high}).ports.block.last < 32768


@given(st.none() | st.integers(-5, 10_000), st.none() | st.integers(-5, 10_000), st.booleans())
def test_the_exec_timeout_is_longer_than_the_connect_timeout(
    connect: int | None, execute: int | None, several: bool
) -> None:
    try:
        made = of(plan_variables(TWO if several else ONE, Wanted(0, 8, connect, execute), {}))
    except KitError as error:
        assert error.message.startswith(("--connect-timeout is ", "--exec-timeout "))
        return
    found, limit = int(made["HCCL_CONNECT_TIMEOUT"]), int(made["HCCL_EXEC_TIMEOUT"])
    assert 120 <= found <= 7200
    assert limit == 0 or limit > found
    assert connect in (None, found)
    assert execute in (None, limit)


def test_without_a_job_number_scripts_set_no_variables() -> None:
    assert script_variables(TWO, None) == []
    with pytest.raises(KitError, match="without --job"):
        script_variables(TWO, None, 4)


def test_a_script_does_not_set_the_host_port_range() -> None:
    """The range would take precedence over a base port that the user has set."""
    assert "HCCL_HOST_SOCKET_PORT_RANGE" not in dict(script_variables(TWO, 1))


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_every_launcher_gives_the_job_its_ports(launcher: str) -> None:
    text = formats.write(TWO)
    command = ["vllm", "serve", "m", "--port", "8000"] if launcher == "vllm" else ["python"]
    options = {"image": "a"} if LAUNCHERS[launcher].runs_pods else {}
    if LAUNCHERS[launcher].needs_product:
        options["product"] = "910"
    with_job, other, without = (
        emit(launcher, plan(TWO, command, script_variables(TWO, job)), TableFile("t.json", text), **options)[0].text
        for job in (0, 1, None)
    )
    assert "HCCL_IF_BASE_PORT" not in without
    for made, number in ((with_job, 0), (other, 1)):
        ports = job_ports(number)
        assert str(ports.host.first) in made
        assert str(ports.card) in made
        assert str(ports.master) in made
