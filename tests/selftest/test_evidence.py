"""What is certain, and what a busy machine may explain."""

from math import isclose

from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.selftest.evidence import chance, weigh
from hccl_kit.selftest.measured import Measured
from hccl_kit.selftest.verdict import judge
from tests.selftest.results import broken, halved, healthy, in_passes, slowed, weak, wrong


@given(st.integers(0, 13), st.floats(0.01, 0.99))
def test_chance_is_the_tail_of_the_binomial_distribution(passes: int, share: float) -> None:
    assert isclose(chance(0, passes, share), 1)
    assert isclose(chance(passes, passes, share), share**passes)
    tails = [chance(low, passes, share) for low in range(passes + 1)]
    assert tails == sorted(tails, reverse=True)


def test_chance_of_two_heads_of_three() -> None:
    assert chance(2, 3, 0.5) == 0.5


def sides(measured: Measured) -> tuple[list[str], list[str]]:
    weighed = weigh(judge(measured), measured)
    return [one.kind for one in weighed.faults], [one.kind for one in weighed.doubts]


def test_some_passes_are_needed() -> None:
    """Three hosts have one healthy pair to compare with, four have three."""
    for servers, enough in ((3, 6), (4, 5), (8, 4)):
        harmed = slowed(healthy(servers, 1), lambda pair: 1 in pair, 0.1)
        assert sides(in_passes(harmed, enough - 1)) == ([], ["slow-port"])
        assert sides(in_passes(harmed, enough)) == (["slow-port"], [])


def test_a_slow_card_needs_them_too() -> None:
    harmed = weak(healthy(1, 4), 1, 0.2)
    assert sides(in_passes(harmed, 2)) == ([], ["slow-card"])
    assert sides(in_passes(harmed, 6)) == (["slow-card"], [])


def test_what_failed_or_is_wrong_is_certain() -> None:
    for harm in (broken, wrong):
        ((kind,), doubts) = sides(in_passes(harm(healthy(4, 1), lambda pair: pair == (0, 1)), 1))
        assert not kind.startswith("slow")
        assert doubts == []


def test_what_was_not_measured_in_passes_is_judged_as_it_is() -> None:
    assert sides(slowed(healthy(4, 1), lambda pair: pair == (0, 1), 0.1)) == (["slow-link"], [])


def test_halves_are_the_fastest_by_chance_too() -> None:
    """Always the same two of four: seven times is enough."""
    for passes, found in ((6, ([], ["slow-uplink"])), (7, (["slow-uplink"], []))):
        assert sides(halved(*[((1.0, 0.9), (0.2, 0.3))] * passes)) == found
