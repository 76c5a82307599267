"""A tournament pairs everyone with everyone once, and nobody twice in a round."""

from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.selftest.rounds import Card, Names, by_server, halves, pair_rounds, some_rounds, tournament
from tests.selftest.results import job


def test_a_tournament_is_complete() -> None:
    for count in range(40):
        rounds = tournament(count)
        assert sorted(chain(*rounds)) == list(combinations(range(count), 2))
        for pairs in rounds:
            assert len(set(chain(*pairs))) == 2 * len(pairs) == 2 * (count // 2)
        assert len(rounds) == (max(0, count - 1) if count % 2 == 0 else count - (count == 1))


def cards(*counts: int) -> list[Card]:
    servers = [server for server, count in enumerate(counts) for _ in range(count)]
    return [Card(rank, f"10.0.0.{server}", rank) for rank, server in enumerate(servers)]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=7))
def test_rounds_use_everyone_once_and_separate_pairs_inside_and_between_servers(counts: list[int]) -> None:
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
def test_all_cards_of_equal_servers_are_paired_with_every_other_server(count: int, servers: int) -> None:
    job = cards(*[count] * servers)
    home = {card.rank: card.server for card in job}
    between = [pairs for pairs in pair_rounds(job) if home[pairs[0][0]] != home[pairs[0][1]]]
    assert len(between) == servers - (servers % 2 == 0)
    met = {(rank, home[other]) for a, b in chain(*between) for rank, other in ((a, b), (b, a))}
    assert len(met) == len(job) * (servers - 1)


@given(st.integers(1, 40), st.integers(1, 9))
def test_a_selection_of_rounds_has_no_repeated_pairs(count: int, most: int) -> None:
    everything = tournament(count)
    rounds = some_rounds(count, most)
    assert len(rounds) <= most
    assert rounds == everything or len(everything) > most
    for pairs in rounds:
        assert len(set(chain(*pairs))) == 2 * len(pairs) > 0
    met = [*chain(*rounds)]
    assert len(set(met)) == len(met)
    assert set(met) <= set(chain(*everything))
    if count > 2 and most > 2:
        assert all(sum(number in pair for pair in met) > 1 for number in range(count))


@pytest.mark.parametrize("count", [9, 16, 64])
def test_a_selection_of_rounds_connects_each_half(count: int) -> None:
    """Otherwise a slow path between the halves would be mistaken for many slow servers."""
    names = Names([Card(number, str(number), 0) for number in range(count)])
    for half in halves(count)[0]:
        pairs = [pair for pair in chain(*some_rounds(count, 7)) if set(pair) <= set(half)]
        assert [len(group) for group in names.joined(pairs)] == [len(half)]


def test_halves_separate_every_two_servers() -> None:
    for count in range(2, 70):
        splits = halves(count)
        for lower, upper in splits:
            assert sorted([*lower, *upper]) == [*range(count)]
            assert min(len(lower), len(upper)) >= count // 3
        for first, second in combinations(range(count), 2):
            assert any((first in lower) != (second in lower) for lower, _ in splits)
        assert splits[0] == ([*range((count + 1) // 2)], [*range((count + 1) // 2, count)])


def test_the_servers_are_in_the_order_of_their_first_ranks() -> None:
    job = [Card(0, "b", 0), Card(2, "b", 1), Card(1, "a", 0), Card(3, "a", 1)]
    assert by_server(job) == [[0, 2], [1, 3]]


@pytest.mark.parametrize(
    ("ranks", "groups"),
    [({0, 1, 2}, [(0, 1), (2,)]), ({1, 3}, [(1,), (3,)]), (set(), []), ({0, 1, 2, 3}, [(0, 1), (2, 3)])],
    ids=["one whole", "none whole", "none", "all"],
)
def test_ranks_of_complete_servers_are_grouped(ranks: set[int], groups: list[tuple[int, ...]]) -> None:
    assert Names(job(2, 2)).groups(frozenset(ranks)) == groups


def test_ranks_of_a_single_server_are_not_grouped() -> None:
    names = Names(job(1, 2))
    assert names.groups(frozenset({0, 1})) == [(0,), (1,)]
    assert names.ranks((0,)) == "rank 0 (10.0.0.1, card 0)"


def test_the_name_of_a_server_with_many_ranks() -> None:
    assert Names(job(2, 8)).ranks(tuple(range(8))) == "server 10.0.0.1 (ranks 0, 1, 2, 3 and 4 more)"
