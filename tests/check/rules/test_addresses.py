"""Addresses are accepted exactly as HCCL parses them."""

import pytest

from hccl_kit.check.engine import check_text
from hccl_kit.table.formats import write
from hccl_kit.table.ip import parse_address
from hccl_kit.table.model import Device, RankTable, Server
from hccl_kit.table.products import find_product


def test_accepts_a_valid_address() -> None:
    for text in ("10.0.0.1", "fd00::1", "::", "fe80::1%eth0", "::ffff:1.2.3.4", "10.0.0.1%eth0"):
        assert parse_address(text) is not None, text


def test_rejects_an_invalid_address() -> None:
    for text in (
        *("", "10.0.0", "10.0.0.256", "10.0.0.01", "1:2", "fd00::1::2"),
        *(" 10.0.0.1", "10.0.0.1 ", "10.0.0.1\x00", "%eth0", "fe80::1%"),
        *("-1", "-.-.-.-", "192.1.*.6", "٣.0.0.1", "\ud800", "1" * 100_000),
    ):
        assert parse_address(text) is None, text


def rules_of(
    *servers: tuple[str | None, ...], host_ips: tuple[str | None, ...] = (), product: str = "910"
) -> list[str]:
    """The findings about servers whose devices have these addresses."""
    size = max(len(addresses) for addresses in servers)
    table = RankTable(
        "1.0",
        "completed",
        tuple(
            Server(
                f"node_{s}",
                tuple(Device(d, ip, s * size + d) for d, ip in enumerate(addresses)),
                {"host_ip": host_ips[s]} if host_ips and host_ips[s] is not None else {},
            )
            for s, addresses in enumerate(servers)
        ),
    )
    report = check_text(write(table), "t.json", find_product(product))
    return [f"{found.rule} {found.severity}" for found in report.findings]


A, B, C, D = (f"192.168.1.{n}" for n in range(1, 5))


def test_device_addresses_on_910() -> None:
    for servers, expected in (
        (((None, ""),), []),
        (((None, A),), []),
        (((A, f"{B},"),), []),
        (((f"{A},{B}", f"{C},{D}"),), []),
        (((A, f",{B}"),), ["HK301 error"]),
        (((A, f"{B},{C}"),), ["HK304 error"]),
        (((A, A),), ["HK302 error"]),
        (((f"{A},{A}", f"{C},{D}"),), ["HK302 error"]),
        ((("*", "*"),), ["HK301 error"] * 2),
        ((("fd00::1", "fd00:0::1"),), ["HK303 error"]),
        ((("fe80::1%a", "fe80::1%b"),), []),
        ((("fd00::1", A),), []),
        (((A, B), ("fd00::1", "fd00::2")), ["HK309 error"]),
        (((A, B), (C, None)), ["HK305 error"]),
        (((None, None), (None, None)), ["HK305 error"] * 2),
        (((A, B), (C, "")), ["HK306 warning"]),
    ):
        assert rules_of(*servers) == expected, (servers, expected)


@pytest.mark.parametrize(
    ("product", "severity"), [("910", "warning"), ("a2", "error"), ("a2-box16", "error"), ("a3", "warning")]
)
def test_severity_of_an_empty_address_depends_on_the_parser_of_the_product(product: str, severity: str) -> None:
    assert rules_of((A, B), (C, ""), product=product) == [f"HK306 {severity}"]


def test_an_absent_address_between_servers_is_a_warning_on_a3() -> None:
    assert rules_of((A, B), (C, None), product="a3") == ["HK305 warning"]


def test_a_host_address_replaces_those_of_the_devices() -> None:
    assert rules_of((A, B), (None, None), host_ips=(None, "10.0.0.2")) == []


def test_several_host_addresses_must_have_one_address_family() -> None:
    assert rules_of((A,), (B,), host_ips=("10.0.0.1", "fd00::1")) == ["HK310 error"]
    assert rules_of((A,), (B,), host_ips=("10.0.0.1", "nonsense")) == ["HK307 error"]
    assert rules_of((A,), host_ips=("fd00::1",)) == []


def test_rejects_0_0_0_0_as_a_device_address() -> None:
    for product in ("910", "a2", "a3", "300i-duo"):
        nothing = ".".join("0000")
        assert rules_of((A, nothing), product=product) == ["HK301 error"], product
        assert rules_of((nothing, nothing), product=product) == ["HK301 error"] * 2, product
        assert rules_of((A, "::"), product=product) == [], product


def test_a_host_address_of_0_0_0_0_counts_as_absent() -> None:
    nothing = ".".join("0000")
    assert rules_of((A,), host_ips=(nothing,)) == []
    assert rules_of((A, B), (None, None), host_ips=(None, nothing)) == ["HK305 error"]
    assert rules_of((A, B), (C, D), host_ips=("fd00::1", nothing)) == []


def test_an_invalid_0_0_0_0_with_spaces_is_not_fixed_by_stripping() -> None:
    for written in ("0.0.0.0", " 0.0.0.0", f"{A}, 0.0.0.0"):
        table = RankTable("1.0", "completed", (Server("n", (Device(0, written, 0),)),))
        (found,) = check_text(write(table), "t.json").findings
        assert (found.rule, found.fix) == ("HK301", ())
        assert "hccn_tool" in (found.hint or "")
