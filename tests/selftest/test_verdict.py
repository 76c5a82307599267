"""Exactly the planted faults are named: every kind, on networks of all sizes, with noise."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.selftest.faults import Fault
from hccl_kit.selftest.measured import Collective, Link, LostRank, Measured
from hccl_kit.selftest.rounds import Card
from hccl_kit.selftest.verdict import judge
from tests.selftest.results import broken, halved, healthy, slowed, weak, wrong

FABRICS = st.tuples(st.integers(3, 8), st.integers(1, 4))
NOISE = st.lists(st.floats(0.85, 1.15), max_size=30)
FACTORS = st.floats(0.01, 0.36)
"""Below half of the reference with any noise: 0.36 * 1.15 / 0.85 is 0.49."""


def names(faults: tuple[Fault, ...]) -> list[tuple[str, tuple[int, ...]]]:
    return [(fault.kind, fault.ranks) for fault in faults]


@given(st.tuples(st.integers(1, 8), st.integers(1, 4)), NOISE)
def test_a_healthy_network_has_no_fault(shape: tuple[int, int], noise: list[float]) -> None:
    assert judge(healthy(*shape, noise)) == ()


@given(FABRICS, NOISE, FACTORS, st.data())
def test_a_slow_port_of_a_server_is_named(
    shape: tuple[int, int], noise: list[float], factor: float, data: st.DataObject
) -> None:
    """Only the links from one server to others are slow: the server is named, or its card if it has a single one."""
    measured = healthy(*shape, noise)
    server = data.draw(st.integers(0, shape[0] - 1))
    own = tuple(range(server * shape[1], (server + 1) * shape[1]))
    harmed = slowed(measured, lambda pair: (pair[0] in own) != (pair[1] in own), factor)
    assert names(judge(harmed)) == [("slow-port", own)]


@given(FABRICS, NOISE, FACTORS, st.data())
def test_a_slow_card_is_named(shape: tuple[int, int], noise: list[float], factor: float, data: st.DataObject) -> None:
    """A card that computes slowly is slow with all partners, which is not a network fault."""
    rank = data.draw(st.integers(0, shape[0] * shape[1] - 1))
    harmed = weak(slowed(healthy(*shape, noise), lambda pair: rank in pair, factor), rank, factor)
    assert names(judge(harmed)) == [("slow-card", (rank,))]


@given(st.tuples(st.integers(4, 8), st.integers(1, 4)), NOISE, FACTORS, st.data())
def test_a_slow_link_is_named(shape: tuple[int, int], noise: list[float], factor: float, data: st.DataObject) -> None:
    measured = healthy(*shape, noise)
    victim = data.draw(
        st.sampled_from([link.pair for link in measured.links if link.pair[1] // shape[1] != link.pair[0] // shape[1]])
    )
    assert names(judge(slowed(measured, lambda pair: pair == victim, factor))) == [("slow-link", victim)]
    assert names(judge(broken(measured, lambda pair: pair == victim))) == [("broken-link", victim)]
    assert names(judge(wrong(measured, lambda pair: pair == victim))) == [("wrong-link", victim)]


@given(FABRICS, NOISE, st.data())
def test_a_card_with_wrong_results_and_one_without_results_are_named(
    shape: tuple[int, int], noise: list[float], data: st.DataObject
) -> None:
    servers, _ = shape
    measured = healthy(servers, 1, noise)
    rank = data.draw(st.integers(0, servers - 1))
    assert names(judge(wrong(measured, lambda pair: rank in pair))) == [("wrong-card", (rank,))]
    assert names(judge(broken(measured, lambda pair: rank in pair))) == [("broken-port", (rank,))]


@given(FABRICS, NOISE, st.data())
def test_a_lost_rank_explains_its_links(shape: tuple[int, int], noise: list[float], data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, shape[0] * shape[1] - 1))
    harmed = broken(healthy(*shape, noise), lambda pair: rank in pair)
    assert names(judge(replace(harmed, lost=(LostRank(rank, "dead"),)))) == [("lost", (rank,))]


@given(FABRICS, NOISE, st.randoms(use_true_random=False), st.floats(1e-3, 1e3), st.data())
def test_order_and_unit_do_not_matter(
    shape: tuple[int, int], noise: list[float], chance: random.Random, unit: float, data: st.DataObject
) -> None:
    measured = healthy(*shape, noise)
    some = set(data.draw(st.lists(st.sampled_from(measured.links), max_size=6)))
    harmed = slowed(measured, lambda pair: pair in {one.pair for one in some}, 0.2)
    links, compute, cards = list(harmed.links), list(harmed.compute), list(harmed.cards)
    chance.shuffle(links)
    chance.shuffle(compute)
    chance.shuffle(cards)
    other = replace(harmed, links=tuple(links), compute=tuple(compute), cards=tuple(cards))
    assert sorted(names(judge(other))) == sorted(names(judge(harmed)))
    assert names(judge(slowed(harmed, lambda _: True, unit))) == names(judge(harmed))


@given(FABRICS, NOISE, st.data())
def test_without_a_bad_pair_no_pair_is_named(shape: tuple[int, int], noise: list[float], data: st.DataObject) -> None:
    """For any slow links: the faults only name ends of slow links, and every slow link is explained."""
    measured = healthy(*shape, noise)
    some = {one.pair for one in data.draw(st.lists(st.sampled_from(measured.links), max_size=8))}
    faults = judge(slowed(measured, some.__contains__, 0.2))
    blamed = {rank for fault in faults for rank in fault.ranks}
    ends = {rank for pair in some for rank in pair}
    assert blamed <= ends
    assert bool(faults) <= bool(some)


def test_two_servers_cannot_be_distinguished() -> None:
    (fault,) = judge(slowed(healthy(2, 3), lambda pair: pair == (0, 3), 0.1))
    assert (fault.kind, fault.ranks) == ("slow-link", (0, 3))
    assert "cannot be told" in fault.message


def test_the_message_for_a_slow_server() -> None:
    (fault,) = judge(slowed(healthy(4, 2), lambda pair: (pair[0] in (2, 3)) != (pair[1] in (2, 3)), 0.25))
    assert fault.message == (
        "server 10.0.0.2 (ranks 2 and 3) is slow with all 6 partners on other servers: at most 25% of the others"
    )


def test_a_completely_lost_server_is_one_fault() -> None:
    lost = tuple(LostRank(rank, "unreachable", "Connection refused") for rank in (2, 3))
    (fault,) = judge(replace(healthy(3, 2), lost=lost))
    assert fault.message == "server 10.0.0.2 (ranks 2 and 3) cannot be reached: Connection refused"


def test_a_baseline_detects_that_everything_is_slow() -> None:
    before = healthy(4, 1)
    after = slowed(before, lambda _: True, 0.4)
    assert judge(after) == ()
    assert names(judge(after, before)) == [("slow-fabric", (0, 1, 2, 3))]


def test_with_a_baseline_a_link_that_was_always_slower_is_not_a_fault() -> None:
    before = slowed(healthy(4, 1), lambda pair: pair == (0, 1), 0.4)
    assert names(judge(before)) == [("slow-link", (0, 1))]
    assert judge(before, before) == ()


def test_a_baseline_shows_which_of_two_ranks_computes_slower() -> None:
    before = healthy(1, 2)
    assert names(judge(weak(before, 1, 0.4), before)) == [("slow-card", (1,))]


def test_slow_memory_counts_like_slow_arithmetic() -> None:
    measured = healthy(1, 3)
    for memory, found in ((3.0, []), (1.9, [("slow-card", (2,))])):
        compute = tuple(
            replace(compute, memory=memory) if compute.rank == 2 else compute for compute in measured.compute
        )
        assert names(judge(replace(measured, compute=compute))) == found


@given(FABRICS, NOISE, st.floats(0.06, 1), st.data())
def test_a_rank_that_is_stopped_explains_its_links(
    shape: tuple[int, int], noise: list[float], part: float, data: st.DataObject
) -> None:
    rank = data.draw(st.integers(0, shape[0] * shape[1] - 1))
    measured = slowed(healthy(*shape, noise), lambda pair: rank in pair, 0.3)
    parts = tuple(replace(compute, stalled=part if compute.rank == rank else 0) for compute in measured.compute)
    assert names(judge(replace(measured, compute=parts))) == [("stalls", (rank,))]


def test_a_stop_of_one_of_two_ranks_is_named() -> None:
    measured = healthy(1, 2)
    compute = tuple(replace(compute, stalled=0.3 * compute.rank) for compute in measured.compute)
    (fault,) = judge(replace(measured, compute=compute))
    assert fault.message == "rank 1 (10.0.0.1, card 1) was stopped by a signal for 30% of the time"
    lost = (LostRank(1, "stopped"),)
    assert names(judge(replace(measured, compute=compute, lost=lost))) == [("lost", (1,))]


@given(st.integers(2, 4), st.integers(2, 4), st.integers(1, 3), NOISE, FACTORS)
def test_a_slow_path_between_groups_of_servers_is_named(
    one: int, other: int, count: int, noise: list[float], factor: float
) -> None:
    """Every server has fast partners in its own group, so no single server is slow."""
    measured = healthy(one + other, count, noise)

    def crosses(pair: tuple[int, int]) -> bool:
        return (pair[0] < one * count) != (pair[1] < one * count)

    everybody = tuple(range((one + other) * count))
    assert names(judge(slowed(measured, crosses, factor))) == [("slow-uplink", everybody)]
    assert names(judge(broken(measured, crosses))) == [("broken-uplink", everybody)]


def test_the_message_for_a_slow_path() -> None:
    (fault,) = judge(slowed(healthy(4, 1), lambda pair: pair not in ((0, 1), (2, 3)), 0.25))
    assert fault.message == (
        "the 4 pairs between (10.0.0.1, 10.0.0.2) and (10.0.0.3, 10.0.0.4) are slow, "
        "at most 25% of the pairs inside these groups"
    )
    assert fault.pairs == ((0, 2), (0, 3), (1, 2), (1, 3))


def test_a_slow_server_in_addition_to_a_slow_path_is_named() -> None:
    measured = slowed(healthy(5, 1), lambda pair: pair not in ((0, 1), (2, 3)), 0.25)
    assert names(judge(measured)) == [("slow-port", (4,)), ("slow-uplink", (0, 1, 2, 3))]


def test_halves_distinguish_a_slow_path_from_a_slow_server() -> None:
    """Path: halves on one side of it are fast, all mixed ones are slow. Server: one half of each split is slow."""
    (fault,) = judge(halved(((1.0, 0.9), (0.2, 0.3))))
    assert (fault.kind, fault.ranks) == ("slow-uplink", (0, 1, 2, 3))
    assert fault.message == (
        "all-reduces inside (10.0.0.1, 10.0.0.2) and inside (10.0.0.3, 10.0.0.4) are fast; "
        "those of mixed halves have 33% of that"
    )
    assert judge(halved(((1.0, 0.2), (0.2, 1.0)))) == ()
    assert judge(halved(((1.0, 0.9), (0.2, 0.3)), ((0.3, 0.9), (0.2, 0.3)))) == ()
    assert judge(halved(((0.0, 0.0), (0.0, 0.0)))) == ()
    assert judge(halved()) == ()


def test_one_fast_pair_does_not_make_the_others_slow() -> None:
    assert judge(slowed(healthy(5, 1), lambda pair: pair == (0, 1), 4)) == ()


def test_a_card_with_a_single_partner_is_named_with_its_link() -> None:
    """The third card of the first server is paired with one other card: its link is named, with both ends."""
    measured = healthy(3, 1)
    links = (*measured.links, Link((0, 3), 0.1))
    cards = (*measured.cards, Card(3, "10.0.0.4", 0))
    (fault,) = judge(replace(measured, links=links, cards=cards))
    assert (fault.kind, fault.ranks) == ("slow-link", (0, 3))
    assert "cannot be told" in fault.message


def collective(measured: Measured, seconds: float | None, problem: str = "", size: int = 1 << 20) -> Measured:
    return replace(measured, collectives=(Collective("all_reduce", size, len(measured.cards), seconds, problem),))


def test_collectives_are_compared_with_the_baseline_if_all_pairs_are_healthy() -> None:
    before, after = collective(healthy(4, 1), 1e-3), collective(healthy(4, 1), 3e-3)
    (fault,) = judge(after, before)
    assert fault.message == "all_reduce of 1048576 bytes has 0.524 GB/s, 33% of the baseline"
    assert judge(after) == ()
    harmed = slowed(after, lambda pair: pair == (0, 1), 0.1)
    assert [fault.kind for fault in judge(harmed, before)] == ["slow-link"]


def test_latency_is_not_compared() -> None:
    before, after = (collective(healthy(4, 1), seconds, size=1024) for seconds in (1e-5, 1e-3))
    assert judge(after, before) == ()


def test_a_wrong_collective_is_a_fault() -> None:
    (fault,) = judge(collective(healthy(4, 1), 1e-3, "wrong result on rank 2"))
    assert fault.kind == "collective"
    assert "all_reduce of 1048576 bytes over all ranks: wrong result on rank 2" in fault.message


@pytest.mark.parametrize("harm", [broken, wrong])
def test_a_network_without_working_pairs_is_one_fault(harm: object) -> None:
    assert callable(harm)
    (fault,) = judge(harm(healthy(4, 1), lambda _: True))
    assert fault.ranks == (0, 1, 2, 3)
    assert fault.message.startswith(("no pair between the servers", "all pairs between the servers give wrong"))
