"""Aggregation of the results of ranks."""

from hccl_kit.selftest.measured import Collective, Compute, Link, Measured, bus_bandwidth
from hccl_kit.selftest.protocol import Result, Timing
from hccl_kit.selftest.results import collectives_of, half_of, link_of, with_collectives, with_compute, with_links
from tests.selftest.results import job


def timing(size: int, seconds: float, *, wrong: bool = False) -> Timing:
    return Timing(size, 2 * seconds, seconds, wrong)


def test_the_bandwidth_is_that_of_the_slower_rank_at_the_largest_size() -> None:
    one, other = Result((timing(8, 1), timing(800, 1.0))), Result((timing(8, 1), timing(800, 4.0)))
    assert link_of((0, 1), [one, other]) == Link((0, 1), bus_bandwidth("all_reduce", 2, 800, 4.0))


def test_a_problem_of_one_rank_is_a_problem_of_the_link() -> None:
    assert link_of((0, 1), [Result((timing(8, 1),)), Result(problem="timed out")]) == Link(
        (0, 1), None, problem="timed out"
    )
    assert link_of((0, 1), [Result(), Result()]) == Link((0, 1), None, problem="no result")


def test_a_wrong_result_counts_even_if_the_partner_failed() -> None:
    link = link_of((0, 1), [Result((timing(8, 1, wrong=True),)), Result(problem="timed out")])
    assert link.is_wrong
    assert link.bandwidth is None


def test_results_of_collectives_are_combined() -> None:
    results = {
        0: Result((timing(8, 1), timing(80, 1))),
        2: Result((timing(8, 3), timing(80, 1, wrong=True)), problem="connection reset"),
    }
    assert [*collectives_of("broadcast", (8, 80, 800), results)] == [
        Collective("broadcast", 8, 2, 6.0),
        Collective("broadcast", 80, 2, 2.0, "wrong result on rank 2"),
        Collective("broadcast", 800, 2, None, "rank 2: connection reset"),
    ]


def test_bandwidth_of_a_half() -> None:
    both = [Result((timing(8, 1), timing(800, seconds))) for seconds in (1.0, 4.0)]
    results = [*both, Result((timing(8, 1),))]
    assert half_of(both) == bus_bandwidth("all_reduce", 2, 800, 4.0)
    assert half_of(results) == bus_bandwidth("all_reduce", 3, 8, 1)
    assert half_of([*results, Result(problem="timed out")]) == 0
    assert half_of([Result((timing(8, 1, wrong=True),))]) == 0


def test_passes_of_links_are_combined() -> None:
    """The best bandwidth, and for each pass the ratio to the other links of that pass."""
    nothing = Measured("gloo", job(4, 1))
    one = with_links(nothing, [Link((0, 1), 1.0), Link((2, 3), 2.0)], None)
    two = with_links(one, [Link((0, 1), 0.5), Link((2, 3), 0.5)], None)
    three = with_links(two, [Link((0, 1), None, problem="timed out")], None)
    assert three.links == (Link((0, 1), 1.0, ratios=(0.5, 1.0, 0.0)), Link((2, 3), 2.0, ratios=(1.0, 1.0)))


def test_a_link_that_is_measured_alone_has_no_ratio() -> None:
    """It would only be compared with itself, and a slow link would look healthy if no other links are left."""
    nothing = Measured("gloo", job(4, 1))
    first = with_links(nothing, [Link((0, 1), 0.01), Link((2, 3), 1.0)], None)
    slow = with_links(first, [Link((0, 1), 0.01)], None)
    assert slow.links == (Link((0, 1), 0.01, ratios=(0.01,)), Link((2, 3), 1.0, ratios=(1.0,)))
    assert with_links(slow, [Link((1, 2), 0.01)], None).links[1].ratios == (1.0,)
    assert with_links(slow, [Link((0, 1), None)], None).links[0].ratios == (0.01, 0.0)
    assert with_links(slow, [Link((0, 1), 0.01)], first).links[0].ratios == (0.01, 1.0)
    two = with_links(Measured("gloo", job(2, 1)), [Link((0, 1), 1.0)], None)
    assert with_links(two, [Link((0, 1), 1.0)], None).links[0].ratios == (1.0, 1.0)


def test_a_wrong_result_is_kept() -> None:
    nothing = Measured("gloo", job(2, 1))
    found = with_links(with_links(nothing, [Link((0, 1), 1.0, is_wrong=True)], None), [Link((0, 1), 1.0)], None)
    assert found.links[0].is_wrong


def test_passes_of_arithmetic_are_combined() -> None:
    nothing = Measured("gloo", job(1, 2))
    one = with_compute(nothing, [Compute(0, 10.0, 4.0), Compute(1, 5.0, 4.0)], None)
    two = with_compute(one, [Compute(0, 8.0, 5.0), Compute(1, 8.0, 4.0)], None)
    assert two.compute == (Compute(0, 10.0, 5.0, ratios=(1.0, 1.0)), Compute(1, 8.0, 4.0, ratios=(0.5, 1.0)))


def test_the_faster_collective_is_used_and_a_problem_is_kept() -> None:
    slow, fast, failed = (Collective("broadcast", 8, 2, seconds, why) for seconds, why in ((2, ""), (1, ""), (1, "x")))
    nothing = Measured("gloo", job(1, 2))
    assert with_collectives(with_collectives(nothing, [fast]), [slow]).collectives == (fast,)
    assert with_collectives(with_collectives(nothing, [failed]), [fast]).collectives == (failed,)
