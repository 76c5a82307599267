"""Tables with the traits of those in manuals, HCCL's own tests and repositories, and the rules they break.

None is a copy: each is one of our valid tables with a single trait. `pytest --corpus FOLDER` checks the originals.
"""

import copy
import json
from typing import Any

from hccl_kit.check.engine import check_text
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import find_product
from tests.groups import cloud, lab, nodes
from tests.tables import pods_value, ranks_value, sdid, text, value

DEVICES: Pointer = ("server_list", 0, "device")
RANK: Pointer = ("rank_list", 0)
GROUP: Pointer = ("group_list", 0)
POD: Pointer = (*GROUP, "instance_list", 0)


def put(document: dict[str, Any], *changes: tuple[Pointer, Any]) -> dict[str, Any]:
    """The document with other values at some places; None removes the key."""
    document = copy.deepcopy(document)
    for pointer, new in changes:
        *way, key = pointer
        holder: Any = document
        for part in way:
            holder = holder[part]
        if new is None:
            del holder[key]
        else:
            holder[key] = new
    return document


def addresses(*texts: str | None) -> dict[str, Any]:
    """One server with a card for each text; None leaves `device_ip` out."""
    return put(value(1, len(texts)), *(((*DEVICES, card, "device_ip"), each) for card, each in enumerate(texts)))


def ranks_in_order(*ranks: int) -> dict[str, Any]:
    return put(value(1, len(ranks)), *(((*DEVICES, card, "rank_id"), str(rank)) for card, rank in enumerate(ranks)))


def cards(*ids: int) -> dict[str, Any]:
    return put(value(1, len(ids)), *(((*DEVICES, place, "device_id"), str(card)) for place, card in enumerate(ids)))


def draft() -> dict[str, Any]:
    """A pre-release table of version 2.0: other key names, and a count that is a string."""
    level = {"level": 0, "id": "rack0", "fabric_type": "INNER", "rank_addr_type": "", "rank_addrs": []}
    ranks = [{"rank_id": rank, "local_id": rank, "level_list": [level]} for rank in range(2)]
    return {"version": "2.0", "rank_count": "2", "rank_list": ranks}


ONE_RANK = put(ranks_value(1), ((*RANK, "level_list", 1), None))

VALID: dict[str, Any] = {
    "a server id may be any text": put(value(2, 2), (("server_list", 0, "server_id"), "4294967296")),
    "one server needs no address": addresses(*[None] * 8),
    "one server may have empty addresses": addresses(*[""] * 8),
    "one server may have some addresses": addresses(None, "", "10.0.0.10"),
    "two addresses on every card": addresses("192.168.0.12,192.168.0.13", "192.168.1.12,192.168.1.13"),
    "ranks against the order of the cards": ranks_in_order(2, 1, 0),
    "a port for every card": put(value(1, 1), ((*DEVICES, 0, "device_port"), "18667")),
    "what HCCL does not read": put(value(), (("server_list", 0, "host_nic_ip"), "192.168.0.12:0,192.168.1.12:199")),
    "four cards of two groups, on a product without groups": cards(0, 1, 6, 7),
    "SDIDs that repeat in another super pod": pods_value(2, 2, 4),
    "one innermost network without status": put(ONE_RANK, (("status",), None)),
    "two addresses of one rank": put(
        ONE_RANK,
        (
            (*RANK, "level_list", 0, "rank_addr_list"),
            [{"addr_type": "IPV4", "addr": "223.0.0.28", "ports": [port]} for port in ("0/4", "1/5")],
        ),
    ),
    "template 2, cloud form": cloud(2, 8),
    "template 2, cloud form, a card for each pod": put(cloud(2, 1), ((*POD, "devices", 0, "device_id"), "1")),
    "template 2, lab form": lab(1, 8),
    "template 2, lab form, on ARM": put(lab(2, 8), (("board_id",), "0x002F")),
}

