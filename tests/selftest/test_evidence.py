"""Certain faults, and faults that a busy machine may explain."""

from dataclasses import replace
from itertools import combinations
from math import isclose

from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.selftest.evidence import chance, judged_links, judged_ranks, link_ratios, weigh
from hccl_kit.selftest.measured import Measured
from hccl_kit.selftest.verdict import judge
from tests.selftest.results import broken, halved, healthy, in_passes, slowed, weak, wrong


@given(st.integers(0, 18), st.integers(0, 40), st.integers(0, 40))
def test_chance_is_the_tail_probability_of_a_distribution(passes: int, low: int, of_all: int) -> None:
    low = min(low, of_all)
    tails = [chance(one, passes, low, of_all) for one in range(passes + 1)]
    assert isclose(tails[0], 1)
    assert tails == sorted(tails, reverse=True)


def test_chance_of_the_lowest_ranks_among_all() -> None:
    """The order of healthy ones is random: the chance that all passes of one are below all others is combinatorial."""
    for passes, others in ((1, 3), (2, 4), (3, 3)):
        places = list(combinations(range(passes + others + 1), passes))
        assert isclose(chance(passes, passes, 0, others), 1 / len(places))
    assert isclose(chance(2, 2, 1, 2), 3 / 10)  # p is most likely 1/2: the integral of p**2 * 6 * p * (1 - p)


def sides(measured: Measured) -> tuple[list[str], list[str]]:
    weighed = weigh(judge(measured), measured)
    return [fault.kind for fault in weighed.faults], [fault.kind for fault in weighed.doubts]


def test_a_slow_port_needs_several_passes() -> None:
    """With three hosts there is one healthy pair to compare with, with four there are three."""
    for servers, enough in ((3, 11), (4, 7), (8, 5)):
        harmed = slowed(healthy(servers, 1), lambda pair: 1 in pair, 0.1)
        assert sides(in_passes(harmed, enough - 1)) == ([], ["slow-port"])
        assert sides(in_passes(harmed, enough)) == (["slow-port"], [])


def test_a_slow_card_needs_several_passes() -> None:
    harmed = weak(healthy(1, 4), 1, 0.2)
    assert sides(in_passes(harmed, 2)) == ([], ["slow-card"])
    assert sides(in_passes(harmed, 7)) == (["slow-card"], [])


def test_failures_and_wrong_results_are_certain() -> None:
    for harm in (broken, wrong):
        ((kind,), doubts) = sides(in_passes(harm(healthy(4, 1), lambda pair: pair == (0, 1)), 1))
        assert not kind.startswith("slow")
        assert doubts == []


def test_a_slow_uplink_needs_several_passes() -> None:
    """The same two of four halves are always faster: seven passes are enough."""
    for passes, found in ((6, ([], ["slow-uplink"])), (7, (["slow-uplink"], []))):
        assert sides(halved(*[((1.0, 0.9), (0.2, 0.3))] * passes)) == found


def test_a_fault_far_worse_than_the_noise_of_a_busy_machine_is_named() -> None:
    """Passes of four lab hosts at a load of 34: half speed is common, but host 0, at 10 Mbit/s, has a fiftieth."""
    harmed = in_passes(healthy(4, 1), 1)
    passes = {
        (0, 1): (0.02, 0.01, 0.04, 0.03, 0.03, 0.03, 0.04, 0.02),
        (0, 2): (0.02, 0.01, 0.03, 0.03, 0.04, 0.03, 0.04, 0.02),
        (0, 3): (0.02, 0.01, 0.04, 0.03, 0.04, 0.03, 0.04, 0.02),
        (1, 2): (0.86, 0.29, 1.00, 0.73, 1.00, 0.15, 0.15, 0.24),
        (1, 3): (0.46, 1.00, 0.29, 1.00, 0.91, 0.46, 0.14, 0.76),
        (2, 3): (1.00, 0.40, 0.15, 0.72, 0.17, 1.00, 1.00, 1.00),
    }
    harmed = replace(harmed, links=tuple(replace(link, ratios=passes[link.pair]) for link in harmed.links))
    assert sides(harmed) == (["slow-port"], [])


LOW = (0.3, 0.45, 0.9)


def test_ratios_within_a_pass() -> None:
    measured = slowed(wrong(healthy(4, 1), lambda pair: pair == (2, 3)), lambda pair: pair == (0, 1), 0.25)
    found = link_ratios(measured.links, measured.cards, None)
    assert {pair: found[pair] for pair in ((0, 1), (0, 2), (2, 3))} == {(0, 1): 0.25, (0, 2): 1.0, (2, 3): 0.0}


def test_load_that_slows_all_links_is_not_a_fault() -> None:
    """In every pass, another pair is the fastest, so most pairs have less than half of its speed."""
    measured = healthy(3, 1)
    links = tuple(replace(link, ratios=LOW) for link in measured.links)
    compute = tuple(replace(compute, ratios=LOW) for compute in measured.compute)
    busy = replace(measured, links=links, compute=compute)
    assert [judged.quality for judged in judged_links(busy)] == [1.0] * 3
    assert [one.quality for one in judged_ranks(busy).values()] == [1.0] * 3
    assert [judged.ratios[1] for judged in judged_links(busy)] == [1.0] * 3


def test_a_baseline_is_not_lowered() -> None:
    measured = healthy(3, 1)
    busy = replace(measured, links=tuple(replace(link, ratios=LOW) for link in measured.links))
    assert [judged.quality for judged in judged_links(busy, measured)] == [0.45] * 3


def test_a_baseline_of_nearly_nothing_gives_ratios_that_can_be_drawn() -> None:
    measured = healthy(3, 1)
    nothing = replace(measured, links=tuple(replace(link, bandwidth=5e-324) for link in measured.links))
    assert set(link_ratios(measured.links, measured.cards, nothing).values()) == {1e12}
