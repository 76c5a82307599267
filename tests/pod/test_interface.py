"""The interface with an address."""

from pathlib import Path

from hccl_kit.pod.interface import IPV6, interface_of

LOOPBACK = f"{1:032x}"


def test_an_interface_is_found_by_an_address_of_either_version() -> None:
    if Path(IPV6).exists() and LOOPBACK in Path(IPV6).read_text(encoding="ascii"):
        assert interface_of("::1") == "lo"
    assert interface_of("127.0.0.1") == "lo"
    assert [interface_of(address) for address in ("192.0.2.9", "2001:db8::1", "", "node1")] == [None] * 4
