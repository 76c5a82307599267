"""Pictures in a terminal: golden files, and general properties. `pytest --update-golden` writes them; review them."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.terminal import text_width
from hccl_kit.check.engine import check_text
from hccl_kit.show.layout import picture
from hccl_kit.show.text import MIN_WIDTH, as_text
from hccl_kit.table.formats import write
from hccl_kit.table.products import find_product
from tests.show.pictures import broken, broken_pods, chinese, drawn, four_cards, in_blocks, many, unlike
from tests.tables import pod_tables, pods_value, tables, value

HERE = Path(__file__).parent
A_SCREENFUL = 60
GOLDENS: dict[str, tuple[Any, str | None, int]] = {
    "910_8": (value(1, 8), "910", 80),
    "910_half": (four_cards(4, 5, 6, 7), "910", 80),
    "910_no_ring": (four_cards(0, 1, 6, 7), "910", 80),
    "910_512": (value(64, 8), "910", 80),
    "a2_addresses": (value(2, 2), "a2", 80),
    "a3_pods": (broken_pods(), None, 80),
    "a3_many_pods": (pods_value(8, 4, 16), None, 80),
    "a5_networks": (in_blocks(8, 64), None, 80),
    "broken": (broken(), "910", 80),
    "chinese_narrow": (chinese(), "910", 36),
    "unlike": (unlike(100), "a2", 80),
}


@pytest.mark.parametrize("name", GOLDENS)
def test_a_picture_matches_its_golden_file(name: str, request: pytest.FixtureRequest) -> None:
    document, product, width = GOLDENS[name]
    text = as_text(drawn(document, product), width) + "\n"
    golden = HERE / f"{name}.out"
    if request.config.getoption("--update-golden"):
        golden.write_text(text, encoding="utf-8")
    assert golden.read_text(encoding="utf-8") == text


def test_every_golden_file_belongs_to_a_table() -> None:
    assert {path.stem for path in HERE.glob("*.out")} == set(GOLDENS)


def test_a_finding_is_shown_below_its_card() -> None:
    lines = as_text(drawn(broken(), "910"), 100).split("\n")
    marked = next(place for place, line in enumerate(lines) if "^" in line)
    columns = [column for column, char in enumerate(lines[marked]) if char == "^"]
    assert [lines[marked - 2][column] for column in columns] == ["3", "7"]
    assert [line.strip() for line in lines[marked + 1 : marked + 3]] == ["card 3: HK301", "card 7: HK201"]


def test_colors_only_add_escape_sequences() -> None:
    plain, colored = (as_text(drawn(broken(), "910"), 80, color=color) for color in (False, True))
    assert "\x1b" not in plain
    assert "\x1b[31m" in colored
    for code in ("\x1b[31m", "\x1b[33m", "\x1b[1m", "\x1b[0m"):
        colored = colored.replace(code, "")
    assert colored == plain


@given(tables | pod_tables, st.integers(MIN_WIDTH, 200), st.sampled_from([None, "910", "a3"]))
def test_no_line_is_wider_than_the_screen(table: Any, width: int, product: str | None) -> None:
    report = check_text(write(table), "t.json", find_product(product) if product else None)
    if report.table is not None:
        text = as_text(picture(report, report.table), width)
        assert all(char.isprintable() or char == "\n" for char in text)
        assert max(map(text_width, text.split("\n"))) <= width


@pytest.mark.parametrize(
    "document",
    [many(1250), unlike(1250), pods_value(100, 1, 2), in_blocks(64, 64), pods_value(40, 2, 16)],
    ids=["alike", "unlike", "pods", "networks", "larger pods"],
)
def test_a_large_table_fits_on_a_screen(document: Any) -> None:
    assert len(as_text(drawn(document), 80).split("\n")) <= A_SCREENFUL


def test_a_server_with_thousands_of_cards_fits_on_a_screen() -> None:
    lines = as_text(drawn(four_cards(*range(2000))), 80).split("\n")
    assert len(lines) <= A_SCREENFUL
    assert any(line.startswith("    and ") and line.endswith("more cards") for line in lines)


def test_a_finding_in_a_large_table_is_shown() -> None:
    document = unlike(400)
    document["server_list"][377]["device"][5]["device_ip"] = "x"
    text = as_text(drawn(document), 80)
    assert "  node377\n" in text
    assert "card 5: HK301" in text


def test_the_same_finding_many_times_is_reported_once() -> None:
    document = many(30)
    for server in document["server_list"]:
        server["device"][0]["device_ip"] = "x"
    told = [line for line in as_text(drawn(document), 200).split("\n") if line.startswith("HK301")]
    assert len(told) == 1
    assert told[0].endswith("(29 more of HK301)")
