import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError, ParseError
from hccl_kit.discovery.visible import physical_ids


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
