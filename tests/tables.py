"""Good rank tables for tests to break."""

import json
from typing import Any

from hypothesis import strategies as st

from hccl_kit.rank_table import Device, RankTable, Server


def value(servers: int = 1, cards: int = 8) -> dict[str, Any]:
    """The value of a version 1.0 file without any fault, on 910 too."""
    return {
        "version": "1.0",
        "server_count": str(servers),
        "server_list": [
            {
                "server_id": f"10.0.0.{s + 1}",
                "device": [
                    {"device_id": str(d), "device_ip": f"192.168.{100 + d}.{s + 1}", "rank_id": str(s * cards + d)}
                    for d in range(cards)
                ],
                "host_nic_ip": "reserve",
            }
            for s in range(servers)
        ],
        "status": "completed",
    }


def text(servers: int = 1, cards: int = 8) -> str:
    return json.dumps(value(servers, cards), indent=4)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**40) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)

_extra = st.dictionaries(st.text(min_size=1).map(lambda key: "x" + key), json_values, max_size=2)
_ids = st.integers(0, 2**32 - 1)

tables = st.builds(
    RankTable,
    version=st.just("1.0"),
    status=st.text(),
    servers=st.lists(
        st.builds(
            Server,
            id=st.text(),
            devices=st.lists(st.builds(Device, id=_ids, ip=st.none() | st.text(), rank=_ids, extra=_extra)).map(tuple),
            extra=_extra,
        ),
        max_size=3,
    ).map(tuple),
    declared_servers=st.none() | _ids,
    extra=_extra,
)
"""Any table that a file of version 1.0 can hold, sound or not."""
