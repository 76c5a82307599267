import pytest

from hccl_kit.base.network import LOOPBACK, is_loopback


@pytest.mark.parametrize("name", [LOOPBACK, "127.1.2.3", "::1", "localhost"])
def test_a_name_that_every_host_has_is_loopback(name: str) -> None:
    assert is_loopback(name)


@pytest.mark.parametrize("name", ["10.0.0.1", "fd00::1", "node7", ""])
def test_the_name_of_one_host_is_not(name: str) -> None:
    assert not is_loopback(name)
