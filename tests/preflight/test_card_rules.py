"""Planted faults in clusters of 8 to 1,024 cards are named, nobody else is, and a healthy cluster has no finding."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import date

import pytest

from hccl_kit.check.rule import run
from hccl_kit.discovery.hccn_answers import Neighbour, Pinged
from hccl_kit.preflight.card_readings import LIMITS, OURS
from hccl_kit.preflight.card_round import CardRound, CardState, Place, Plan, in_words
from hccl_kit.preflight.card_rules import CARD_RULES
from hccl_kit.preflight.cluster_rules import Round, differences
from hccl_kit.table.finding import Finding
from tests.preflight.clusters import (
    Cluster,
    another_driver,
    crossed_cables,
    dead_link,
    flapping_port,
    healthy,
    slow_card,
    slow_optic,
    stale_address,
)

SIZES = ((4, 2), (3, 3), (8, 8), (5, 16), (32, 8))
PLANTS: Sequence[Callable[[Cluster, Place, random.Random], tuple[Place, ...]]] = (
    dead_link,
    slow_optic,
    slow_card,
    stale_address,
    flapping_port,
    crossed_cables,
    another_driver,
)


def findings(cluster: Cluster) -> list[Finding]:
    return [*run(CARD_RULES, "a2", cluster.subject()), *differences(Round(cluster.answers(), "", {}))]


def is_about(finding: Finding, planted: Sequence[Place]) -> bool:
    """Whether the message begins with planted cards, and with no other."""
    return any(finding.message.startswith(f"{in_words(some)}: ") for some in (planted, *([place] for place in planted)))


@pytest.mark.parametrize("plant", PLANTS)
@pytest.mark.parametrize("seed", range(29))
def test_a_planted_fault_is_named_and_nobody_else(
    plant: Callable[[Cluster, Place, random.Random], tuple[Place, ...]], seed: int
) -> None:
    rng = random.Random(seed)
    servers, cards = SIZES[seed % len(SIZES)]
    assert_named(plant, healthy(servers, cards, rng, leaves=1 + servers // 32), rng)


@pytest.mark.long
@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_fault_is_named_among_1024_cards(
    plant: Callable[[Cluster, Place, random.Random], tuple[Place, ...]],
) -> None:
    rng = random.Random(1024)
    cluster = healthy(128, 8, rng, leaves=4)
    assert findings(cluster) == []
    assert_named(plant, cluster, rng)


def assert_named(
    plant: Callable[[Cluster, Place, random.Random], tuple[Place, ...]], cluster: Cluster, rng: random.Random
) -> None:
    place = rng.choice(cluster.places)
    planted = plant(cluster, place, rng)
    found = findings(cluster)
    if not planted:
        (finding,) = found
        assert (finding.rule, finding.message.endswith(f'"24.1.0" on {place.server}')) == ("HK616", True)
        return
    assert {named for finding in found for named in planted if is_about(finding, (named,))} | (
        set(planted) if any(is_about(finding, planted) for finding in found) else set()
    ) == set(planted)
    assert [finding.message for finding in found if not is_about(finding, planted)] == []


def test_a_healthy_cluster_has_no_finding() -> None:
    for seed in range(100):
        rng = random.Random(seed)
        servers, cards = SIZES[seed % len(SIZES)]
        assert findings(healthy(servers, cards, rng, leaves=rng.randrange(1, 4))) == []


def test_every_limit_has_a_source_and_a_date() -> None:
    for origin in (*(limit.origin for limit in LIMITS), OURS):
        assert origin.source
        assert date.fromisoformat(origin.seen).year >= 2020


def unreachable(cluster: Cluster) -> list[str]:
    return [str(finding.message) for finding in findings(cluster) if finding.rule == "HK663"]


def test_what_many_failed_pings_have_in_common_is_one_finding() -> None:
    rng = random.Random(7)
    cluster = healthy(6, 4, rng)
    cluster.lose(lambda source, target: "10.0.0.2" in (source.server, target.server))
    (server,) = unreachable(cluster)
    assert server.startswith(
        "cards 0 to 3 of 10.0.0.2: no other server reaches them, and they reach none (40 RoCE pings"
    )
    cluster = healthy(6, 4, rng)
    cluster.lose(lambda source, _: source.card == 2)
    (rail,) = unreachable(cluster)
    assert rail.startswith(
        'rail 2: no card 2 reaches that of another server (30 RoCE pings failed); their cables end at "leaf-2-0"'
    )
    cluster = healthy(6, 4, rng, leaves=2)
    few = ("10.0.0.1", "10.0.0.3")
    cluster.lose(lambda source, target: (source.server in few) != (target.server in few))
    (sides,) = unreachable(cluster)
    assert sides.startswith(
        "cards 0 to 3 of 10.0.0.[1,3] and cards 0 to 3 of 10.0.0.[2,4-6] do not reach each other (64 "
    )
    cluster = healthy(6, 4, rng)
    cluster.lose(lambda *_: True)
    assert unreachable(cluster) == ["no ping was answered (120 RoCE pings failed), so nothing tells a cause"]
    cluster = healthy(6, 4, rng)
    cluster.lose(lambda source, _: source == Place("10.0.0.4", 1))
    assert unreachable(cluster) == ["card 1 of 10.0.0.4: others reach it, and it reaches none (5 RoCE pings failed)"]


def test_between_two_servers_both_ends_are_named() -> None:
    cluster = healthy(2, 4, random.Random(1))
    cluster.lose(lambda source, _: source.card == 3)
    (text,) = unreachable(cluster)
    assert text.startswith(
        "2 RoCE pings failed, and nothing tells which end is at fault: card 3 of 10.0.0.1 with card 3 of 10.0.0.2"
    )
    cluster.change(Place("10.0.0.2", 3), link="DOWN")
    (text,) = unreachable(cluster)
    assert text.startswith("card 3 of 10.0.0.2: 2 RoCE pings of 2 failed: its link is down; its cable ends at ")


def test_a_ping_that_was_not_made_is_not_a_failed_one() -> None:
    place, other = Place("a", 0), Place("b", 0)
    refused = Pinged(0, 0, reason="permission denied")
    subject = CardRound(
        {}, [(place, other, "HCCS", refused)], Plan(False, 1, 1, (Place("c", 5),)), {"d": "no NPU found"}
    )
    assert [(finding.rule, finding.severity, finding.message) for finding in run(CARD_RULES, "a3", subject)] == [
        ("HK670", "warning", "d: the cards were not asked: no NPU found"),
        ("HK670", "warning", "card 0 of a: 1 ping not made: permission denied"),
        ("HK670", "warning", "card 5 of c: no other card asks it"),
    ]


def test_links_are_judged_apart() -> None:
    """A card of Atlas A3 whose network port is dead still reaches others inside its super pod."""
    cluster = healthy(4, 2, random.Random(1))
    dead = Place("10.0.0.2", 1)
    inside = [(*pair, "HCCS", pinged) for pair, pinged in cluster.pings.items()]
    cluster.lose(lambda source, target: dead in (source, target))
    subject = cluster.subject()
    both = subject._replace(pings=[*subject.pings, *inside])
    (finding,) = run(CARD_RULES, "a3", both)
    assert finding.message.startswith(
        "card 1 of 10.0.0.2: it reaches no card, and none reaches it (6 RoCE pings failed)"
    )


def test_a_bad_network_port_does_not_explain_pings_over_hccs() -> None:
    cluster = healthy(4, 2, random.Random(1))
    place, other = Place("10.0.0.2", 1), Place("10.0.0.3", 1)
    cluster.change(place, link="DOWN")
    cluster.lose(lambda source, target: other in (source, target))
    subject = cluster.subject()
    over_hccs = subject._replace(
        pings=[(source, target, "HCCS", pinged) for source, target, _, pinged in subject.pings]
    )
    (finding,) = run(CARD_RULES, "a3", over_hccs)
    assert finding.message == "card 1 of 10.0.0.3: it reaches no card, and none reaches it (6 HCCS pings failed)"


@pytest.mark.parametrize(
    ("state", "rule", "text"),
    [
        (
            CardState(memory={"HBM Double Bit Error Count": 2}),
            "HK668",
            "2 errors of memory that could not be corrected",
        ),
        (
            CardState(clock={"Aicore Freq(MHZ)": 1800, "Aicore curFreq(MHZ)": 1200, "Aicore Usage Rate(%)": 99}),
            "HK669",
            "1200 MHz of 1800, though it is busy",
        ),
        (CardState(optics={"Rx Los Flag": 1.0}), "HK664", "Rx Los Flag 1 (accepted: 0)"),
        (CardState(optics={"Media SNR Lane1": 12.0}), "HK664", "Media SNR Lane1 12 dB (accepted: at least 18)"),
        (CardState(optics={"Rx Power0": 0.4, "Rx Power1": 1.2}), "HK664", "the lanes of Rx Power differ by 4.8 dB"),
        (CardState(neighbour=Neighbour("", "eth1", is_card=True)), "HK666", "its cable ends at another card"),
        (CardState(new_downs=1), "HK665", "its link was lost once during this check"),
        (CardState(counters={"mac_rx_bad_pkt_num": 4}), "HK667", "4 packets damaged during this check (mac_rx_bad"),
        (CardState(unread={"optics": "not present"}), "HK671", "optics not read: not present"),
    ],
)
def test_each_reading_has_its_rule(state: CardState, rule: str, text: str) -> None:
    (finding,) = run(CARD_RULES, "a2", CardRound({Place("a", 3): state}, []))
    assert (finding.rule, finding.device) == (rule, 3)
    assert finding.message.startswith(f"card 3 of a: {text}")
