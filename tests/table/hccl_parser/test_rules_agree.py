"""The rules against the order of HCCL's checks: after any change of a valid table, what HCCL refuses has an error."""

import copy
import json
import random
from typing import Any

from hccl_kit.check.engine import check_text
from hccl_kit.table.hccl_parser.first_error import first_error
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import find_product
from tests.groups import cloud, lab, nodes
from tests.tables import pods_value, ranks_value, value

TEXTS = (
    *(
        "",
        " ",
        "x",
        "0",
        "1",
        "2",
        "8",
        "16",
        "-1",
        "3x",
        " 3",
        "+1",
        "4294967295",
        "4294967296",
        "2147483648",
        "65535",
        "65536",
        "1.2",
        "host",
    ),
    *("0.0.0.0", "127.0.0.1", "10.0.0.1", "10.0.0.2 ", "192.168.100.1", "192.168.9.1,192.168.9.2", "::", "fd00::1"),
    *("n" * 65, "n" * 128, "tcp", "completed"),
)
OTHERS: tuple[Any, ...] = (None, 0, 1.5, True, [], {}, [""], [{}], {"a": 1})
NUMBERS = (-1, 0, 1, 2, 7, 8, 63, 64, 65, 65535, 65536, 2**32)
KEYS = (
    *("host_ip", "device_port", "device_vnic_port", "host_port", "net_position", "net_protocol", "device_ip", "port"),
    *("server_count", "super_device_id", "super_pod_list", "rank_ip", "mode", "heterog_sub_version", "sdid"),
    *("backup_device_ip", "backup_device_port", "bind_device_id", "version", "status", "deploy_mode", "detour"),
    *("host_port", "net_type", "net_attr", "plane_id", "control_plane", "backup_addr", "replaced_local_id"),
)
ARGUED = {"HK102", "HK103", "HK104", "HK108", "HK114", "HK115", "HK209", "HK215", "HK303", "HK308"}
"""Rules that refuse what HCCL accepts; their pages explain why."""


OLDER = ["910", "a2", "a3", "300i-duo", "a5"]


def groups(chance: random.Random) -> Any:
    """A table of template 2."""
    pods, cards = chance.choice([1, 2, 2, 3]), chance.choice([1, 2, 4, 8])
    return lab(pods, cards) if chance.random() < 0.5 else cloud(pods, cards, chance.choice([1, 2]))


def ranks(chance: random.Random) -> Any:
    """A table of version 2.0 with optional keys."""
    made = ranks_value(chance.choice([1, 2, 4]), chance.choice([1, 2]))
    for rank in made["rank_list"]:
        if chance.random() < 0.3:
            rank["control_plane"] = {"addr_type": "IPV4", "addr": "10.0.0.1", "listen_port": 10000}
        if chance.random() < 0.2:
            rank["device_port"] = 16666
    return made


def base(chance: random.Random) -> Any:
    cards, servers = chance.choice([1, 2, 3, 4, 8, 8, 8, 16]), chance.choice([1, 1, 2, 2, 3])
    kinds = (value(servers, cards), value(servers, cards), pods_value(servers, chance.choice([1, 2]), cards), nodes())
    made: Any = chance.choice(kinds)
    if chance.random() < 0.3:
        for place, holder, key in places(made):
            if key == "device_ip" and chance.random() < 0.5:
                holder[key] = chance.choice(["", holder[key]])
            elif key == "server_id" and place[0] == "server_list" and chance.random() < 0.3:
                holder["host_ip"] = holder[key]
    return made


def places(at: Any, pointer: Pointer = ()) -> list[tuple[Pointer, Any, Any]]:
    """Every value with the object or array that contains it and its key."""
    parts = [*at.items()] if isinstance(at, dict) else [*enumerate(at)] if isinstance(at, list) else []
    inner = [found for key, item in parts for found in places(item, (*pointer, key))]
    return [((*pointer, key), at, key) for key, _ in parts] + inner


def change(table: Any, chance: random.Random) -> None:
    _, holder, key = chance.choice(places(table))
    kind = chance.random()
    if kind < 0.2:
        del holder[key]
    elif kind < 0.35 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif kind < 0.5 and isinstance(holder, dict):
        holder[chance.choice(KEYS)] = chance.choice(TEXTS)
    elif kind < 0.6:
        holder[key] = chance.choice(OTHERS)
    elif kind < 0.75:
        holder[key] = copy.deepcopy(chance.choice([held[name] for _, held, name in places(table) if name == key]))
    elif type(holder[key]) is int and chance.random() < 0.8:
        holder[key] = chance.choice(NUMBERS)
    else:
        holder[key] = chance.choice(TEXTS)


def test_a_table_has_an_error_if_and_only_if_hccl_refuses_it() -> None:
    for seed in range(12):
        for kind, products in (
            (base, OLDER),
            (groups, ["910", "910", "a2"]),
            (ranks, ["a5", "a5", "a5", "910"]),
        ):
            chance = random.Random(seed)
            for _ in range(100):
                table = kind(chance)
                for _ in range(chance.choice([1, 1, 2])):
                    change(table, chance)
                product = find_product(chance.choice(products))
                written = json.dumps(table)
                report = check_text(written, "t.json", product)
                errors = {found.rule for found in report.findings if found.severity == "error"}
                waits = {"HK109"} & {found.rule for found in report.findings}
                refused = first_error(table, product) is not None
                assert refused <= bool(errors or waits), written
                unread = set() if product.has_super_pods else {"HK101"}  # the keys of super pods count on every product
                assert refused or errors <= ARGUED | unread, (errors, written)
