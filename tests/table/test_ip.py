from hccl_kit.table.ip import prefix_length


def test_parses_netmasks_as_printed_by_the_driver() -> None:
    for netmask, prefix in (
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
    ):
        assert prefix_length(netmask) == prefix, (netmask, prefix)
