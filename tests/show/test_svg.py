"""Drawings: XML that shows every rank once, marks findings in words, has no scripts and stays small."""

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.check.engine import check_text
from hccl_kit.show.layout import picture
from hccl_kit.show.svg import MAX_HOSTS, RANKS, RankGroups, as_svg
from hccl_kit.table.formats import write
from hccl_kit.table.products import find_product
from tests.show.pictures import broken, broken_pods, drawn, four_cards, in_blocks, many, unlike
from tests.tables import pod_tables, pods_value, tables, value

SVG = "{http://www.w3.org/2000/svg}"


def tooltips_in(svg: str) -> list[str]:
    return [title.text or "" for title in ElementTree.fromstring(svg).iter(f"{SVG}title")]


def words_in(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def ranks_in(svg: str) -> list[int]:
    found = [re.match("card [0-9]+, rank ([0-9]+)", tooltip) for tooltip in tooltips_in(svg)]
    return [int(match[1]) for match in found if match]


@given(st.integers(1, 4), st.integers(1, 16), st.integers(1, 3))
def test_a_drawing_shows_every_rank_once(servers: int, cards: int, pods: int) -> None:
    svg = as_svg(drawn(pods_value(pods, servers, cards)))
    everyone = range(pods * servers * cards)
    assert sorted(ranks_in(svg)) == list(everyone)
    assert {str(rank) for rank in everyone} <= set(words_in(svg))


@given(tables | pod_tables, st.sampled_from([None, "910", "a3"]))
def test_a_drawing_of_any_table_is_xml(table: Any, product: str | None) -> None:
    report = check_text(write(table), "t.json", find_product(product) if product else None)
    if report.table is not None:
        root = ElementTree.fromstring(as_svg(picture(report, report.table)))
        assert {element.tag for element in root.iter()} <= {
            f"{SVG}{tag}" for tag in ("svg", "g", "rect", "text", "title")
        }


def test_findings_are_marked_in_red_and_in_words() -> None:
    svg = as_svg(drawn(broken(), "910"))
    assert {"HK206", "HK301", "HK201"} <= set(words_in(svg))
    assert any(line.startswith('HK301 error: "device_ip" holds "x"') for line in words_in(svg))
    assert any(re.match('card 3, rank 11, x, HK301: "device_ip" holds', tooltip) for tooltip in tooltips_in(svg))
    assert "#c62828" in svg
    assert "#c62828" not in as_svg(drawn(value(), "910"))


def test_a_finding_of_a_super_pod_is_marked_at_its_frame() -> None:
    shown = drawn(broken_pods())
    (rule,) = [finding.rule for finding in shown.pods[1].findings]
    assert rule in words_in(as_svg(shown))


def test_warnings_and_errors_have_different_colors() -> None:
    document = pods_value(1, 2, 2)
    document["server_list"][1]["device"].pop()
    shown = drawn(document)
    assert {finding.severity for finding in shown.findings} == {"warning"}
    svg = as_svg(shown)
    assert "#c62828" not in svg
    assert "breaks a rule: warning" in words_in(svg)


def test_the_legend_explains_exactly_the_shown_elements() -> None:
    legend = ("not in the job", "linked cards", "network planes")
    assert [sign for sign in legend if sign in words_in(as_svg(drawn(four_cards(0, 1, 2, 3), "910")))] == [*legend]
    assert [sign for sign in legend if sign in words_in(as_svg(drawn(value(), "910")))] == [*legend[1:]]
    assert [sign for sign in legend if sign in words_in(as_svg(drawn(value(), "a2")))] == []


def test_text_of_a_file_is_escaped() -> None:
    document = value(1, 1)
    document["server_list"][0]["server_id"] = "<script>&\x1b[2J\ufffe"
    svg = as_svg(drawn(document))
    assert "<script" not in svg
    assert "\x1b" not in svg
    assert "<script>&\ufffd[2J\ufffd" in words_in(svg)


def test_a_long_server_id_is_truncated_and_a_chinese_one_earlier() -> None:
    document = value(2, 8)
    document["server_list"][0]["server_id"] = "a" * 64
    document["server_list"][1]["server_id"] = "节" * 40
    latin, chinese = (text for text in words_in(as_svg(drawn(document))) if text.endswith("..."))
    assert 30 < len(latin) < 64
    assert len(chinese) < 0.6 * len(latin)


@pytest.mark.parametrize(
    "document",
    [
        many(1250),
        unlike(1250),
        pods_value(100, 1, 2),
        pods_value(40, 2, 16),
        in_blocks(100, 64),
        four_cards(*range(4000)),
    ],
    ids=["alike", "unlike", "pods", "larger pods", "networks", "cards"],
)
def test_a_large_table_is_collapsed(document: Any) -> None:
    svg = as_svg(drawn(document))
    assert len(svg) < 1_000_000
    assert len(ranks_in(svg)) <= MAX_HOSTS * 64
    assert any(word in svg for word in ("uniform", "not drawn", "more super pods"))


def test_64_servers_are_all_drawn() -> None:
    assert sorted(ranks_in(as_svg(drawn(value(64, 8), "910")))) == list(range(512))


def test_ranks_of_one_group_have_one_colour() -> None:
    groups = [rank // 4 for rank in range(32)]
    svg = as_svg(drawn(value(2, 16)), RankGroups("tensor", groups))
    for number in range(8):
        assert sum(f"tensor group {number}" in tooltip for tooltip in tooltips_in(svg)) == 4
    drawn_in = re.findall(r'tensor group ([0-9]+)</title><rect [^>]*fill="([^"]+)"', svg)
    assert dict(drawn_in) == {str(number): RANKS[number] for number in range(8)}
    assert len(drawn_in) == 32
    assert "colours: tensor groups" in words_in(svg)


def test_without_groups_there_is_no_colour_legend() -> None:
    assert "colours:" not in as_svg(drawn(value(2, 8)))
