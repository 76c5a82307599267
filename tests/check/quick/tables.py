"""Valid tables of every kind that the fast path accepts, and small changes that leave them nearly valid."""

import copy
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.damage import Numbers, inside
from tests.groups import cloud, lab
from tests.tables import pods_value, ranks_value, value

Table = dict[str, Any]


def changed(table: Table, change: Callable[[Table], object]) -> Table:
    """A copy with the change made."""
    copied = copy.deepcopy(table)
    change(copied)
    return copied


def devices(table: Table) -> list[Table]:
    """Every device of version 1.0 or 1.2."""
    return [device for server in table["server_list"] for device in server["device"]]


def _with_host_ips(table: Table) -> None:
    for number, server in enumerate(table["server_list"]):
        server["host_ip"] = f"172.16.0.{number + 1}"


def _with_ipv6(table: Table) -> None:
    for number, device in enumerate(devices(table)):
        device["device_ip"] = f"fd00::{number:x}:1"


def _with_ports(table: Table) -> None:
    for device in devices(table):
        device |= {"device_port": "16666", "host_port": "60000"}


def _with_backups(table: Table) -> None:
    for server in table["server_list"]:
        ips = {device["device_id"]: device["device_ip"] for device in server["device"]}
        for device in server["device"]:
            peer = str(int(device["device_id"]) ^ 1)
            device |= {"device_port": "16666", "backup_device_ip": ips[peer], "backup_device_port": "16667"}


def _turned(table: Table) -> None:
    """The ranks of each server in descending order, and the last server first."""
    count = len(devices(table))
    for device in devices(table):
        device["rank_id"] = str(count - 1 - int(device["rank_id"]))


def _with_small_sdids(table: Table) -> None:
    for number, device in enumerate(devices(table)):
        device["super_device_id"] = str(number)


def _without_pods(table: Table) -> None:
    del table["super_pod_list"]


def _without_sdids(table: Table) -> None:
    _without_pods(table)
    for device in devices(table):
        del device["super_device_id"]


def _with_options(table: Table) -> None:
    """The optional keys of version 2.0."""
    table["detour"] = "false"
    for rank in table["rank_list"]:
        rank |= {"device_port": 16666}
        inner, outer = rank["level_list"]
        inner["net_attr"] = ""
        outer["rank_addr_list"][0]["plane_id"] = "plane_0"
        outer["rank_addr_list"].append(
            {"addr_type": "IPV6", "addr": f"fd00::{rank['rank_id'] + 1:x}", "ports": ["d2h"]}
        )
        del outer["net_type"]


def _in_two_servers(table: Table) -> None:
    """The cards of one server, split over two pods."""
    for group in table["group_list"]:
        for instance in group["instance_list"]:
            instance["server_id"] = "10.0.0.1"
            for device in instance["devices"]:
                device["device_id"] = str(int(device["device_id"]) + 2 * int(instance["pod_name"][-1]))


VALID: Mapping[str, Table] = {
    "one server": value(1, 8),
    "one card": value(1, 1),
    "servers": value(3, 8),
    "parts of servers": value(3, 2),
    "uneven servers": changed(
        value(2, 8), lambda table: [table["server_list"][1]["device"].pop(), table["server_list"][1]["device"].pop()]
    ),
    "other keys": changed(value(2, 4), lambda table: table.update(board="x: [1]", server_count="2")),
    "no count": changed(value(2, 4), lambda table: table.pop("server_count")),
    "host names": changed(
        value(2, 4), lambda table: [s.update(server_id=f"node-{s['server_id']}") for s in table["server_list"]]
    ),
    "host addresses": changed(value(2, 8), _with_host_ips),
    "IPv6": changed(value(2, 8), _with_ipv6),
    "ports": changed(value(2, 8), _with_ports),
    "ranks from the end": changed(value(3, 4), _turned),
    "super pods": pods_value(2, 2, 16),
    "one super pod": pods_value(1, 3, 8),
    "backups": changed(pods_value(2, 2, 8), _with_backups),
    "numbers of the user": changed(pods_value(2, 2, 4), _with_small_sdids),
    "no super pods": changed(pods_value(1, 2, 4), _without_pods),
    "no SDIDs": changed(pods_value(1, 2, 4), _without_sdids),
    "ranks": ranks_value(4, 2),
    "one rank": ranks_value(1),
    "options of 2.0": changed(ranks_value(6, 2), _with_options),
    "pods": cloud(2, 8),
    "one pod": cloud(1, 8),
    "groups": cloud(2, 4, 2),
    "pods on one server": changed(cloud(2, 2), _in_two_servers),
    "lab": lab(2, 8),
    "lab, one server": lab(1, 4),
}

