"""Cards that a process counts from 0, and addresses for a machine without cards."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError, ParseError
from hccl_kit.discovery import job_servers
from hccl_kit.discovery.job_servers import physical_ids
from hccl_kit.table.products import PRODUCTS, Product


@pytest.mark.parametrize("visible", ["4,5,6,7", "4-7", "[4,8)", "[4,7]", " 4, 5,6,7 "])
def test_logical_ids_index_the_visible_devices(visible: str) -> None:
    assert physical_ids([0, 1, 3], visible) == {0: 4, 1: 5, 3: 7}


@given(st.sets(st.integers(min_value=0, max_value=63), min_size=1))
def test_mapping_is_the_sorted_list(cards: set[int]) -> None:
    ordered = sorted(cards)
    assert physical_ids(range(len(ordered)), ",".join(map(str, ordered))) == dict(enumerate(ordered))


def test_a_logical_id_out_of_range_is_refused() -> None:
    with pytest.raises(
        KitError, match=r"outside .*'4,5,6,7': logical devices 4, 5; they are 4 cards, logical 0 to 3"
    ) as caught:
        physical_ids(range(6), "4,5,6,7")
    assert '--device_num "[0,4)"' in (caught.value.hint or "")


def test_an_order_that_cann_does_not_accept_is_refused() -> None:
    with pytest.raises(KitError, match="'7,4' are not in ascending order") as caught:
        physical_ids([0], "7,4")
    assert caught.value.hint == "write 4,7"


@pytest.mark.parametrize("visible", ["", "4,,5", "4,4", "npu4", "4;5"])
def test_visible_devices_accept_ranges(visible: str) -> None:
    with pytest.raises(ParseError):
        physical_ids([0], visible)


def test_910_spreads_its_cards_over_four_planes() -> None:
    assert job_servers.simulated(range(8), planes=4) == {
        0: "192.0.2.1",
        1: "192.0.2.65",
        2: "192.0.2.129",
        3: "192.0.2.193",
        4: "192.0.2.2",
        5: "192.0.2.66",
        6: "192.0.2.130",
        7: "192.0.2.194",
    }


@given(st.sampled_from([1, 2, 4, 8]), st.integers(min_value=0, max_value=300))
def test_addresses_are_unique_and_stay_inside_their_plane(planes: int, count: int) -> None:
    ids = range(count + 1)
    try:
        found = job_servers.simulated(ids, planes=planes)
    except KitError:
        assert count >= 192
        return
    assert len(set(found.values())) == len(ids)
    block = 256 // planes
    for device_id, address in found.items():
        last = ipaddress.IPv4Address(address).packed[3]
        assert address.startswith("192.0.2.")
        assert last // block == device_id % planes
        assert 0 < last % block < block - 1


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.name)
def test_every_card_of_every_product_can_be_simulated(product: Product) -> None:
    ids = range(product.max_device_id + 1)
    assert len(set(job_servers.simulated(ids, planes=product.planes).values())) == len(ids)


def test_an_id_out_of_range_is_refused() -> None:
    assert job_servers.simulated([253], planes=1) == {253: "192.0.2.254"}
    with pytest.raises(KitError, match=r"card 254 cannot be simulated: .* ends with card 253"):
        job_servers.simulated([254], planes=1)


@pytest.mark.parametrize("planes", [1, 4])
@pytest.mark.parametrize("servers", [1, 3, 8192])
def test_a_cluster_has_unique_addresses_of_the_benchmarking_network(servers: int, planes: int) -> None:
    network = ipaddress.ip_network("198.18.0.0/15")
    found = job_servers.simulated_cluster(servers, range(8), planes=planes)
    every = [ipaddress.ip_address(address) for server in found for address in server.values()]
    assert len(set(every)) == servers * 8
    assert all(address in network for address in every)
    if planes == 4:
        blocks = [
            {int(ipaddress.ip_address(server[i])) >> 15 for server in found for i in (p, p + 4)} for p in range(4)
        ]
        assert all(len(block) == 1 for block in blocks)
        assert len(set.union(*blocks)) == 4


def test_a_cluster_that_is_too_large_is_refused() -> None:
    with pytest.raises(KitError, match=r"65536 servers cannot be simulated: .* room for 8191 with these cards"):
        job_servers.simulated_cluster(65_536, range(16), planes=1)
