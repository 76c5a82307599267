"""torch in a rank: the same program for CPUs and cards; a card is played by the CPU, all but its name."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from hccl_kit.selftest.measured import OPERATORS
from hccl_kit.selftest.ranks.measure import Seat, arithmetic, collectives
from tests.on_use import OnUse, on_use

pytestmark = pytest.mark.train

dist = on_use("torch.distributed")
ranks, devices = OnUse("hccl_kit.selftest.ranks.torch_ranks"), OnUse("hccl_kit.selftest.ranks.torch_ranks")


class Alone:
    """The channel of a rank without others."""

    rank = 0

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def put(self, key: str, value: str, _to: list[int]) -> None:
        self.values[key] = value

    def get(self, key: str, _seconds: float) -> str:
        return self.values[key]

    def has(self, key: str) -> bool:
        return key in self.values


class Runtime:
    """In the place of torch.cuda and torch.npu."""

    def __init__(self) -> None:
        self.device, self.waits = "", 0

    def set_device(self, name: str) -> None:
        self.device = name

    def synchronize(self) -> None:
        self.waits += 1


class Group:
    """In the place of ProcessGroupNCCL and ProcessGroupHCCL, which take their timeout as an option."""

    class Options:
        _timeout = timedelta()

    def __new__(cls, store: Any, place: int, size: int, options: Options) -> Any:
        assert options._timeout > timedelta()
        return dist.ProcessGroupGloo(store, place, size, options._timeout)


def test_all_operators_are_right_on_a_cpu_and_on_a_card_and_every_call_is_waited_for() -> None:
    runtime = Runtime()
    card = devices.of_card("cpu", runtime, Group)
    assert runtime.device == "cpu"
    for device in (devices.device("gloo", 3), card):
        framework = ranks.TorchRanks(Alone(), device)
        for step, operator in enumerate(OPERATORS):
            group = framework.group([0], step, 5.0)
            (timing,) = collectives(Seat(group, 0, 1), operator, [4096], 0.0, 5.0)
            assert (timing.size, timing.is_wrong) == (4096, False), (device.name, operator)
            group.close()
    assert runtime.waits >= 5 * len(OPERATORS)


def test_a_product_and_a_copy_are_waited_for_too() -> None:
    runtime = Runtime()
    small = devices.of_card("cpu", runtime, Group)._replace(side=64, copy=4096)
    framework = ranks.TorchRanks(Alone(), small)
    product, copy = framework.product(), framework.copy()
    assert (product.amount, copy.amount) == (2 * 64**3, 2 * 4096)
    assert np.all(np.array(arithmetic(product, copy, 0.0)) > 0)
    assert runtime.waits == 2 * 4