NUMBERS_IN_TEXT = (
    *("0", "1", "7", "8", "15", "16", "64", "65535", "65536", "4294967295", "99999999999", "-1", "01", "+1", "1_0"),
    "\N{FULLWIDTH DIGIT ONE}",
)
ADDRESSES = (
    *("127.0.0.1", "localhost", "::1", "fd00::1", "fd00:0::1", "::ffff:10.0.0.1", "0.0.0.0", "10.0.0.1", " 10.0.0.1"),
    *("10.0.0.1 ", "10.0.0.01", "10.0.0.1,10.0.0.2", "10.0.0.256", "fe80::1%eth0", "a" * 32, "g" * 32),
)
WORDS = (
    *(
        "",
        " ",
        "-oProxyCommand=x",
        "rack 1",
        "服务器",
        "x" * 65,
        "x" * 200,
        "\x7f",
        "a:b",
        "[{",
        "completed",
        "initializing",
    ),
    *("Completed", "1.0", "1.1", "1.2", "2.0", "EID", "IPV4", "IPV6", "CLOS", "TOPO_FILE_DESC", "0/1", "0-1", "d2h"),
    *("true", "device", "host", "910", "lab"),
)
LEAVES: tuple[Any, ...] = (
    *(*NUMBERS_IN_TEXT, *ADDRESSES, *WORDS, 0, 1, 7, 8, 63, 64, -1, 65535, 65536, 10**9, 2**63, True, False, None),
    *([], {}, [1], {"a": "b"}, ["d2h"], [[[[]]]], 1.5),
)
KEYS = (
    *("host_ip", "host_nic_ip", "hostip", "device_port", "host_port", "device_vnic_port", "backup_device_port"),
    *("deviceport", "backup_device_ip", "net_position", "net_protocol", "super_device_id", "super_pod_list"),
    *("server_count", "server_list", "status", "detour", "replaced_local_id", "control_plane", "net_type", "net_attr"),
    *("plane_id", "backup_addr", "kind", "deploy_mode", "group_list", "node_list", "rank_list", "version", "peer_list"),
    *("chip_info", "para_plane_nic_num", "x", "a:b"),
)


def change_leaf(table: Table, at: Numbers) -> None:
    """Another value for a key or an item, of the list above or from elsewhere in the table."""
    places = [(holder, key) for holder in inside(table) for key in _keys(holder)]
    holder, key = places[at[0] % len(places)]
    other_holder, other_key = places[at[1] % len(places)]
    holder[key] = copy.deepcopy(other_holder[other_key] if at[2] % 3 == 0 else LEAVES[at[1] % len(LEAVES)])


def change_digit(table: Table, at: Numbers) -> None:
    """A string or number that is incremented or decremented by one."""
    places = [(holder, key) for holder in inside(table) for key in _keys(holder) if _ends_in_digit(holder[key])]
    if places:
        holder, key = places[at[0] % len(places)]
        step = (1, -1)[at[1] % 2]
        if isinstance(holder[key], str):
            before, digits = re.findall(r"(?s)\A(.*?)([0-9]+)\Z", holder[key])[0]
            holder[key] = f"{before}{int(digits) + step}"
        else:
            holder[key] += step


def _ends_in_digit(value: object) -> bool:
    return type(value) is int or (isinstance(value, str) and re.search("[0-9]\\Z", value) is not None)


def like_a_sibling(table: Table, at: Numbers) -> None:
    """The value of the same key elsewhere in the table."""
    objects = [holder for holder in inside(table) if isinstance(holder, dict) and holder]
    one = objects[at[0] % len(objects)]
    key = [*one][at[1] % len(one)]
    others = [other for other in objects if key in other]
    one[key] = copy.deepcopy(others[at[2] % len(others)][key])


def add_key(table: Table, at: Numbers) -> None:
    objects = [holder for holder in inside(table) if isinstance(holder, dict)]
    objects[at[0] % len(objects)][KEYS[at[1] % len(KEYS)]] = copy.deepcopy(LEAVES[at[2] % len(LEAVES)])


