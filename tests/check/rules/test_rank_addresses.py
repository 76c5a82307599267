"""Edge cases of the rules on addresses of version 2.0."""

from tests.check.rules.test_levels import ADDRESS, OUTER, RANK, rules, with_values
from tests.tables import ranks_value

PLANE = (*RANK, "control_plane")
PLAIN = {"addr": "10.0.0.1", "listen_port": 1}


def test_one_change_gives_one_finding_at_its_position() -> None:
    for document, expected in (
        (with_values(((*ADDRESS, "addr"), "0" * 31)), [("HK311", (*ADDRESS, "addr"))]),
        (with_values(((*ADDRESS, "addr"), "0" * 33)), [("HK311", (*ADDRESS, "addr"))]),
        (with_values(((*ADDRESS, "addr"), "g" * 32)), [("HK311", (*ADDRESS, "addr"))]),
        (with_values(((*ADDRESS, "addr"), "٣" * 32)), [("HK311", (*ADDRESS, "addr"))]),
        (with_values(((*ADDRESS, "addr"), "ABCDEF" + "0" * 26)), []),
        (with_values(((*OUTER, "addr"), "192.168.1.256")), [("HK311", (*OUTER, "addr"))]),
        (with_values(((*OUTER, "addr"), "192.168.1.1\0")), [("HK311", (*OUTER, "addr"))]),
        (with_values(((*OUTER, "addr"), "fd00::1")), [("HK311", (*OUTER, "addr"))]),
        (with_values(((*OUTER, "addr"), "fd00::1"), ((*OUTER, "addr_type"), "IPV6")), []),
        (with_values(((*OUTER, "addr_type"), "IPV6")), [("HK311", (*OUTER, "addr"))]),
        (with_values(((*OUTER, "addr_type"), "EID")), [("HK311", (*OUTER, "addr"))]),
        (with_values((PLANE, {"addr_type": "IPV4", **PLAIN})), []),
        (
            with_values((PLANE, {"addr_type": "EID", **PLAIN})),
            [("HK311", (*PLANE, "addr"))],
        ),
        (with_values(((*OUTER, "ports"), ["d2h", "x"])), [("HK312", (*OUTER, "ports", 1))]),
        (with_values(((*OUTER, "ports"), ["0/4", "15/0"])), []),
        (with_values(((*OUTER, "backup_addr"), ["10.0.0.1"])), []),
        (with_values(((*OUTER, "backup_addr"), ["10.0.0.1", "fd00::1"])), [("HK311", (*OUTER, "backup_addr", 1))]),
        (with_values(((*OUTER, "backup_addr"), [1])), [("HK102", (*OUTER, "backup_addr", 0))]),
        (with_values(((*ADDRESS, "backup_addr"), [])), []),
        (with_values(((*ADDRESS, "backup_addr"), ["10.0.0.1"])), [("HK313", (*ADDRESS, "backup_addr"))]),
        # HCCL's own fixtures give two ranks the same addresses.
        (with_values((OUTER, ranks_value(4, 2)["rank_list"][0]["level_list"][1]["rank_addr_list"][0])), []),
    ):
        assert rules(document) == expected, (document, expected)