REFUSED: dict[str, tuple[Any, list[str]]] = {
    "comments of a manual": (text().replace('"1.0",', '"1.0",  // version'), ["HK001"]),
    "a comma after the last element": (json.dumps(lab()).replace("}]}]}]", "}]}]},]"), ["HK001"]),
    "no version": (put(ONE_RANK, (("version",), None)), ["HK101"]),
    "a super pod without id": (put(pods_value(), (("super_pod_list", 0, "super_pod_id"), None)), ["HK101"]),
    "numbers for counts": (
        put(lab(1, 8), *(((*GROUP, key), 8) for key in ("device_num", "instance_count")), ((*GROUP, "server_num"), 1)),
        ["HK102"] * 3,
    ),
    "a list of another version": (value() | {"version": "2.0"}, ["HK112"]),
    "a draft of version 2.0": (draft(), ["HK113"]),
    "a negative count": (put(ONE_RANK, (("rank_count",), -1)), ["HK114"]),
    "more ranks than version 2.0 takes": (put(ONE_RANK, (("rank_count",), 65537)), ["HK114"]),
    "a rank that does not start at 0": (ranks_in_order(2), ["HK202"]),
    "a rank of version 2.0 that does not start at 0": (put(ONE_RANK, ((*RANK, "rank_id"), 1)), ["HK202"]),
    "a card beyond the product": (put(cloud(2, 8), ((*POD, "devices", 4, "device_id"), "10")), ["HK204"]),
    "an empty server id": (put(value(), (("server_list", 0, "server_id"), "")), ["HK206"]),
    "another count of servers": (put(value(), (("server_count",), "2")), ["HK207"]),
    "no devices by the count": (put(lab(), ((*GROUP, "device_num"), "0")), ["HK220"]),
    "no instances by the count": (put(lab(), ((*GROUP, "instance_count"), "0")), ["HK220"]),
    "no servers by the count": (put(lab(), ((*GROUP, "server_num"), "0")), ["HK220"]),
    "no pods by the count": (put(cloud(), ((*GROUP, "instance_count"), "0")), ["HK220"]),
    "two pods of one name": (put(cloud(), ((*POD, "pod_name"), "pod-0-1")), ["HK222"]),
    "an empty pod name": (put(cloud(), ((*POD, "pod_name"), "")), ["HK223"]),
    "placeholders for addresses": (addresses(*(f"192.{card}.*.6" for card in range(8))), ["HK301"] * 8),
    "one address twice": (put(lab(), ((*POD, "devices", 0, "device_ip"), "20.0.0.1")), ["HK302"]),
    "uneven servers": (put(lab(2, 4), ((*GROUP, "instance_list", 3, "server_id"), "10.0.0.9")), ["HK401"]),
}

OTHERS = {
    "topology": {"version": "2.0", "peer_count": 1, "peer_list": [{"local_id": 0}], "edge_count": 0, "edge_list": []},
    "local-comm-res": {
        "version": "1.2",
        "server_list": [{"server_id": "a", "device": [{"device_id": "0", "device_ip": "10.0.0.1"}]}],
    },
    "mindie-global": {
        "version": "1.0",
        "status": "completed",
        "server_group_list": [{"group_id": "2", "server_count": "1", "server_list": value(1, 1)["server_list"]}],
    },
    "prefill-decode": {
        "version": "1.2",
        "status": "completed",
        "server_count": "1",
        "prefill_device_list": [{"server_id": "a", "device_id": "0", "device_ip": "10.0.0.1", "cluster_id": "1"}],
        "decode_device_list": [{"server_id": "a", "device_id": "1", "device_ip": "10.0.0.2", "cluster_id": "2"}],
    },
}
"""By format name: files of other programs that look like rank tables."""

NOTED: dict[str, tuple[Any, list[str]]] = {
    "a table that is not ready": (value(0) | {"status": "initializing"}, ["HK109"]),
    "a misspelled key": (put(ONE_RANK, ((*RANK, "replaced_loacl_id"), 0)), ["HK117"]),
    "an SDID with the number of another card": (
        put(pods_value(1, 2, 1), ((*DEVICES, 0, "super_device_id"), str(sdid(0, 15)))),
        ["HK219"],
    ),
    "version 1.1": (nodes(), ["HK236"]),
}


def rules(document: Any, product: str | None = None) -> list[str]:
    """The rule of every finding, including notes and warnings."""
    content = document if isinstance(document, str) else json.dumps(document)
    report = check_text(content, "t.json", find_product(product) if product else None)
    return [found.rule for found in report.findings]


def test_a_valid_table_has_no_finding() -> None:
    assert {trait: found for trait, document in VALID.items() if (found := rules(document))} == {}


def test_an_invalid_table_has_the_expected_errors() -> None:
    for trait, (document, expected) in REFUSED.items():
        assert rules(document) == expected, trait


def test_some_traits_are_only_a_note() -> None:
    for trait, (document, expected) in NOTED.items():
        assert rules(document) == expected, trait
        assert check_text(json.dumps(document), "t.json").ok, trait


def test_the_files_of_other_programs_are_recognised() -> None:
    for kind, document in OTHERS.items():
        assert rules(document) == ["HK105"], kind
        assert check_text(json.dumps(document), "t.json").format == kind


def test_the_product_decides_whether_four_cards_of_two_groups_are_valid() -> None:
    assert rules(cards(0, 1, 6, 7), "910") == ["HK403"]
    assert rules(cards(0, 1, 6, 7), "a2") == []
