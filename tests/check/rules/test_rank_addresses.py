"""Edge cases of the rules on addresses of version 2.0."""

from typing import Any

import pytest

from tests.check.rules.test_levels import ADDRESS, OUTER, RANK, changed, rules
from tests.tables import ranks_value

PLANE = (*RANK, "control_plane")


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (changed(((*ADDRESS, "addr"), "0" * 31)), [("HK311", (*ADDRESS, "addr"))]),
        (changed(((*ADDRESS, "addr"), "0" * 33)), [("HK311", (*ADDRESS, "addr"))]),
        (changed(((*ADDRESS, "addr"), "g" * 32)), [("HK311", (*ADDRESS, "addr"))]),
        (changed(((*ADDRESS, "addr"), "٣" * 32)), [("HK311", (*ADDRESS, "addr"))]),
        (changed(((*ADDRESS, "addr"), "ABCDEF" + "0" * 26)), []),
        (changed(((*OUTER, "addr"), "192.168.1.256")), [("HK311", (*OUTER, "addr"))]),
        (changed(((*OUTER, "addr"), "192.168.1.1\0")), [("HK311", (*OUTER, "addr"))]),
        (changed(((*OUTER, "addr"), "fd00::1")), [("HK311", (*OUTER, "addr"))]),
        (changed(((*OUTER, "addr"), "fd00::1"), ((*OUTER, "addr_type"), "IPV6")), []),
        (changed(((*OUTER, "addr_type"), "IPV6")), [("HK311", (*OUTER, "addr"))]),
        (changed(((*OUTER, "addr_type"), "EID")), [("HK311", (*OUTER, "addr"))]),
        (changed((PLANE, {"addr_type": "IPV4", "addr": "10.0.0.1", "listen_port": 1})), []),
        (changed((PLANE, {"addr_type": "EID", "addr": "10.0.0.1", "listen_port": 1})), [("HK311", (*PLANE, "addr"))]),
        (changed(((*OUTER, "ports"), ["d2h", "x"])), [("HK312", (*OUTER, "ports", 1))]),
        (changed(((*OUTER, "ports"), ["0/4", "15/0"])), []),
        (changed(((*OUTER, "backup_addr"), ["10.0.0.1"])), []),
        (changed(((*OUTER, "backup_addr"), ["10.0.0.1", "fd00::1"])), [("HK311", (*OUTER, "backup_addr", 1))]),
        (changed(((*OUTER, "backup_addr"), [1])), [("HK102", (*OUTER, "backup_addr", 0))]),
        (changed(((*ADDRESS, "backup_addr"), [])), []),
        (changed(((*ADDRESS, "backup_addr"), ["10.0.0.1"])), [("HK313", (*ADDRESS, "backup_addr"))]),
        # HCCL's own fixtures give two ranks the same addresses.
        (changed((OUTER, ranks_value(4, 2)["rank_list"][0]["level_list"][1]["rank_addr_list"][0])), []),
    ],
)
def test_one_change_gives_one_finding_at_its_position(document: Any, expected: list[Any]) -> None:
    assert rules(document) == expected
