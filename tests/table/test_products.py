"""The facts about products are consistent."""

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.table.products import PRODUCT_NAMES, PRODUCTS, find_product


def test_every_name_finds_its_product() -> None:
    assert [find_product(name).name for name in PRODUCT_NAMES] == list(PRODUCT_NAMES)
    assert len(set(PRODUCT_NAMES)) == len(PRODUCTS)


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(KitError) as caught:
        find_product("910c")
    assert "'910c'" in caught.value.message
    for name in PRODUCT_NAMES:
        assert name in caught.value.message


def test_facts_are_consistent() -> None:
    for product in PRODUCTS:
        cards = set(range(product.max_device_id + 1))
        in_groups = [card for group in product.groups for card in group]
        assert sorted(in_groups) == sorted(cards if product.groups else ()), product
        assert len({len(group) for group in product.groups}) <= 1, product
        for counts in (product.server_counts, product.cluster_counts):
            assert list(counts) == sorted(set(counts)), product
            assert max(counts, default=0) <= len(cards), product
        for quad in product.parser_quads:
            assert len(quad) == 4, product
            assert list(quad) == sorted(set(quad) & cards), product
            assert not any(set(quad) <= set(group) for group in product.groups), product
        assert product.table_versions, product
        assert product.planes >= 1, product
        assert product.prefix is None, product
        assert product.has_super_pods == (product.name == "a3"), product


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        *(("A2", "a2"), ("910B", "a2"), ("Ascend910B4", "a2"), ("910A", "910"), ("Atlas 800I A2", "a2")),
        *(("910c", "a3"), ("Ascend910_9392", "a3"), ("950", "a5"), ("310P3", "300i-duo"), ("A2-Box16", "a2-box16")),
    ],
)
def test_the_name_of_a_chip_or_board_suggests_its_product(written: str, meant: str) -> None:
    with pytest.raises(KitError) as caught:
        find_product(written)
    assert caught.value.hint == f"did you mean {meant}?"


@pytest.mark.parametrize("written", ["", "x", "310", "H100", "a20"])
def test_an_unrelated_name_gets_no_suggestion(written: str) -> None:
    with pytest.raises(KitError, match="accepted: 910, a2") as caught:
        find_product(written)
    assert caught.value.hint is None
