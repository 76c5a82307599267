"""Pings from card to card, from outputs of the tool for 910, A2, A3 and 950; each sample names its source."""

import pytest

from hccl_kit.discovery.hccn_ping import Pinged, parse, words
from tests.preflight.samples import sample


@pytest.mark.parametrize(
    ("name", "pinged"),
    [
        ("a2/hccn-ping", Pinged(3, 3, 0.034)),
        ("a2/hccn-ping-lost", Pinged(3, 0)),
        ("910/hccn-ping-unreachable", Pinged(1, 0)),
        ("a5/hccn-ping", Pinged(3, 2, 0.041)),
        ("a3/hccn-hccs_ping", Pinged(3, 3, 0.008)),
    ],
)
def test_the_packets_and_the_fastest_answer_are_read(name: str, pinged: Pinged) -> None:
    assert parse(sample(f"{name}.txt")) == pinged
    assert pinged.is_answered == (pinged.received == 3)


@pytest.mark.parametrize("name", ["a3/hccn-hccs_ping-busy", "a3/hccn-hccs_ping-user"])
def test_a_ping_that_the_tool_refuses_says_nothing_about_the_card(name: str) -> None:
    text = sample(f"{name}.txt")
    assert parse(text) == Pinged(0, 0, reason=text.strip())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Segmentation fault",
        "0 packets transmitted, 0 received, 0% packet loss",
        "1 packets transmitted, 2 received, 0% packet loss",
    ],
)
def test_a_text_without_a_valid_count_is_not_a_lost_ping(text: str) -> None:
    pinged = parse(text)
    assert pinged.reason is not None
    assert not pinged.is_answered


def test_each_link_and_family_has_its_question() -> None:
    assert words("RoCE", "192.0.2.5") == ("-ping", "-g", "address", "192.0.2.5")
    assert words("RoCE", "fd00::5") == ("-ping", "-inet6", "-g", "ipv6_address", "fd00::5")
    assert words("HCCS", "4194304") == ("-hccs_ping", "-g", "sdid", "4194304")
