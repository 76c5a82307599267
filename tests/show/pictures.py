"""Tables to draw, and their pictures."""

import json
from typing import Any

from hccl_kit.check.engine import check_text
from hccl_kit.show.layout import Picture, picture
from hccl_kit.table.products import find_product
from tests.tables import pods_value, ranks_value, value


def drawn(document: Any, product: str | None = None) -> Picture:
    """The picture of a document: a value, or the text of a file."""
    text = document if isinstance(document, str) else json.dumps(document)
    report = check_text(text, "t.json", find_product(product) if product else None)
    assert report.table is not None
    return picture(report, report.table)


def four_cards(*ids: int) -> dict[str, Any]:
    """A server with only these cards."""
    document = value(1, len(ids))
    for device, number in zip(document["server_list"][0]["device"], ids, strict=True):
        device["device_id"] = str(number)
    return document


def broken() -> dict[str, Any]:
    """Three servers: the second has no id, its card 3 no address and its card 7 a duplicate rank."""
    document = value(3, 8)
    server = document["server_list"][1]
    server["server_id"] = ""
    server["device"][3]["device_ip"] = "x"
    server["device"][7]["rank_id"] = "0"
    return document


def broken_pods() -> dict[str, Any]:
    """Two super pods of two servers with the same name; one card has the SDID of another."""
    document = pods_value(2, 2, 16)
    document["super_pod_list"][1]["super_pod_id"] = "0"
    devices = document["server_list"][2]["device"]
    devices[5]["super_device_id"] = devices[4]["super_device_id"]
    return document


def chinese() -> dict[str, Any]:
    """Three servers with Chinese names, one of them long; only the last has a finding."""
    document = value(3, 8)
    for server, name in zip(
        document["server_list"], ("训练节点甲", "数据中心北京三层机房第十二排机柜", "节点丙"), strict=True
    ):
        server["server_id"] = name
    document["server_list"][2]["device"][2]["rank_id"] = "99"
    return document


def unlike(servers: int) -> dict[str, Any]:
    """Servers of which every second has reversed ranks, so that no two neighbours look alike."""
    document = many(servers)
    for place, server in enumerate(document["server_list"]):
        for device in server["device"] if place % 2 else []:
            device["rank_id"] = str(place * 8 + 7 - int(device["device_id"]))
    return document


def many(servers: int) -> dict[str, Any]:
    """This many servers of 8 cards, with unique addresses."""
    document = value(servers, 8)
    for place, server in enumerate(document["server_list"]):
        server["server_id"] = f"node{place}"
        for device in server["device"]:
            device["device_ip"] = f"{100 + int(device['device_id'])}.0.{place // 250}.{place % 250 + 1}"
    return document


def in_blocks(networks: int, ranks: int) -> dict[str, Any]:
    """A table of version 2.0 whose networks have these numbers of consecutive ranks."""
    document = ranks_value(networks * ranks)
    for rank in document["rank_list"]:
        number = rank["rank_id"]
        rank["local_id"] = rank["device_id"] = number % ranks
        rank["level_list"][0]["net_instance_id"] = f"rack{number // ranks}"
    return document
