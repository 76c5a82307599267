import shutil
import subprocess
import sys

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.discovery.server_id import Choice, Interface, choose, interfaces

LO = Interface("lo", "127.0.0.1")
DOCKER = Interface("docker0", "172.17.0.1")
ETH0 = Interface("eth0", "10.0.0.1")
ETH1 = Interface("eth1", "10.0.1.1")
ENP = Interface("enp3s0", "10.0.2.1")
ETH0_V6 = Interface("eth0", "fd00::1")
ALL = (LO, DOCKER, ETH1, ETH0, ENP, ETH0_V6)


@pytest.mark.parametrize(
    ("there", "chosen"),
    [
        (ALL, ENP),  # by name, not in the order of the system
        ((LO, DOCKER, ETH1, ETH0), ETH0),
        ((LO, DOCKER), DOCKER),
        ((LO,), LO),
        ((LO, ETH0_V6), LO),  # IPv4 first, even loopback: HCCL uses IPv6 only if there is no IPv4 address
        ((ETH0_V6,), ETH0_V6),
    ],
)
def test_interfaces_are_ordered_like_in_hccl(there: tuple[Interface, ...], chosen: Interface) -> None:
    assert choose(there, {}) == Choice(chosen.address, f"interface {chosen.name}, the one HCCL would choose")


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        ("eth", ETH1),  # the first match in the order of the system
        ("enp,eth0", ETH0),
        ("=eth0", ETH0),
        ("=enp3s0,eth0", ETH0),
        ("^lo,docker,eth", ENP),
        ("^=lo,docker0,eth1", ETH0),
        ("^eth0", LO),
        ("lo", LO),
    ],
)
def test_socket_ifname_accepts_prefixes_names_and_exclusions(names: str, chosen: Interface) -> None:
    choice = choose(ALL, {"HCCL_SOCKET_IFNAME": names})
    assert choice == Choice(chosen.address, f"interface {chosen.name}, HCCL_SOCKET_IFNAME={names}")


@pytest.mark.parametrize("names", ["ib", "=eth", "^lo,docker,eth,enp"])
def test_socket_ifname_that_matches_nothing_is_an_error(names: str) -> None:
    with pytest.raises(
        KitError, match=r"matches no interface of this machine; its addresses are: lo 127.0.0.1, docker0"
    ):
        choose(ALL, {"HCCL_SOCKET_IFNAME": names})


def test_if_ip_takes_precedence_over_socket_ifname() -> None:
    environ = {"HCCL_IF_IP": "10.0.1.1", "HCCL_SOCKET_IFNAME": "enp"}
    assert choose(ALL, environ) == Choice("10.0.1.1", "HCCL_IF_IP")


@pytest.mark.parametrize("address", ["10.9.9.9", "eth0", "10.0.1"])
def test_if_ip_must_be_an_address_of_this_machine(address: str) -> None:
    with pytest.raises(KitError, match=f"HCCL_IF_IP={address} is not an address of this machine"):
        choose(ALL, {"HCCL_IF_IP": address})


LINK_LOCAL = Interface("eth1", "fe80::fc:ff:fe00:1")


@pytest.mark.parametrize(
    ("wanted", "address"),
    [
        ("10.0.1.1%eth1", "10.0.1.1"),
        ("fd00:0::1%eth0", "fd00:0::1"),
        ("fe80::fc:ff:fe00:1%eth1", "fe80::fc:ff:fe00:1%eth1"),
        ("FE80::fc:ff:fe00:1", "FE80::fc:ff:fe00:1%eth1"),
    ],
)
def test_if_ip_may_be_link_local_with_its_interface(wanted: str, address: str) -> None:
    assert choose((*ALL, LINK_LOCAL), {"HCCL_IF_IP": wanted}) == Choice(address, "HCCL_IF_IP")


def test_a_link_local_address_is_used_only_if_requested() -> None:
    assert not any(one.is_link_local for one in ALL)
    assert LINK_LOCAL.is_link_local
    assert choose((LINK_LOCAL, LO), {"HCCL_SOCKET_FAMILY": "AF_INET6"}).address == "127.0.0.1"
    with pytest.raises(KitError, match="no network address"):
        choose((LINK_LOCAL,), {})


def test_socket_family_is_tried_first() -> None:
    assert choose(ALL, {"HCCL_SOCKET_FAMILY": "AF_INET6"}).address == "fd00::1"
    assert choose((LO, ETH0), {"HCCL_SOCKET_FAMILY": "AF_INET6"}).address == "10.0.0.1"
    assert choose(ALL, {"HCCL_SOCKET_FAMILY": "AF_INET6", "HCCL_SOCKET_IFNAME": "eth"}).address == "fd00::1"
    with pytest.raises(KitError, match="HCCL_SOCKET_FAMILY=IPv6 is not a valid value; accepted: AF_INET, AF_INET6"):
        choose(ALL, {"HCCL_SOCKET_FAMILY": "IPv6"})


def test_machine_without_an_address_is_an_error() -> None:
    with pytest.raises(KitError, match="no network address; its addresses are: none"):
        choose((), {})


def test_interfaces_match_the_output_of_ip() -> None:
    program = shutil.which("ip")
    if program is None:
        pytest.skip("ip is not installed")
    done = subprocess.run([program, "-o", "addr"], capture_output=True, text=True, check=True)
    shown = set()
    for line in done.stdout.splitlines():
        _, name, family, address, *rest = line.split()
        if family in ("inet", "inet6"):
            label = rest[-2].rstrip("\\") if family == "inet" and len(rest) > 1 else name
            shown.add((name if ":" not in label else label, address.split("/")[0]))
    assert {(interface.name, interface.address) for interface in interfaces()} == shown


def test_a_network_namespace_without_interfaces() -> None:
    """In a new network namespace, a machine has no address until lo is up, and then only loopback."""
    unshare, ip = shutil.which("unshare"), shutil.which("ip")
    code = "from hccl_kit.discovery.server_id import interfaces; print([i.address for i in interfaces()])"
    inside = f"{sys.executable} -c '{code}'; {ip} link set lo up; {sys.executable} -c '{code}'"
    if unshare is None or ip is None:
        pytest.skip("unshare or ip is not installed")
    done = subprocess.run([unshare, "-rn", "sh", "-c", inside], capture_output=True, text=True, check=False)
    if "unshare" in done.stderr:
        pytest.skip(f"no network namespace here: {done.stderr.strip()}")
    assert done.stdout.splitlines()[0] == "[]"
    assert done.stdout.splitlines()[1].startswith("['127.0.0.1'")
