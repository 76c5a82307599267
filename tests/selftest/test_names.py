"""Ranks are named by their card, and complete servers by their id."""

import pytest

from hccl_kit.selftest.names import Names
from tests.selftest.results import job


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
