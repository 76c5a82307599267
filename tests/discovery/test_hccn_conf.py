from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.discovery import hccn_conf

CONF = """\
netmask_0=255.255.255.0
address_1=192.168.101.101
gateway_0=192.168.100.1
arp_0=-i eth0 -s 192.168.100.7 00:11:22:33:44:55
 address_0 = 192.168.100.101\r
tls_enable_0=0
IPv6address_2=fd00::2
IPv6address_0=fd00::1
address_10=192.168.102.110

address_5=nobody asked
"""


def conf(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "hccn.conf"
    path.write_text(text)
    return path


def test_keys_may_be_in_any_order_with_gaps(tmp_path: Path) -> None:
    path = conf(tmp_path, CONF.replace("address_5=nobody asked\n", ""))
    assert hccn_conf.addresses(path, [10, 0, 1]) == {
        10: "192.168.102.110",
        0: "192.168.100.101",
        1: "192.168.101.101",
    }


def test_a_byte_order_mark_hides_no_card(tmp_path: Path) -> None:
    path = conf(tmp_path, "\ufeffaddress_0=10.0.0.1\naddress_1=10.0.0.2\n")
    assert hccn_conf.addresses(path, [0, 1]) == {0: "10.0.0.1", 1: "10.0.0.2"}


def test_a_device_is_refused() -> None:
    with pytest.raises(KitError, match="cannot read /dev/zero: it is not a regular file"):
        hccn_conf.addresses(Path("/dev/zero"), [0])


def test_ipv6_is_used_if_ipv4_is_not_set(tmp_path: Path) -> None:
    path = conf(tmp_path, CONF.replace("address_5=nobody asked\n", ""))
    assert hccn_conf.addresses(path, [0, 2]) == {0: "192.168.100.101", 2: "fd00::2"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CONF, r":11: address_5='nobody asked' is not an IPv4 address"),
        ("address_0=fd00::1\n", r":1: address_0='fd00::1' is not an IPv4 address"),
        ("IPv6address_0=10.0.0.1\n", r":1: IPv6address_0='10.0.0.1' is not an IPv6 address"),
        ("\naddress_0=10.0.0.1\naddress_0=10.0.0.2\n", r":3: address_0=10.0.0.2, but an earlier line has 10.0.0.1"),
        ("# " + "x" * 383 + "\n", r":1: the line has 385 bytes; the limit of the driver is 384"),
        ("address_4=10.0.0.1\n", r"has no address for card 0; it has: 4"),
        ("", r"has no address for card 0; it has: no card"),
        ("#" * 300 + "\n" + "a=b\n" * 256_000, r"is larger than 1024000 bytes"),
    ],
)
def test_an_error_is_reported_with_its_position(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(KitError, match=message):
        hccn_conf.addresses(conf(tmp_path, text), [0])


def test_every_card_without_an_address_is_named(tmp_path: Path) -> None:
    path = conf(tmp_path, "address_1=10.0.0.1\naddress_0=10.0.0.2\n")
    with pytest.raises(KitError, match=r"no address for card 2, 3; it has: 0, 1"):
        hccn_conf.addresses(path, range(4))


def test_values_at_the_limits_are_accepted(tmp_path: Path) -> None:
    line = "#" * hccn_conf.MAX_LINE + "\n"
    text = ("address_0=10.0.0.1\n" + line * (hccn_conf.MAX_FILE // len(line) + 1))[: hccn_conf.MAX_FILE]
    assert hccn_conf.addresses(conf(tmp_path, text), [0]) == {0: "10.0.0.1"}


@pytest.mark.parametrize(("name", "reason"), [("missing", "No such file"), (".", "Is a directory")])
def test_unreadable_file_is_named(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(KitError, match=f"cannot read .*: {reason}"):
        hccn_conf.addresses(tmp_path / name, [0])


def test_cards_may_have_several_addresses_or_none(tmp_path: Path) -> None:
    path = conf(tmp_path, CONF.replace("address_5=nobody asked\n", ""))
    texts = {card: [entry.text for entry in entries] for card, entries in hccn_conf.every_entry(path).items()}
    assert texts == {
        1: ["192.168.101.101"],
        0: ["192.168.100.101", "fd00::1"],
        10: ["192.168.102.110"],
        2: ["fd00::2"],
    }
