"""Reports of hccn_tool about a port, from outputs for 910, A2, A3 and 950; each sample names its source."""

import pytest

from hccl_kit.discovery.hccn_reports import LinkHistory, Neighbour, counters, link_history, neighbour, optics
from tests.preflight.samples import sample


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
    assert [parse(text) for parse in (link_history, optics, neighbour, counters)] == [None] * 4
    assert link_history("current time : Sun Foo 99 10:13:50 2025") is None
