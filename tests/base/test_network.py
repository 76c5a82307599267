import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.network import LOOPBACK, derived_port, is_loopback, port_of_digest


@pytest.mark.parametrize("name", [LOOPBACK, "127.1.2.3", "::1", "localhost"])
def test_a_loopback_address_or_localhost_is_loopback(name: str) -> None:
    assert is_loopback(name)


@pytest.mark.parametrize("name", ["10.0.0.1", "fd00::1", "node7", ""])
def test_the_address_or_name_of_a_host_is_not_loopback(name: str) -> None:
    assert not is_loopback(name)


@given(st.integers(0))
def test_a_derived_port_is_below_the_ephemeral_range(number: int) -> None:
    assert 20000 <= derived_port(number) < 32000


def test_a_digest_gives_the_same_port_on_every_host() -> None:
    assert port_of_digest("00002ee1" + "f" * 56) == 20001
