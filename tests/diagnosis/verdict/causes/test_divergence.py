"""The sizes of gloo's messages: as printed by real ranks, and with the invariant that they add up to the tensor."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.diagnosis.verdict.causes.divergence import MAX_SEGMENT, ring_pieces


@pytest.mark.parametrize(
    ("shape", "ranks", "found"),
    [
        ("Float [1024]", 8, {256}),  # as ranks of torch 2.13 printed when one of eight gave 1025 elements
        ("Float [1025]", 8, {260, 200}),
        ("Float [2]", 8, {4, 0}),
        ("Double [3, 5]", 2, {32, 24}),
        ("Half [1048576]", 2, {1 << 19}),
        ("Float [1048576, 4]", 2, {MAX_SEGMENT}),
    ],
)
def test_tensor_sizes_from_real_messages(shape: str, ranks: int, found: set[int]) -> None:
    assert ring_pieces("all_reduce", shape, ranks) == found


@pytest.mark.parametrize(
    ("operator", "shape", "ranks"),
    [
        ("all_gather", "Float [4]", 2),
        ("all_reduce", None, 2),
        ("all_reduce", "Float [4], Float [4]", 2),
        ("all_reduce", "Float []", 2),
        ("all_reduce", "Float [0]", 2),
        ("all_reduce", "Strange [4]", 2),
        ("all_reduce", "Float [4]", 1),
    ],
)
def test_sizes_that_cannot_be_derived_are_unknown(operator: str, shape: str | None, ranks: int) -> None:
    assert ring_pieces(operator, shape, ranks) == frozenset()


@given(st.integers(1, 1 << 24), st.integers(2, 64))
def test_the_pieces_add_up_to_the_tensor(elements: int, ranks: int) -> None:
    found = ring_pieces("all_reduce", f"Float [{elements}]", ranks)
    whole = max(found)
    assert whole <= MAX_SEGMENT
    assert {size for size in found if size not in {0, whole}} <= {4 * elements % whole}
    assert all(size % 4 == 0 for size in found)
