"""Output of hccn_tool on a network port, in the wording of its releases."""

import pytest

from hccl_kit.discovery import hccn_state
from tests.preflight.samples import sample


def test_sample_outputs_are_parsed() -> None:
    assert hccn_state.link(sample("a2/hccn-link.txt")) == "UP"
    assert hccn_state.net_health(sample("a2/hccn-net_health.txt")) == "Success"
    assert hccn_state.net_detect(sample("a2/hccn-netdetect.txt")) == "192.168.100.254"
    assert hccn_state.gateway(sample("a2/hccn-gateway.txt")) == "192.168.100.254"
    assert hccn_state.tls(sample("a2/hccn-tls.txt")) == "off"
    assert hccn_state.speed(sample("a2/hccn-speed.txt")) == "200000 Mb/s"


@pytest.mark.parametrize(
    ("read", "answer", "expected"),
    [
        (hccn_state.link, "link status: DOWN\r\n", "DOWN"),
        (hccn_state.net_health, "net health status: Receive timeout  \n", "Receive timeout"),
        (hccn_state.net_detect, "netdetect addr: 10.0.0.254\n", "10.0.0.254"),
        (hccn_state.net_detect, "netdetect address: 0.0.0.0\n", "0.0.0.0"),
        (hccn_state.gateway, "gateway:fd00::1\n", "fd00::1"),
        (hccn_state.speed, "Speed: 200000 Mb/s\n", "200000 Mb/s"),
        (hccn_state.speed, "Speed: Unknown!\n", "Unknown!"),
        (hccn_state.tls, "dev_id:0, tls switch[1](0:disable, 1:enable), tls alarm time threshold[60]days\n", "on"),
        (hccn_state.tls, "device 0, tls switch[0](0:disable, 1:enable), tls preconfigured[1]\n", "off"),
    ],
)
def test_the_wording_of_every_release_is_parsed(read: hccn_state.Reader, answer: str, expected: str) -> None:
    assert read(answer) == expected


@pytest.mark.parametrize(
    "read",
    [
        hccn_state.link,
        hccn_state.speed,
        hccn_state.net_health,
        hccn_state.net_detect,
        hccn_state.gateway,
        hccn_state.tls,
    ],
)
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
def test_an_error_message_gives_no_values(read: hccn_state.Reader, answer: str) -> None:
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
    assert hccn_state.says_unset(answer) is expected
