"""Network segments of the planes: checked only with a netmask, and with one finding per plane."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.check.engine import check_text
from hccl_kit.table.finding import Finding
from hccl_kit.table.formats import write
from hccl_kit.table.model import Device, RankTable, Server
from hccl_kit.table.products import PRODUCTS, find_product

READERS = [product.name for product in PRODUCTS if "1.0" in product.table_versions]


def found(*servers: Sequence[str], product: str = "910", prefix: int | None = 24) -> tuple[Finding, ...]:
    """The findings about servers whose cards have these addresses, from card 0 on."""
    made = tuple(
        Server(f"10.0.0.{s + 1}", tuple(Device(c, ip, s * len(ips) + c) for c, ip in enumerate(ips)))
        for s, ips in enumerate(servers)
    )
    judge = find_product(product)._replace(prefix=prefix)
    return check_text(write(RankTable("1.0", "completed", made)), "t.json", judge).findings


def server(number: int, *segments: int) -> list[str]:
    return [f"192.168.{segment}.{number * 10 + card}" for card, segment in enumerate(segments)]


GOOD = (server(1, 0, 1, 2, 3, 0, 1, 2, 3), server(2, 0, 1, 2, 3, 0, 1, 2, 3))


def test_planes_of_910_in_four_segments_have_no_finding() -> None:
    assert found(*GOOD) == ()


@pytest.mark.parametrize("product", READERS)
def test_segments_are_not_checked_without_netmask(product: str) -> None:
    assert found(server(1, *range(8)), server(2, *range(8, 16)), product=product, prefix=None) == ()


@pytest.mark.parametrize(
    ("servers", "messages"),
    [
        (
            (server(1, 0, 1, 2, 3, 0, 1, 2, 3), server(2, 0, 1, 2, 3, 9, 1, 2, 3)),
            ['"192.168.9.24" is in 192.168.9.0/24; plane 0 has 2 segments, most ports are in 192.168.0.0/24'],
        ),
        (
            (server(1, 0, 1, 2, 3, 0, 1, 2, 3), server(2, 0, 1, 2, 3, 1, 1, 2, 3)),
            ['"192.168.1.24" is in 192.168.1.0/24; plane 0 has 2 segments, most ports are in 192.168.0.0/24'],
        ),
        (
            (server(1, 0, 1, 2, 0, 0, 1, 2, 0), server(2, 0, 1, 2, 0, 0, 1, 2, 0)),
            ['"192.168.0.13" of plane 3 is in 192.168.0.0/24, the segment of plane 0'],
        ),
        (
            (server(1, *[0] * 8), server(2, *[0] * 8)),
            [f'"192.168.0.1{n}" of plane {n} is in 192.168.0.0/24, the segment of plane 0' for n in (1, 2, 3)],
        ),
    ],
)
def test_findings_on_910(servers: Sequence[Sequence[str]], messages: list[str]) -> None:
    diagnostics = found(*servers)
    assert [one.message for one in diagnostics] == messages
    assert {(one.rule, one.severity) for one in diagnostics} == {("HK319", "warning")}


@pytest.mark.parametrize("product", [name for name in READERS if name != "910"])
def test_on_other_products_several_segments_are_a_note(product: str) -> None:
    assert found(*(server(n, *[0] * 4) for n in (1, 2)), product=product) == ()
    (one,) = found(server(1, *[1] * 4), server(2, *[2] * 4), product=product)
    assert (one.rule, one.severity) == ("HK319", "note")
    assert "the network has 2 segments" in one.message


def test_ipv6_and_prefixes_that_are_not_whole_bytes() -> None:
    assert found(["fd00:1::1", "fd00:2::1", "fd00:3::1", "fd00:4::1"], prefix=32) == ()
    (one,) = found(["fd00:1::1", "fd00:2::1", "fd00:1::2", "fd00:4::1"], prefix=32)
    assert one.message == '"fd00:1::2" of plane 2 is in fd00:1::/32, the segment of plane 0'
    (one,) = found(["10.0.0.1", "10.0.0.33", "10.0.0.65", "10.0.0.31"], prefix=27)
    assert one.message == '"10.0.0.31" of plane 3 is in 10.0.0.0/27, the segment of plane 0'
    assert found(["10.0.0.1", "10.0.0.33", "10.0.0.65", "10.0.0.31"], prefix=64) == ()


@given(st.lists(st.integers(0, 3), min_size=8, max_size=8), st.integers(0, 32))
def test_never_more_than_two_findings_for_a_plane(segments: list[int], prefix: int) -> None:
    diagnostics = found(server(1, *segments), server(2, *segments), prefix=prefix)
    assert len(diagnostics) <= 7
    assert all(one.rule == "HK319" and one.severity == "warning" for one in diagnostics)


def test_addresses_that_are_not_valid_are_left_to_their_own_rule() -> None:
    assert [one.rule for one in found(["10.0.0.1", "", "-1", "10.0.3.1"])] == ["HK301"]
