"""Valid rank tables for tests to modify."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from hccl_kit.table.model import Device, PodServer, RankTable, Server, SuperPod


def value(servers: int = 1, cards: int = 8) -> dict[str, Any]:
    """The value of a valid version 1.0 file, also on 910."""
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


def sdid(server: int, card: int) -> int:
    """The SDID of a card of the server with this index, as in the samples of Atlas A3."""
    return server << 22 | card // 2 << 18 | card % 2 << 16 | card


def pods_value(pods: int = 1, servers: int = 2, cards: int = 16) -> dict[str, Any]:
    """The value of a valid version 1.2 file: `pods` super pods of `servers` servers of `cards` cards.

    Every super pod numbers its servers from 0, so SDIDs repeat in several super pods, which is valid.
    """
    table = value(pods * servers, cards)
    for s, server in enumerate(table["server_list"]):
        del server["host_nic_ip"]
        for d, device in enumerate(server["device"]):
            device["super_device_id"] = str(sdid(s % servers, d))
    ids = [{"server_id": server["server_id"]} for server in table["server_list"]]
    listed = [{"super_pod_id": str(p), "server_list": ids[p * servers : (p + 1) * servers]} for p in range(pods)]
    return table | {"version": "1.2", "super_pod_list": listed}


def pods_text(pods: int = 1, servers: int = 2, cards: int = 16) -> str:
    return json.dumps(pods_value(pods, servers, cards), indent=4)


def ranks_value(ranks: int = 2, networks: int = 1) -> dict[str, Any]:
    """The value of a valid version 2.0 file: ranks in innermost networks, and in one network around them."""

    def address(kind: str, text: str, port: str) -> dict[str, Any]:
        return {"addr_type": kind, "addr": text, "ports": [port]}

    def rank(number: int) -> dict[str, Any]:
        eid = address("EID", f"{number + 1:032x}", f"0/{number % 8}")
        ip = address("IPV4", f"192.168.{100 + number // 250}.{number % 250 + 1}", "d2h")
        inner = {"net_layer": 0, "net_instance_id": f"pod{number % networks}", "net_type": "TOPO_FILE_DESC"}
        outer = {"net_layer": 3, "net_instance_id": "cluster", "net_type": "CLOS"}
        levels = [inner | {"rank_addr_list": [eid]}, outer | {"rank_addr_list": [ip]}]
        local_id = number // networks
        return {"rank_id": number, "device_id": local_id, "local_id": local_id, "level_list": levels}

    return {"version": "2.0", "status": "completed", "rank_count": ranks, "rank_list": list(map(rank, range(ranks)))}


def made(kind: Callable[..., Any]) -> Callable[..., Any]:
    """The class as a function: for a named tuple, hypothesis would also draw the omitted fields."""

    def of(**fields: Any) -> Any:
        return kind(**fields)

    return of


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**40) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)

_extra = st.dictionaries(st.text(min_size=1).map(lambda key: "x" + key), json_values, max_size=2)
_ids = st.integers(0, 2**32 - 1)

devices = st.tuples(_ids, st.none() | st.text(), _ids, _extra).map(
    lambda row: Device(row[0], row[1], row[2], extra=row[3])
)

tables = st.builds(
    made(RankTable),
    version=st.just("1.0"),
    status=st.text(),
    servers=st.lists(
        st.builds(
            made(Server),
            id=st.text(),
            devices=st.lists(devices).map(tuple),
            extra=_extra,
        ),
        max_size=3,
    ).map(tuple),
    declared_servers=st.none() | _ids,
    extra=_extra,
)
"""Any table that a file of version 1.0 can represent, valid or not."""

_pod_devices = st.tuples(devices, st.none() | _ids).map(lambda pair: pair[0]._replace(sdid=pair[1]))

_pods = st.builds(
    made(SuperPod),
    id=st.text(),
    servers=st.lists(st.builds(made(PodServer), id=st.text(), extra=_extra), max_size=3).map(tuple),
    extra=_extra,
)

pod_tables = st.builds(
    made(RankTable),
    version=st.just("1.2"),
    status=st.text(),
    servers=st.lists(
        st.builds(made(Server), id=st.text(), devices=st.lists(_pod_devices).map(tuple), extra=_extra), max_size=3
    ).map(tuple),
    super_pods=st.none() | st.lists(_pods, max_size=3).map(tuple),
    declared_servers=st.none() | _ids,
    extra=_extra,
)
"""Any table that a file of version 1.2 can represent, valid or not."""