def remove(table: Table, at: Numbers) -> None:
    holders = [holder for holder in inside(table) if holder]
    holder = holders[at[0] % len(holders)]
    del holder[_keys(holder)[at[1] % len(holder)]]


def swap_or_repeat(table: Table, at: Numbers) -> None:
    lists = [holder for holder in inside(table) if isinstance(holder, list) and holder]
    if lists:
        one = lists[at[0] % len(lists)]
        first, second = at[1] % len(one), at[2] % len(one)
        if at[2] % 3:
            one[first], one[second] = one[second], one[first]
        else:
            one.append(copy.deepcopy(one[first]))


CHANGES: tuple[Callable[[Table, Numbers], None], ...] = (
    *(change_leaf, change_leaf, change_digit, change_digit, like_a_sibling, add_key, remove, swap_or_repeat),
)


def _keys(holder: Any) -> list[Any]:
    return [*holder] if isinstance(holder, dict) else [*range(len(holder))]


def respelled(text: str, which: int, at: Numbers) -> bytes:
    """The text of a table, changed in a way that a JSON decoder may accept: a duplicate key, an escape, a constant."""
    members = [*re.finditer(r'"[^"]*": *("[^"]*"|-?[0-9]+)', text)]
    strings = [*re.finditer(r'"[^"]+"', text)]
    member, string = members[at[0] % len(members)], strings[at[0] % len(strings)]
    other = members[at[1] % len(members)]
    ways: tuple[Callable[[], str], ...] = (
        lambda: f"{text[: member.end()]}, {member[0]}{text[member.end() :]}",
        lambda: f"{text[: member.start()]}{member[0].split(':')[0]}: {other[1]}, {text[member.start() :]}",
        lambda: f'{text[: member.start()]}{member[0].split(":")[0]}: {{"a": "b:c"}}, {text[member.start() :]}',
        lambda: f"{text[: string.start() + 1]}\\u{ord(string[0][1]):04x}{text[string.start() + 2 :]}",
        lambda: f"{text[: string.start() + 1]}{TWISTS[at[1] % len(TWISTS)]}{text[string.start() + 1 :]}",
        lambda: f"{text[: member.start(1)]}{NUMBERS[at[1] % len(NUMBERS)]}{text[member.end(1) :]}",
        lambda: f'{text[: member.start()]}"x": {NUMBERS[at[1] % len(NUMBERS)]}, {text[member.start() :]}',
        lambda: f"{text}{ENDS[at[1] % len(ENDS)]}",
        lambda: f"{ENDS[at[1] % len(ENDS)]}{text}",
        lambda: text.replace('": "', '" :\t"').replace("\n", "\r\n"),
        lambda: text.replace('"', "'", 1 + at[1] % 4),
    )
    return ways[which % len(ways)]().encode("utf-8", errors="surrogatepass")


TWISTS = (
    *("\\ud800", "\\udc00", "\\n", "\ud800", "\x00", "\n", "\t", "\u2028", "\x7f", ":", "::", "{", "\\", "é"),
    "\U0001f600",
)
NUMBERS = (
    *("NaN", "Infinity", "-Infinity", "-0", "00", "1.0", "1e0", "1E400", "9" * 65, "9" * 5000, "-" + "9" * 80),
    *("null", "true", "[" * 70 + "]" * 70, "[" * 3000 + "]" * 3000, "{}", "[]", '{"a":1,"a":1}', '{"a:a":1,"b":1}'),
)
ENDS = ("\ufeff", " ", "\n", "\x0b", "\u00a0", "{}", ",", "]", "x", "\x00", "// x")


def text_of(table: Table, style: int) -> str:
    """The table as a text, in one of several spellings."""
    separators = ((", ", ": "), (",", ":"))[style // 4 % 2]
    indent = (None, 4, 1, "\t")[style % 4]
    return json.dumps(table, indent=indent, ensure_ascii=style % 3 == 0, separators=separators)


def nearly_valid(name: str, steps: Iterable[tuple[int, Numbers]]) -> Table:
    """The valid table of this name with some changes."""
    table = copy.deepcopy(VALID[name])
    for which, at in steps:
        CHANGES[which % len(CHANGES)](table, at)
    return table
