"""Ranks with different configurations are reported in one sentence."""

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.runtime.consistency import assert_identical


def test_equal_ranks_pass() -> None:
    assert_identical(["a"])
    assert_identical(["a", "a", "a"], ["n1", "n1", "n2"])


def test_the_first_differing_rank_is_named_and_the_others_are_counted() -> None:
    with pytest.raises(KitError) as caught:
        assert_identical(["a", "a", "b", "a", "c"])
    assert caught.value.message == "rank 2 has another configuration than rank 0 (2 of 5 ranks differ)"
    assert caught.value.hint == "start all ranks with the same --config, -o options and files"


def test_hosts_are_named_if_they_are_known() -> None:
    with pytest.raises(KitError, match=r"^rank 1 on n2 has another configuration than rank 0 on n1 \(1 of 2 ranks"):
        assert_identical(["a", "b"], ["n1", "n2"])


def test_differing_values_are_shown_if_they_are_meaningful() -> None:
    with pytest.raises(KitError) as caught:
        assert_identical(["7 samples", "8 samples"], what="data set", hint="compare", shown=True)
    expected = "rank 1 has another data set than rank 0: 8 samples and 7 samples (1 of 2 ranks differ)"
    assert (caught.value.message, caught.value.hint) == (expected, "compare")
