"""docs/sources.md has each fact that the repository refers to by number."""

import re

from tests.places import ROOT

PAGE = ROOT / "docs" / "sources.md"
FACT = re.compile(r"\bR([1-9][0-9]?)\b")
TEXTS = [
    path
    for folder in ("hccl_kit", "docs", "tests")
    for ending in ("py", "md", "sh")
    for path in (ROOT / folder).rglob(f"*.{ending}")
]


def test_each_number_has_one_row_with_a_source() -> None:
    rows = [line.split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| <a id=")]
    assert [row[0] for row in rows] == [f'| <a id="r{number}"></a>R{number}' for number in range(1, 35)]
    assert [row[0] for row in rows if len(row) != 5 or not all(cell.strip(" |") for cell in row)] == []


def test_each_referenced_number_has_a_row() -> None:
    used = {int(number) for path in TEXTS for number in FACT.findall(path.read_text(encoding="utf-8"))}
    assert used
    assert used <= set(range(1, 35))


def test_the_rules_link_to_their_facts() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "rules").iterdir())
    links = re.findall(r"\[R(\d+)\]\(\.\./sources\.md#r(\d+)\)", text)
    assert links
    assert all(shown == target for shown, target in links)
    assert FACT.findall(re.sub(r"\[R\d+\]\([^)]*\)", "", text)) == []
