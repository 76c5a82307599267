"""Valid rank tables of every shape and any size, as values of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

CARDS, DIES = 8, 16
_PODS = 24
"""Servers of a super pod: 384 dies."""


def host(number: int, network: int = 10) -> str:
    """An address for the server of this number."""
    return f"{network}.{number // 62500}.{number // 250 % 250}.{number % 250 + 1}"


def servers(devices: int) -> dict[str, Any]:
    """Version 1.0: servers with eight cards each."""
    listed = [
        {
            "server_id": host(number),
            "device": [
                {"device_id": str(card), "device_ip": host(number, 100 + card), "rank_id": str(number * CARDS + card)}
                for card in range(CARDS)
            ],
            "host_nic_ip": "reserve",
        }
        for number in range(devices // CARDS)
    ]
    return {"version": "1.0", "server_count": str(len(listed)), "server_list": listed, "status": "completed"}


def super_pods(devices: int) -> dict[str, Any]:
    """Version 1.2: servers with sixteen dies each, 24 in a super pod."""
    count = max(1, devices // DIES)
    listed = [
        {
            "server_id": host(number),
            "device": [
                {
                    "device_id": str(die),
                    "device_ip": host(number, 100 + die),
                    "super_device_id": str((number % _PODS) << 22 | die // 2 << 18 | die % 2 << 16 | die),
                    "rank_id": str(number * DIES + die),
                }
                for die in range(DIES)
            ],
        }
        for number in range(count)
    ]
    pods = [
        {
            "super_pod_id": str(first // _PODS),
            "server_list": [{"server_id": host(number)} for number in range(first, min(first + _PODS, count))],
        }
        for first in range(0, count, _PODS)
    ]
    return {
        "version": "1.2",
        "server_count": str(count),
        "server_list": listed,
        "super_pod_list": pods,
        "status": "completed",
    }


def levels(devices: int) -> dict[str, Any]:
    """Version 2.0: 64 cards in an innermost network, each with three addresses there and one further out."""
    return {
        "version": "2.0",
        "status": "completed",
        "rank_count": devices,
        "rank_list": [
            {
                "rank_id": rank,
                "device_id": rank % CARDS,
                "local_id": rank % 64,
                "level_list": [
                    {
                        "net_layer": 0,
                        "net_instance_id": f"superpod_{rank // 64}",
                        "net_type": "TOPO_FILE_DESC",
                        "net_attr": "",
                        "rank_addr_list": [
                            {"addr_type": "EID", "addr": f"{rank * 3 + port:032x}", "ports": [f"0/{port}"]}
                            for port in range(3)
                        ],
                    },
                    {
                        "net_layer": 3,
                        "net_instance_id": "cluster",
                        "net_type": "CLOS",
                        "rank_addr_list": [{"addr_type": "IPV4", "addr": host(rank), "ports": ["d2h"]}],
                    },
                ],
            }
            for rank in range(devices)
        ],
    }


def groups(devices: int) -> dict[str, Any]:
    """Template 2, cloud form: pods of eight cards in one group."""
    pods = devices // CARDS
    return {
        "status": "completed",
        "group_count": "1",
        "group_list": [
            {
                "group_name": "hccl_world_group",
                "instance_count": str(pods),
                "device_count": str(pods * CARDS),
                "instance_list": [
                    {
                        "pod_name": f"job-worker-{number}",
                        "server_id": host(number),
                        "devices": [
                            {"device_id": str(card), "device_ip": host(number, 100 + card)} for card in range(CARDS)
                        ],
                    }
                    for number in range(pods)
                ],
            }
        ],
    }


SHAPES: Mapping[str, Callable[[int], dict[str, Any]]] = {
    "1.0, 8 cards per server": servers,
    "1.2, 16 dies, super pods": super_pods,
    "2.0, levels": levels,
    "template 2, pods": groups,
}
