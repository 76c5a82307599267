"""What is made of the results of ranks."""

from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.selftest.bandwidth import bus_bandwidth
from hccl_kit.selftest.measured import Collective, Link
from hccl_kit.selftest.protocol import Result, Timing
from hccl_kit.selftest.rounds import pair_rounds
from hccl_kit.selftest.run import bounded, collectives_of, link_of
from tests.selftest.results import job


def timing(size: int, seconds: float, *, wrong: bool = False) -> Timing:
    return Timing(size, 2 * seconds, seconds, wrong)


def test_the_slower_rank_and_the_largest_size_make_the_bandwidth() -> None:
    one, other = Result((timing(8, 1), timing(800, 1.0))), Result((timing(8, 1), timing(800, 4.0)))
    assert link_of((0, 1), [one, other]) == Link((0, 1), bus_bandwidth("all_reduce", 2, 800, 4.0))


def test_a_problem_of_one_rank_is_that_of_the_link() -> None:
    assert link_of((0, 1), [Result((timing(8, 1),)), Result(problem="timed out")]) == Link(
        (0, 1), None, problem="timed out"
    )
    assert link_of((0, 1), [Result(), Result()]) == Link((0, 1), None, problem="no result")


def test_a_wrong_result_is_wrong_even_if_the_partner_gave_up() -> None:
    link = link_of((0, 1), [Result((timing(8, 1, wrong=True),)), Result(problem="timed out")])
    assert link.is_wrong
    assert link.bandwidth is None


def test_collectives() -> None:
    results = {
        0: Result((timing(8, 1), timing(80, 1))),
        2: Result((timing(8, 3), timing(80, 1, wrong=True)), problem="connection reset"),
    }
    assert [*collectives_of("broadcast", (8, 80, 800), results)] == [
        Collective("broadcast", 8, 2, 6.0),
        Collective("broadcast", 80, 2, 2.0, "wrong result on rank 2"),
        Collective("broadcast", 800, 2, None, "rank 2: connection reset"),
    ]


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 4))
def test_few_rounds_are_some_of_all(servers: int, count: int, most: int) -> None:
    cards = job(servers, count)
    home = {card.rank: card.server for card in cards}
    everything = pair_rounds(cards)
    assert bounded(everything, home, None) == everything
    some = bounded(everything, home, most)
    inside = [pairs for pairs in some if home[pairs[0][0]] == home[pairs[0][1]]]
    assert len(inside) <= most
    assert len(some) - len(inside) <= most
    assert set(chain(*some)) <= set(chain(*everything))
    if servers > 2 and most > 1:
        partners = {rank: sum(rank in pair for pair in chain(*some)) for rank in home}
        assert min(partners.values()) >= 1
