"""Rounds of pings in which no card is asked twice, and the answers of cards as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.discovery.hccn_answers import LinkHistory, Neighbour, Pinged
from hccl_kit.preflight.card_round import CardsAnswer, CardState, Ping, Place, from_value, plan_of, rounds_of, to_value
from hccl_kit.table.model import RankTable
from hccl_kit.table.products import any_product, find_product
from tests.preflight.nodes import read
from tests.tables import pods_value, value


def rounds(table: RankTable, product: str = "a2", *, all_pairs: bool = False) -> Sequence[Sequence[Ping]]:
    """What all servers ask in each round."""
    made = find_product(product)
    by_server = [rounds_of(table, made, server.id, all_pairs=all_pairs) for server in table.servers]
    return [[ping for asks in row for ping in asks] for row in zip_longest(*by_server, fillvalue=())]


@given(st.integers(2, 6), st.integers(1, 4), st.booleans())
def test_every_card_asks_one_other_in_a_round_and_is_asked_by_one(servers: int, cards: int, all_pairs: bool) -> None:
    table = read(value(servers, cards))
    made = rounds(table, all_pairs=all_pairs)
    for pings in made:
        assert len({ping.source for ping in pings}) == len({ping.target for ping in pings}) == len(pings)
    pairs = [(ping.source, ping.target) for pings in made for ping in pings]
    assert len(made) == (servers - 1) * (cards if all_pairs else 1)
    places = [Place(server.id, device.id) for server, device in table.devices()]
    assert sorted(pairs) == sorted(
        (one, other)
        for one in places
        for other in places
        if one.server != other.server and (all_pairs or one.card == other.card)
    )
    plan = plan_of(table, any_product(), all_pairs=all_pairs)
    assert (plan.rounds, plan.pings, plan.unpaired) == (len(made), len(pairs), ())


def test_a_ping_goes_to_the_address_of_the_table() -> None:
    table = read(value(2, 2))
    addresses = {Place(server.id, device.id): device.ip for server, device in table.devices()}
    for pings in rounds(table):
        assert [(ping.link, ping.address) for ping in pings] == [("RoCE", addresses[ping.target]) for ping in pings]


def test_on_910_cards_of_two_planes_do_not_ask_each_other() -> None:
    pairs = [
        (ping.source.card, ping.target.card)
        for pings in rounds(read(value(2, 8)), "910", all_pairs=True)
        for ping in pings
    ]
    assert {(one - other) % 4 for one, other in pairs} == {0}
    assert (0, 4) in pairs


def test_cards_of_a_super_pod_ask_over_hccs_and_those_of_two_over_roce() -> None:
    table = read(pods_value(2, 2, 4))
    pings = [ping for made in rounds(table, "a3") for ping in made]
    pods = {member.id: pod.id for pod in table.super_pods or () for member in pod.servers}
    hccs = [ping for ping in pings if ping.link == "HCCS"]
    assert hccs
    assert all(pods[ping.source.server] == pods[ping.target.server] for ping in hccs)
    sdids = {Place(server.id, device.id): str(device.sdid) for server, device in table.devices()}
    assert all(ping.address == sdids[ping.target] for ping in hccs)
    crossing = {(pods[ping.source.server], pods[ping.target.server]) for ping in pings if ping.link == "RoCE"}
    assert crossing == {tuple(pods.values())[::3], tuple(pods.values())[::-3]}
    assert plan_of(table, find_product("a3"), all_pairs=False).unpaired == ()


def test_an_address_inside_the_super_pod_is_not_asked_over_roce() -> None:
    made = pods_value(1, 2, 2)
    for server, entry in enumerate(made["server_list"]):
        for card, device in enumerate(entry["device"]):
            device["device_ip"] = f"192.{server}.{2 + card % 2}.{199 - card}"
            device["super_device_id"] = str(server << 22 | card // 2 << 18 | card % 2 << 16 | card)
    assert {ping.link for pings in rounds(read(made), "a3") for ping in pings} == {"HCCS"}


def test_one_server_of_a_super_pod_asks_between_its_own_cards() -> None:
    made = rounds(read(pods_value(1, 1, 4)), "a3")
    assert len(made) == 3
    assert {ping.link for pings in made for ping in pings} == {"HCCS"}


def test_a_card_without_partner_is_listed() -> None:
    made = value(2, 2)
    made["server_list"][1]["device"][1]["device_id"] = "5"
    table = read(made)
    product = find_product("a2")
    lonely = (Place(table.servers[0].id, 1), Place(table.servers[1].id, 5))
    assert plan_of(table, product, all_pairs=False).unpaired == lonely
    assert plan_of(table, product, all_pairs=True).unpaired == ()


words = st.text(st.characters(codec="utf-8"), max_size=9)
counts = st.integers(0, 9999)
states = st.builds(
    CardState,
    link=st.sampled_from([None, "UP", "DOWN"]),
    speed=st.none() | words,
    history=st.none() | st.builds(LinkHistory, st.lists(counts, max_size=3).map(tuple), st.none() | counts),
    new_downs=counts,
    optics=st.none() | st.dictionaries(words, st.floats(-99, 99), max_size=3),
    neighbour=st.none() | st.builds(Neighbour, words, words, st.booleans()),
    counters=st.none() | st.dictionaries(words, counts, max_size=3),
    memory=st.none() | st.dictionaries(words, counts, max_size=3),
    clock=st.none() | st.dictionaries(words, counts, max_size=3),
    unread=st.dictionaries(words, words, max_size=3),
)
pinged = st.builds(Pinged, counts, counts, st.none() | st.floats(0, 99), st.none() | words)
places = st.builds(Place, words, counts)
answers = st.builds(
    CardsAnswer,
    st.dictionaries(counts, states, max_size=3),
    st.lists(st.tuples(counts, places, st.sampled_from(["RoCE", "HCCS"]), pinged), max_size=3),
    error=st.none(),
)


@given(answers)
def test_an_answer_round_trips(answer: CardsAnswer) -> None:
    assert from_value(json.loads(json.dumps(to_value(answer)))) == answer


@pytest.mark.parametrize(
    "value",
    [None, {}, {"cards": {"x": {}}, "pings": []}, {"cards": {}, "pings": [[0, "a", 0, "LAN", 3, 3, 0.1, None]]}],
)
def test_what_is_no_answer_is_refused(value: object) -> None:
    with pytest.raises(KitError, match="the answer does not match the schema: "):
        from_value(value)
