"""Pictures of tables: every rank once, faults marked, nothing wider than the screen, nothing from a file unescaped."""

import copy
import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.check import check_text
from hccl_kit.formats import write
from hccl_kit.products import find_product
from hccl_kit.screen import cells
from hccl_kit.show.layout import Picture, picture, spans
from hccl_kit.show.svg import as_svg
from hccl_kit.show.text import as_text
from tests.tables import pod_tables, pods_value, ranks_value, tables, value


def drawn(document: Any, product: str | None = None) -> Picture:
    text = document if isinstance(document, str) else json.dumps(document)
    report = check_text(text, "t.json", find_product(product) if product else None)
    assert report.table is not None
    return picture(report, report.table)


def ranks_in(svg: str) -> list[int]:
    return [int(rank) for rank in re.findall("<title>card [0-9]+, rank ([0-9]+)", svg)]


def test_a_server_of_910_shows_its_two_groups_and_the_cards_it_leaves() -> None:
    document = value(1, 4)
    for device in document["server_list"][0]["device"]:
        device["device_id"] = str(int(device["device_id"]) + 4)
    assert as_text(drawn(document, "910"), 80) == (
        "t.json: version 1.0, 1 server, 4 devices, product 910\n"
        "  10.0.0.1\n"
        "    card 0 1 2 3 | 4 5 6 7\n"
        "    rank . . . . | 0 1 2 3"
    )


def test_a_fault_stands_below_its_card_and_is_told() -> None:
    document = value(2, 8)
    document["server_list"][1]["device"][3]["device_ip"] = "x"
    document["server_list"][0]["server_id"] = ""
    text = as_text(drawn(document, "910"), 100)
    assert "\n    <- HK206\n" in text
    lines = text.split("\n")
    marked = next(place for place, line in enumerate(lines) if "^" in line)
    assert lines[marked - 2][lines[marked].index("^")] == "3"
    assert lines[marked + 1].strip() == "card 3: HK301"
    assert 'HK301 error: "device_ip" holds "x"' in text
    svg = as_svg(drawn(document, "910"))
    assert ">HK301<" in svg
    assert "HK206" in svg


def test_servers_that_look_alike_are_one_line() -> None:
    text = as_text(drawn(value(64, 8), "910"), 80)
    assert text.split("\n")[1:] == ["  10.0.0.1 .. 10.0.0.64  64 servers, ranks 0-511, cards 0-7 each"]


def test_super_pods_and_networks_are_named() -> None:
    text = as_text(drawn(pods_value(2, 2, 2)), 80)
    assert [line for line in text.split("\n") if "super pod " in line][-2:] == ["super pod 0", "super pod 1"]
    text = as_text(drawn(ranks_value(4, 2)), 80)
    assert "2 innermost networks" in text
    assert text.split("\n")[-1] == "layer 3: cluster, 4 ranks"


@given(st.integers(1, 6), st.integers(1, 16), st.integers(1, 3))
def test_the_drawing_is_xml_and_shows_every_rank_once(servers: int, cards: int, pods: int) -> None:
    svg = as_svg(drawn(pods_value(pods, servers, cards)))
    ElementTree.fromstring(svg)
    assert sorted(ranks_in(svg)) == list(range(pods * servers * cards))


@given(tables | pod_tables, st.integers(40, 200), st.sampled_from([None, "910", "a3"]))
def test_no_line_is_wider_than_the_screen_and_every_drawing_is_xml(table: Any, width: int, product: str | None) -> None:
    report = check_text(write(table), "t.json", find_product(product) if product else None)
    if report.table is None:
        return
    text = as_text(picture(report, report.table), width)
    assert all(char.isprintable() or char == "\n" for char in text)
    assert max(map(cells, text.split("\n"))) <= width
    ElementTree.fromstring(as_svg(picture(report, report.table)))


def test_what_a_file_says_is_escaped() -> None:
    document = value(1, 1)
    document["server_list"][0]["server_id"] = "<script>&\x1b[2J"
    svg = as_svg(drawn(document))
    assert "<script" not in svg
    assert "\x1b" not in svg
    assert "&lt;script&gt;&amp;" in svg


@pytest.mark.parametrize("alike", [True, False])
def test_a_large_table_is_folded(alike: bool) -> None:
    document = value(1250, 8)
    document["server_list"] = copy.deepcopy(document["server_list"])
    for place, server in enumerate(document["server_list"]):
        server["server_id"] = f"node{place}"
        for device in server["device"]:
            device["device_ip"] = f"{100 + int(device['device_id'])}.0.{place // 250}.{place % 250 + 1}"
        if not alike and place % 2:
            server["device"].reverse()
            for device in server["device"]:
                device["rank_id"] = str(place * 8 + 7 - int(device["device_id"]))
    shown = drawn(document)
    assert len(as_text(shown, 80).split("\n")) <= (2 if alike else 50)
    svg = as_svg(shown)
    assert len(svg) < 1_000_000
    assert 0 < len(ranks_in(svg)) <= 64 * 8
    assert "more servers" in svg


def test_many_super_pods_are_bounded_too() -> None:
    shown = drawn(pods_value(100, 1, 2))
    assert len(as_text(shown, 80).split("\n")) < 80
    assert "and 84 more super pods" in as_svg(shown)


@given(st.sets(st.integers(0, 40), min_size=1))
def test_spans_name_every_number(numbers: set[int]) -> None:
    named: list[int] = []
    for piece in spans(list(numbers)).split(","):
        first, _, last = piece.partition("-")
        named += range(int(first), int(last or first) + 1)
    assert named == sorted(numbers)
