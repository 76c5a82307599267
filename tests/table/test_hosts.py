import pytest

from hccl_kit.table.hosts import prefix_length


@pytest.mark.parametrize(
    ("netmask", "prefix"),
    [
        ("255.255.255.0", 24),
        ("255.255.0.0", 16),
        ("24", 24),
        ("64", 64),
        ("128", 128),
        ("129", None),
        ("-.-.-.-", None),
        ("255.0.255.0", None),
        ("", None),
        ("٣", None),
        ("9" * 5000, None),
    ],
)
def test_parses_netmasks_as_printed_by_the_driver(netmask: str, prefix: int | None) -> None:
    assert prefix_length(netmask) == prefix
