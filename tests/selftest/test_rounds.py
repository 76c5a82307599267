"""A tournament has everybody with everybody once, and nobody twice in a round."""

from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.selftest.rounds import Card, by_server, pair_rounds, tournament


@pytest.mark.parametrize("count", range(40))
def test_a_tournament(count: int) -> None:
    rounds = tournament(count)
    assert sorted(chain(*rounds)) == list(combinations(range(count), 2))
    for pairs in rounds:
        assert len(set(chain(*pairs))) == 2 * len(pairs) == 2 * (count // 2)
    assert len(rounds) == (max(0, count - 1) if count % 2 == 0 else count - (count == 1))


def cards(*counts: int) -> list[Card]:
    servers = [server for server, count in enumerate(counts) for _ in range(count)]
    return [Card(rank, f"10.0.0.{server}", rank) for rank, server in enumerate(servers)]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=7))
def test_rounds_use_everybody_once_and_keep_inside_and_between_apart(counts: list[int]) -> None:
    job = cards(*counts)
    home = {card.rank: card.server for card in job}
    for pairs in pair_rounds(job):
        assert pairs
        assert len(set(chain(*pairs))) == 2 * len(pairs)
        assert all(a < b for a, b in pairs)
        assert len({home[a] == home[b] for a, b in pairs}) == 1
    everything = list(chain(*pair_rounds(job)))
    assert len(set(everything)) == len(everything)


@given(st.integers(1, 8), st.integers(2, 7))
def test_equal_servers_meet_with_all_their_cards(count: int, servers: int) -> None:
    job = cards(*[count] * servers)
    home = {card.rank: card.server for card in job}
    between = [pairs for pairs in pair_rounds(job) if home[pairs[0][0]] != home[pairs[0][1]]]
    assert len(between) == servers - (servers % 2 == 0)
    met = {(rank, home[other]) for a, b in chain(*between) for rank, other in ((a, b), (b, a))}
    assert len(met) == len(job) * (servers - 1)


def test_the_servers_are_in_the_order_of_their_first_ranks() -> None:
    job = [Card(0, "b", 0), Card(2, "b", 1), Card(1, "a", 0), Card(3, "a", 1)]
    assert by_server(job) == [[0, 2], [1, 3]]
