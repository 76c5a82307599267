"""The names of the servers of a job."""

import pytest

from hccl_kit.launch.emitters import servers
from hccl_kit.launch.plan import Node


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
    assert servers.names(Node(id_, address, (), ())) == names
