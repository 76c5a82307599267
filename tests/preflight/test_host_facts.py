"""The response of a server over ssh is parsed to its types, and everything in it is validated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.discovery.server_id import Interface, interfaces
from hccl_kit.launch.job_ports import Kernel
from hccl_kit.preflight.host_facts import host_in, this_host
from hccl_kit.remote.asking import Reply

ANSWER = r"""Welcome to the cluster
32768	60999
16666,60000-60031
1: lo    inet 127.0.0.1/8 scope host lo\       valid_lft forever preferred_lft forever
1: lo    inet6 ::1/128 scope host \       valid_lft forever preferred_lft forever
2: bond0.100    inet 10.0.0.1/24 brd 10.0.0.255 scope global bond0.100\       valid_lft forever preferred_lft forever
2: bond0.100    inet6 fe80::1/64 scope link \       valid_lft forever preferred_lft forever
7: veth1@if6    inet 10.1.0.1/24 scope global veth1\       valid_lft forever preferred_lft forever
8: $(id)    inet 10.2.0.1/24 scope global x\       valid_lft forever preferred_lft forever
9: eth9    inet 10.3.0.999/24 scope global eth9\       valid_lft forever preferred_lft forever
"""


def test_a_response_is_parsed() -> None:
    found = host_in(Reply(ANSWER.replace("10.3.0.999", "10.3.0.9"), 0, 0))
    assert found.kernel == Kernel((32768, 60999), ((16666, 16666), (60000, 60031)))
    assert found.interfaces == (
        Interface("lo", "127.0.0.1"),
        Interface("lo", "::1"),
        Interface("bond0.100", "10.0.0.1"),
        Interface("veth1", "10.1.0.1"),
        Interface("eth9", "10.3.0.9"),
    )


def test_reserved_ports_may_be_empty() -> None:
    assert host_in(Reply("1024 65535\n\n1: lo    inet 127.0.0.1/8 scope\n", 0, 0)).kernel == Kernel((1024, 65535))


@pytest.mark.parametrize(
    "text", ["", "hello", "32768 60999", "70000 80000\n\n", "9 5\n\n", ANSWER, "cat: no such file\n1 2 3\n4\n"]
)
def test_an_invalid_response_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        host_in(Reply(text, 0, 0))


@given(st.text() | st.lists(st.sampled_from(ANSWER.splitlines())).map("\n".join))
def test_any_response_is_parsed_or_refused(text: str) -> None:
    try:
        found = host_in(Reply(text, 0, 0))
    except ValueError:
        return
    assert all(interface.name.isprintable() and len(interface.name) < 16 for interface in found.interfaces)


def test_facts_of_this_machine() -> None:
    here = this_host()
    assert 0 < here.kernel.ephemeral[0] <= here.kernel.ephemeral[1] < 65536
    assert set(here.interfaces) == {interface for interface in interfaces() if not interface.is_link_local}
