"""What an agent is told first, from whoever writes to its standard input."""

from typing import Any

import pytest

from hccl_kit.selftest.agent import Order

GOOD: dict[str, Any] = {"backend": "torch", "environ": {"A": "1"}, "workers": [{"RANK": "3"}]}


def test_an_order() -> None:
    assert Order.of(GOOD) == Order("torch", {"A": "1"}, [{"RANK": "3"}])


@pytest.mark.parametrize("workers", [7, [7], [{}], [{"RANK": "x"}], [{"RANK": None}]], ids=str)
def test_what_is_no_order(workers: Any) -> None:
    assert Order.of({**GOOD, "workers": workers}) is None
    assert Order.of(None) is None
