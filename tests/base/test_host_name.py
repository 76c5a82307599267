"""Host names and addresses, and texts that only look like them."""

import pytest

from hccl_kit.base.host_name import is_host


@pytest.mark.parametrize("text", ["10.0.0.1", "node1", "node_1.example", "fd00::1", "::1", "fe80::1%eth0", "a" * 253])
def test_accepts_host_names_and_addresses(text: str) -> None:
    assert is_host(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "-oProxyCommand=x", "a=b", "rack 1", "a;b", "$(x)", "a\nb", "node1\n", "user@node1", "node1:22", "节点"),
        *("fe80::1%", "fe80::1%a b", "fe80::1%-x", "fe80::1%$(id)", "10.0.0.1%eth0", "a" * 254, ".", "::1 "),
    ],
)
def test_rejects_invalid_host_names(text: str) -> None:
    assert not is_host(text)


def test_a_long_text_takes_linear_time() -> None:
    """The regular expression of HK505 once took 2 s for 24 letters, and twice as long for each further letter."""
    assert not is_host("a" * 60 + "!")
