"""The names of the servers of a job, and their rendezvous port."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.launch.emitters import servers
from hccl_kit.launch.files import TableFile


@pytest.mark.parametrize(
    ("id_", "address", "names"),
    [
        ("10.0.0.1", "10.0.0.1", ("10.0.0.1",)),
        ("node1", "10.0.0.1", ("node1", "10.0.0.1")),
        ("FE80:0:0::1", "FE80:0:0::1", ("FE80:0:0::1", "fe80::1")),
    ],
)
def test_a_server_is_recognised_by_its_names_in_the_table_and_the_system(
    id_: str, address: str, names: tuple[str, ...]
) -> None:
    assert servers.names(id_, address) == names


@given(st.text(st.characters(codec="utf-8")))
def test_the_rendezvous_port_is_below_the_ephemeral_ports(text: str) -> None:
    port = servers.rendezvous_port(TableFile("table.json", text))
    assert 20000 <= port < 32000
    assert port == servers.rendezvous_port(TableFile("other.json", text))
