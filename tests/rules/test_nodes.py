"""Version 1.1: ranks and addresses are judged, and a note says that the rest is not."""

import json
from typing import Any

import pytest

from hccl_kit.check import check_text
from hccl_kit.finding import Pointer
from hccl_kit.products import PRODUCTS
from tests.groups import nodes


def findings(document: Any) -> list[tuple[str, Pointer]]:
    first, *others = check_text(json.dumps(document), "t.json").diagnostics
    assert (first.rule, first.severity, first.pointer) == ("HK236", "note", ("version",))
    return [(found.rule, found.pointer) for found in others]


def changed(pointer: Pointer, value: Any) -> dict[str, Any]:
    document: Any = nodes()
    holder = document
    for part in pointer[:-1]:
        holder = holder[part]
    holder[pointer[-1]] = value
    return dict(document)


RANK: Pointer = ("node_list", 1, "ranks", 0)


@pytest.mark.parametrize(
    ("pointer", "value", "rule"),
    [
        (("node_list", 1, "node_addr"), "10.0.0.1", "HK235"),
        (("node_list", 1, "node_addr"), "node1", "HK234"),
        (("node_list", 1, "node_addr"), "", "HK234"),
        (("node_list", 1, "node_addr"), "fd00::1", None),
        ((*RANK, "rank_ip"), " 10.0.0.1", "HK234"),
        ((*RANK, "rank_ip"), "", None),
        ((*RANK, "rank_ip"), "192.168.0.1", None),
        ((*RANK, "rank_id"), "0", "HK201"),
        ((*RANK, "rank_id"), "3", "HK202"),
        ((*RANK, "device_id"), "99", None),
        (("node_list", 1, "ranks"), [], "HK208"),
        (("node_list",), [], "HK208"),
        (("status",), "complete", "HK110"),
    ],
)
def test_ranks_and_addresses_are_judged_at_their_place(pointer: Pointer, value: Any, rule: str | None) -> None:
    document = changed(pointer, value)
    if pointer == ("node_list", 1, "ranks"):
        document["node_list"][0]["ranks"][0]["rank_id"] = "0"
    assert findings(document) == ([(rule, pointer)] if rule else [])


def test_it_is_read_wherever_version_1_0_is() -> None:
    for product in PRODUCTS:
        rules = [found.rule for found in check_text(json.dumps(nodes()), "t.json", product).diagnostics]
        assert rules == (["HK236"] if "1.0" in product.table_versions else ["HK108"])
