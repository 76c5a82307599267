"""Valid tables of template 2 and of version 1.1, for tests to modify."""

from typing import Any


def address(first: int, number: int) -> str:
    """The address of this number, counted from 0, in the network that starts with `first`."""
    return f"{first}.{number >> 16}.{number >> 8 & 255}.{number & 255}"


def cloud(pods: int = 2, cards: int = 2, groups: int = 1) -> dict[str, Any]:
    """The value of a file of template 2, cloud form: every pod is on a separate server."""
    return {
        "status": "completed",
        "group_count": str(groups),
        "group_list": [
            {
                "group_name": f"group{g}",
                "instance_count": str(pods),
                "device_count": str(pods * cards),
                "instance_list": [
                    {
                        "pod_name": f"pod-{g}-{p}",
                        "server_id": address(10, g * pods + p),
                        "devices": [
                            {"device_id": str(d), "device_ip": address(20, (g * pods + p) * cards + d)}
                            for d in range(cards)
                        ],
                    }
                    for p in range(pods)
                ],
            }
            for g in range(groups)
        ],
    }


def lab(servers: int = 2, cards: int = 2) -> dict[str, Any]:
    """The value of a file of template 2, lab form, as MindSpore's first tutorials have it."""
    count = servers * cards
    return {
        "deploy_mode": "lab",
        "board_id": "0x0000",
        "chip_info": "910",
        "status": "completed",
        "group_count": "1",
        "group_list": [
            {
                "group_name": "",
                "device_num": str(count),
                "server_num": str(servers),
                "instance_count": str(count),
                "instance_list": [
                    {
                        "rank_id": str(s * cards + d),
                        "server_id": address(10, s),
                        "devices": [{"device_id": str(d), "device_ip": address(20, s * cards + d)}],
                    }
                    for s in range(servers)
                    for d in range(cards)
                ],
            }
        ],
        "para_plane_nic_location": "device",
        "para_plane_nic_name": [f"eth{d}" for d in range(cards)],
        "para_plane_nic_num": str(cards),
    }


def nodes() -> dict[str, Any]:
    """The value of a file of version 1.1: a rank on an NPU, one on the CPU, one that declares it explicitly."""
    return {
        "version": "1.1",
        "status": "completed",
        "collective_id": "192.168.3.3-9527-0001",
        "master_ip": "192.168.0.100",
        "master_port": "18000",
        "node_list": [
            {"node_addr": "10.0.0.1", "ranks": [{"rank_id": "0", "device_id": "0", "rank_ip": "192.168.0.1"}]},
            {"node_addr": "10.0.0.2", "ranks": [{"rank_id": "1"}, {"rank_id": "2", "device_id": "-1", "port": "1"}]},
        ],
    }
