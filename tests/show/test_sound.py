"""Pictures from columns equal those from objects, and create few objects."""

import json
from typing import Any

import pytest

from hccl_kit.check.engine import check_text
from hccl_kit.show import sound
from hccl_kit.show.hosts import Host
from hccl_kit.show.layout import host_of, picture
from hccl_kit.show.sound import picture_of
from hccl_kit.show.svg import as_svg
from hccl_kit.show.text import as_text
from hccl_kit.table.model import Server
from hccl_kit.table.products import find_product
from tests.check.quick.tables import VALID
from tests.groups import cloud
from tests.show.pictures import many, unlike
from tests.tables import pods_value, value


def twisted(servers: int) -> dict[str, Any]:
    """Servers of which every second has the ranks of its last two cards swapped."""
    document = many(servers)
    for server in document["server_list"][1::2]:
        one, other = server["device"][6:]
        one["rank_id"], other["rank_id"] = other["rank_id"], one["rank_id"]
    return document


def in_another_order(servers: int) -> dict[str, Any]:
    """Servers of which every second lists its cards in reverse order."""
    document = many(servers)
    for server in document["server_list"][1::2]:
        server["device"].reverse()
    return document


def of_other_cards(servers: int) -> dict[str, Any]:
    """Servers of four cards, of which every second has the upper ones."""
    document = value(servers, 4)
    for server in document["server_list"][1::2]:
        for device in server["device"]:
            device["device_id"] = str(int(device["device_id"]) + 4)
    return document


TABLES = {
    **VALID,
    "many": many(200),
    "unlike": unlike(90),
    "of other cards": of_other_cards(90),
    "twisted": twisted(90),
    "in another order": in_another_order(90),
    "many pods": pods_value(80, 2, 4),
    "many in template 2": cloud(30, 8),
    "half servers": value(3, 4),
}


def both(document: Any, product: str | None = None) -> tuple[str, str]:
    """The drawings from columns and from objects."""
    report = check_text(json.dumps(document), "t.json", find_product(product) if product else None)
    assert report.table is not None
    drawn = picture_of(report)
    assert drawn is not None
    other = picture(report, report.table)
    first, second = (
        "\n".join([as_text(one, 80), as_text(one, 200), as_svg(one), str(one.size)]) for one in (drawn, other)
    )
    return first, second


@pytest.mark.parametrize("name", sorted(TABLES))
def test_drawings_from_columns_and_objects_are_equal(name: str) -> None:
    first, second = both(TABLES[name])
    assert first == second


@pytest.mark.parametrize("product", ["910", "a2"])
@pytest.mark.parametrize("cards", [1, 2, 4, 8])
def test_groups_of_linked_cards_depend_on_the_product(cards: int, product: str) -> None:
    first, second = both(value(70, cards), product)
    assert first == second


def test_without_a_table_there_is_no_picture() -> None:
    assert picture_of(check_text("[]", "t.json")) is None


def test_few_server_objects_are_created_for_a_large_table(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def counted(server: Server, *rest: Any) -> Host:
        made.append(server.id)
        return host_of(server, *rest)

    monkeypatch.setattr(sound, "host_of", counted)
    drawn = picture_of(check_text(json.dumps(unlike(2000)), "t.json"))
    assert drawn is not None
    as_text(drawn, 80)
    as_svg(drawn)
    assert len(made) == len(set(made)) < 150
