"""A typo is one letter added, missing or replaced, or two swapped neighbours: never another word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.typos import MAX_UNKNOWN, find_typos, is_typo

words = st.text("abc_", min_size=2, max_size=8)


@given(words, st.data())
def test_one_letter_more_less_or_other_and_two_swapped_are_typos(key: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(key) - 1))
    letter = data.draw(st.sampled_from("abcx"))
    for written in (
        key[:at] + letter + key[at:],
        key[:at] + key[at + 1 :],
        key[:at] + letter + key[at + 1 :],
        key[:at] + key[at : at + 2][::-1] + key[at + 2 :],
    ):
        assert is_typo(written, key) == (written != key)


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("devcie_ip", "device_ip"),
        ("replaced_loacl_id", "replaced_local_id"),
        ("controle_plane", "control_plane"),
        ("deviceId", "device_id"),
        ("server-list", "server_list"),
        ("SERVER_ID", "server_id"),
        ("rank_id ", "rank_id"),
    ],
)
def test_typos_from_real_tables(written: str, key: str) -> None:
    assert is_typo(written, key)


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("device_type", "device_ip"),
        ("device_name", "device_id"),
        ("deviceId", "device_ip"),
        ("host_nic_ip", "host_ip"),
        ("rank", "rank_id"),
        ("dpu_ip", "device_ip"),
        ("pod_ip", "host_ip"),
        ("device_ip", "device_ip"),
        ("vedice_ip_id", "device_ip"),
        ("x" * 1_000_000, "device_ip"),
        ("", "device_ip"),
    ],
)
def test_other_words_are_not_typos(written: str, key: str) -> None:
    assert not is_typo(written, key)


def test_a_typo_is_only_found_if_the_intended_key_is_unambiguous() -> None:
    absent = ("device_id", "device_ip")
    assert find_typos(["devcie_ip", "colour"], absent) == {"devcie_ip": "device_ip"}
    assert find_typos(["device_i"], absent) == {}
    assert find_typos(["devcie_ip", "device_ips"], absent) == {}
    assert find_typos(["devcie_ip", "devcie_id"], absent) == {"devcie_ip": "device_ip", "devcie_id": "device_id"}
    assert find_typos(["devcie_ip", *map(str, range(MAX_UNKNOWN))], absent) == {}
