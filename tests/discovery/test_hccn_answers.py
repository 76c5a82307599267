"""Output of hccn_tool on a network port, in the wording of its releases for 910, A2, A3 and 950."""

import pytest

from hccl_kit.discovery.hccn_answers import (
    LinkHistory,
    Neighbour,
    Pinged,
    Reader,
    counters,
    gateway,
    link,
    link_history,
    neighbour,
    net_detect,
    net_health,
    optics,
    ping,
    ping_words,
    says_unset,
    speed,
    tls,
)
from tests.preflight.samples import sample


def test_sample_outputs_are_parsed() -> None:
    assert link(sample("a2/hccn-link.txt")) == "UP"
    assert net_health(sample("a2/hccn-net_health.txt")) == "Success"
    assert net_detect(sample("a2/hccn-netdetect.txt")) == "192.168.100.254"
    assert gateway(sample("a2/hccn-gateway.txt")) == "192.168.100.254"
    assert tls(sample("a2/hccn-tls.txt")) == "off"
    assert speed(sample("a2/hccn-speed.txt")) == "200000 Mb/s"


@pytest.mark.parametrize(
    ("read", "answer", "expected"),
    [
        (link, "link status: DOWN\r\n", "DOWN"),
        (net_health, "net health status: Receive timeout  \n", "Receive timeout"),
        (net_detect, "netdetect addr: 10.0.0.254\n", "10.0.0.254"),
        (net_detect, "netdetect address: 0.0.0.0\n", "0.0.0.0"),
        (gateway, "gateway:fd00::1\n", "fd00::1"),
        (speed, "Speed: 200000 Mb/s\n", "200000 Mb/s"),
        (speed, "Speed: Unknown!\n", "Unknown!"),
        (tls, "dev_id:0, tls switch[1](0:disable, 1:enable), tls alarm time threshold[60]days\n", "on"),
        (tls, "device 0, tls switch[0](0:disable, 1:enable), tls preconfigured[1]\n", "off"),
    ],
)
def test_the_wording_of_every_release_is_parsed(read: Reader, answer: str, expected: str) -> None:
    assert read(answer) == expected


@pytest.mark.parametrize("read", [link, speed, net_health, net_detect, gateway, tls])
@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Get gateway failed, because no gateway was preset there!\n",
        "netdetect address: -.-.-.-\n",
        "default gateway:none\n",
        "vnic link status: UP\n",
        "tls switch[2]\n",
    ],
)
def test_an_error_message_gives_no_values(read: Reader, answer: str) -> None:
    assert read(answer) is None


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Get gateway failed, because no gateway was preset there!\n", True),
        ("Get netdetect failed, because it is not set!\n", True),
        ("netdetect address: -.-.-.-\n", True),
        ("default gateway:none\n", True),
        ("default gateway:10.0.0.1\n", False),
        ("Cmd execute failed, ret = 22\n", False),
        ("hccn_tool: error while loading shared libraries: libdsmi.so: cannot open\n", False),
        ("", False),
    ],
)
def test_an_unset_value_is_distinguished_from_an_error_message(answer: str, expected: bool) -> None:
    assert says_unset(answer) is expected


def test_the_history_of_a_link_has_the_age_of_each_loss() -> None:
    day = 24 * 3600
    assert link_history(sample("a2/hccn-link_stat.txt")) == LinkHistory((7200, 2 * day + 4 * 3600 + 13 * 60 + 49), 2)
    assert link_history(sample("910/hccn-link_stat.txt")) == LinkHistory((10,), None)


def test_readings_of_a_module_are_numbers_by_name() -> None:
    read = optics(sample("a2/hccn-optical.txt"))
    assert read is not None
    assert (read["Tx Power1"], read["Rx Power3"], read["Tx Bias0"]) == (1.121, 0.899, 7.512)
    assert (read["Media SNR Lane2"], read["Rx Los Flag"], read["high power enable reg"]) == (23.9, 0.0, 15.0)
    assert "vendor name" not in read
    assert optics(sample("910/hccn-optical.txt")) == {"Tx Power": 0.9, "Rx Power": 0.01}


def test_the_other_end_of_a_cable_is_a_switch_or_a_card() -> None:
    assert neighbour(sample("a2/hccn-lldp.txt")) == Neighbour("leaf-3", "400GE1/1/20:2", is_card=False)
    assert neighbour(sample("a2/hccn-lldp-card.txt")) == Neighbour("10:20:30:40:50:61", "eth1", is_card=True)


def test_counters_are_numbers_by_name() -> None:
    read = counters(sample("a2/hccn-stat.txt"))
    assert read is not None
    assert (read["mac_rx_fcs_err_pkt_num"], read["nic_tx_all_pkg_num"]) == (2, 42)


@pytest.mark.parametrize("name", ["a5/hccn-link_stat", "a3/hccn-optical-none", "a3/hccn-hccs_ping-busy"])
def test_another_text_has_no_reading(name: str) -> None:
    text = sample(f"{name}.txt")
    assert [read(text) for read in (link_history, optics, neighbour, counters)] == [None] * 4
    assert link_history("current time : Sun Foo 99 10:13:50 2025") is None


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
    assert ping(sample(f"{name}.txt")) == pinged
    assert pinged.is_answered == (pinged.received == 3)


@pytest.mark.parametrize("name", ["a3/hccn-hccs_ping-busy", "a3/hccn-hccs_ping-user"])
def test_a_ping_that_the_tool_refuses_says_nothing_about_the_card(name: str) -> None:
    text = sample(f"{name}.txt")
    assert ping(text) == Pinged(0, 0, reason=text.strip())


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
    pinged = ping(text)
    assert pinged.reason is not None
    assert not pinged.is_answered


def test_each_link_and_family_has_its_question() -> None:
    assert ping_words("RoCE", "192.0.2.5") == ("-ping", "-g", "address", "192.0.2.5")
    assert ping_words("RoCE", "fd00::5") == ("-ping", "-inet6", "-g", "ipv6_address", "fd00::5")
    assert ping_words("HCCS", "4194304") == ("-hccs_ping", "-g", "sdid", "4194304")
