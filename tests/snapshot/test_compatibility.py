"""Published pairs of versions."""

from collections.abc import Mapping

import pytest

from hccl_kit.snapshot.compatibility import DRIVERS, TORCH_NPU, doubts
from tests.snapshot.machines import CARD, machine


def said(versions: Mapping[str, str], *, cards: int = 1, chip: str = "910B3") -> list[str]:
    """What is doubted about a machine that has these versions, and nothing else installed."""
    named = {name: versions.get(name, "not installed") for name in ("driver", "cann", "torch", "torch_npu")}
    made = machine(versions=named)._replace(cards={str(card): {**CARD, "chip": chip} for card in range(cards)})
    return [*map(str, doubts(made))]


def test_published_pairs_are_not_doubted() -> None:
    for cann, adapters in TORCH_NPU.items():
        for adapter in adapters:
            torch = adapter.partition(".post")[0].partition(".rc")[0]
            assert said({"cann": cann, "torch_npu": adapter, "torch": f"{torch}+cpu"}) == []
    for cann, drivers in DRIVERS.items():
        for driver in drivers:
            assert said({"cann": cann, "driver": f"{driver}.RC1"}) == []


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (
            {"cann": "9.0.0", "torch_npu": "2.6.0"},
            "torch_npu 2.6.0 is published for CANN 8.2.RC1, and CANN 9.0.0 is installed, for which 2.9.0.post2, "
            "2.8.0.post4 or 2.7.1.post4 is published (COMPATIBILITY of torch_npu, 2026-08)",
        ),
        (
            {"torch": "2.6.0", "torch_npu": "2.5.1.post1"},
            "torch_npu 2.5.1.post1 is published for torch 2.5.1, and torch 2.6.0 is installed "
            "(COMPATIBILITY of torch_npu, 2026-08)",
        ),
        (
            {"cann": "9.1.0", "driver": "25.0.rc1"},
            "driver 25.0.rc1 is not published for CANN 9.1.0; published: 25.2, 25.3, 25.5, 25.7, 26.0 or 26.1 "
            "(release note of CANN 9.1.0, 2026)",
        ),
    ],
)
def test_another_pair_is_named_with_what_is_published(versions: dict[str, str], expected: str) -> None:
    assert said(versions) == [expected]


def test_what_is_not_published_is_not_judged() -> None:
    assert said({"cann": "8.2.rc1", "torch_npu": "2.1.0.post8"}) == [], (
        "adapters of 8.0.RC2 to 8.3.RC1 work with each of these"
    )
    assert said({"cann": "9.9.9", "torch_npu": "2.6.0"}) == said({"cann": "9.0.0", "torch_npu": "3.0.0"}) == []
    assert said({"cann": "8.5.0", "driver": "26.1.0"}) == [], "newer than the list"
    assert said({"cann": "9.1.0", "driver": "25.1.RC1"}, chip="Ascend950PR") == [], (
        "releases of Atlas 950 have other numbers"
    )
    assert said({"cann": "9.1.0", "driver": "25.0.rc1"}, cards=0) == [], "no card says which product this is"
