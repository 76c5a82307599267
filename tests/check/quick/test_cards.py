"""The helpers that the fast paths of several versions share."""

import pytest

from hccl_kit.check.quick.cards import _numbers


@pytest.mark.parametrize("count", [0, 1, 999, 1000, 1001, 2000, 12345])
def test_writes_numbers_in_blocks_of_a_thousand(count: int) -> None:
    assert _numbers(count) == " ".join(map(str, range(count)))
