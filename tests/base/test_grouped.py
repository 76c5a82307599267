"""Values by their key."""

from hccl_kit.base.grouped import grouped


def test_keys_and_values_keep_their_order() -> None:
    made = grouped([("b", 1), ("a", 2), ("b", 3)])
    assert [*made.items()] == [("b", [1, 3]), ("a", [2])]
    assert grouped([]) == {}
