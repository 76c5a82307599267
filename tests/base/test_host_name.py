"""Host names and addresses, and texts that only look like them."""

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.base.host_name import check_host, is_host


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


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("10.0.0.1:22", 'did you mean "10.0.0.1"? ssh reads user and port from ~/.ssh/config'),
        ("root@node1", 'did you mean "node1"? ssh reads user and port from ~/.ssh/config'),
        ("root@[fd00::1]:22", 'did you mean "fd00::1"? ssh reads user and port from ~/.ssh/config'),
        ("10.0.0.1，10.0.0.2", 'did you mean "10.0.0.1,10.0.0.2"?'),
        ("-oX@-oY", None),
        ("a b", None),
        ("节点", None),
    ],
)
def test_a_host_with_user_or_port_is_refused_with_the_host_alone(text: str, fix: str | None) -> None:
    with pytest.raises(KitError) as refusal:
        check_host(text)
    assert refusal.value.hint == fix


def test_a_long_text_takes_linear_time() -> None:
    """The regular expression of HK505 once took 2 s for 24 letters, and twice as long for each further letter."""
    assert not is_host("a" * 60 + "!")
