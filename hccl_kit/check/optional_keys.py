"""The optional keys that HCCL reads, by version and kind of object."""

from __future__ import annotations

from collections.abc import Mapping

_PORTS = ("device_port", "host_port", "device_vnic_port", "backup_device_port")
_DEVICE = ("device_ip", *_PORTS, "backup_device_ip", "net_position", "net_protocol")
OPTIONAL: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "1.0": {"table": ("server_count",), "server": ("host_ip",), "device": _DEVICE},
    "1.2": {
        "table": ("server_count", "super_pod_list"),
        "server": ("host_ip",),
        "device": (*_DEVICE, "super_device_id"),
    },
    "1.1": {
        "table": ("heterog_sub_version", "mode", "master_ip", "master_port"),
        "device": ("device_id", "rank_ip", "port", "sdid", "bind_device_id"),
    },
    "2.0": {
        "table": ("status", "detour"),
        "device": ("device_port", "host_port", "replaced_local_id", "control_plane"),
        "level": ("net_type", "net_attr"),
        "address": ("plane_id", "backup_addr"),
    },
    "": {"table": ("board_id", "chip_info", "deploy_mode", "para_plane_nic_num"), "device": ("device_ip",)},
}
"""The version of template 2 is "". A key that is neither here nor required is unknown; HCCL skips it."""
