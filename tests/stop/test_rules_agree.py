"""The rules against the order of HCCL's checks: what HCCL refuses has an error, whatever is changed in a good table."""

import copy
import json
import random
from typing import Any

import pytest

from hccl_kit.check import check_text
from hccl_kit.finding import Pointer
from hccl_kit.products import find_product
from hccl_kit.stop import first_stop, is_known
from tests.groups import nodes
from tests.tables import pods_value, value

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
KEYS = (
    *("host_ip", "device_port", "device_vnic_port", "host_port", "net_position", "net_protocol", "device_ip", "port"),
    *("server_count", "super_device_id", "super_pod_list", "rank_ip", "mode", "heterog_sub_version", "sdid"),
    *("backup_device_ip", "backup_device_port", "bind_device_id"),
)
ARGUED = {"HK102", "HK103", "HK104", "HK209", "HK215", "HK303", "HK308"}
"""Rules that refuse what HCCL takes; their pages say why."""


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
    """Every value with the object or array that holds it and its key there."""
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
    else:
        holder[key] = chance.choice(TEXTS)


@pytest.mark.parametrize("seed", range(20))
def test_what_hccl_refuses_has_an_error_and_the_other_way_round(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(100):
        table = base(chance)
        for _ in range(chance.choice([1, 1, 2])):
            change(table, chance)
        product = find_product(chance.choice(["910", "a2", "a3", "300i-duo"]))
        if not is_known(table, product):
            continue
        written = json.dumps(table)
        report = check_text(written, "t.json", product)
        errors = {found.rule for found in report.diagnostics if found.severity == "error"}
        waits = {"HK109"} & {found.rule for found in report.diagnostics}
        refused = first_stop(table, product) is not None
        assert refused <= bool(errors or waits), written
        unread = set() if product.has_super_pods else {"HK101"}  # the keys of super pods count on every product
        assert refused or errors <= ARGUED | unread, (errors, written)
