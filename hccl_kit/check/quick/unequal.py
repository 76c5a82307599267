"""Reduces two valid tables, as JSON values, to what a comparison needs: most of what is equal in both is left out."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

_LIST, _COUNT = "server_list", "server_count"


def unequal(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Both values, of versions 1.0 and 1.2 without what is equal; `operations.diff` finds the same in them.

    A server that is equal in both is left out, and so are the devices that are equal. The first server with equal
    devices stays whole: it shows that ranks are not shifted. The number of servers, which is right, is left out too.
    """
    if not (_LIST in first and _LIST in second):
        return first, second
    before, after = ({server["server_id"]: server for server in value[_LIST]} for value in (first, second))
    held = [name for name, server in before.items() if name in after and after[name]["device"] == server["device"]]
    devices = {*held[1:]}
    servers = {name for name in devices if _rest(before[name]) == _rest(after[name])}
    return _without(first, servers, devices), _without(second, servers, devices)


def _rest(server: Mapping[str, Any]) -> Mapping[str, Any]:
    """A server without its devices, which are compared already."""
    return {**server, "device": None}


def _without(value: Mapping[str, Any], servers: Set[str], devices: Set[str]) -> Mapping[str, Any]:
    """The value without some servers, and with no devices in others."""
    left = [server for server in value[_LIST] if server["server_id"] not in servers]
    listed = [{**server, "device": []} if server["server_id"] in devices else server for server in left]
    return {**{key: item for key, item in value.items() if key != _COUNT}, _LIST: listed}
