"""The commands of every documentation page are run in order, and must print the documented output."""

import re
from pathlib import Path

import pytest

from tests.docs.blocks import Block, blocks_of, fits, with_texts
from tests.docs.desk import Desk, follow, results, trains
from tests.docs.pages import IN_CHINESE, IN_ENGLISH, TUTORIAL, name_of
from tests.places import ROOT

KINDS = {"console", "file", "run", "launcher", "tested", "excerpt"}
SHELL = ("bash", "console", "sh")


def pages() -> list[object]:
    """Pages whose commands are run; the Chinese pages have the same. The tutorial has a separate test."""
    return [pytest.param(page, id=name_of(page)) for page in IN_ENGLISH if page != TUTORIAL]


@pytest.mark.parametrize("page", [*IN_ENGLISH, *IN_CHINESE], ids=name_of)
def test_every_block_declares_how_it_is_tested(page: Path) -> None:
    blocks = blocks_of(page)
    assert len(blocks) == page.read_text(encoding="utf-8").count("\n```") / 2
    assert [block.line for block in blocks if block.kind not in KINDS and block.language in SHELL] == []
    assert [block.value for block in blocks if block.kind == "tested" and not (ROOT / block.value).exists()] == []


@pytest.mark.parametrize("page", IN_CHINESE, ids=name_of)
def test_a_translation_shows_the_same_blocks(page: Path, request: pytest.FixtureRequest) -> None:
    """Except for the comments, which are translated."""
    pairs = list(zip(blocks_of(page), blocks_of(IN_CHINESE[page]), strict=True))
    if request.config.getoption("--update-golden"):
        texts = [ours.text if _code(ours) == _code(theirs) else theirs.text for ours, theirs in pairs]
        page.write_text(with_texts(page, texts), encoding="utf-8")
    assert [_code(block) for block in blocks_of(page)] == [_code(theirs) for _, theirs in pairs]


@pytest.mark.parametrize("page", IN_CHINESE, ids=name_of)
def test_a_translation_is_complete(page: Path) -> None:
    """It has as many headings, paragraphs, table rows and list items as the English page, in the same order."""
    assert _outline(page) == _outline(IN_CHINESE[page])


@pytest.mark.parametrize("page", IN_CHINESE, ids=name_of)
def test_the_tables_of_a_translation_have_the_same_numbers(page: Path) -> None:
    assert _numbers(page) == _numbers(IN_CHINESE[page])


def test_a_missing_row_or_paragraph_is_detected(tmp_path: Path) -> None:
    page, other = tmp_path / "a.md", tmp_path / "b.md"
    page.write_text("# A\n\n| a | b |\n|---|---|\n| c | d |\n\nOne\ntwo.\n\nThree.\n")
    for text, is_same in (
        ("# B\n\n| e | f |\n|---|---|\n| g | h |\n\nFour.\n\nFive\nsix.\n", True),
        ("# B\n\n| e | f |\n|---|---|\n\nFour.\n\nFive.\n", False),
        ("# B\n\n| e | f |\n|---|---|\n| g | h |\n\nFour\nfive.\n", False),
    ):
        other.write_text(text)
        assert (_outline(page) == _outline(other)) == is_same, text


def _numbers(page: Path) -> list[list[str]]:
    """The numbers and ids (96, 1,024, HK664) of each table row; a translated sentence may have another order."""
    rows = re.findall(r"^\|.*", _prose(page), re.MULTILINE)
    return [sorted(re.findall(r"(?<![A-Za-z0-9])[A-Z]*[0-9]+(?:[.,][0-9]+)*", row)) for row in rows]


def _outline(page: Path) -> list[str]:
    """The markers of each heading, row, item and paragraph ("") outside of code; a row also has its column count."""
    starts = re.findall(r"^(#+ |- |[0-9]+\. |\|.*)|(?<=\n\n)(?=.)", _prose(page), re.MULTILINE)
    return [f"row of {start.count(' | ') + 1}" if start.startswith("|") else start for start in starts]


def _prose(page: Path) -> str:
    """The page without its code blocks."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def _code(block: Block) -> tuple[str, str, str, str]:
    comment = r"(^|  )# .*$" if block.language != "console" else "(?!)"
    return block.language, block.kind, block.value, re.sub(comment, "", block.text, flags=re.MULTILINE)


@pytest.mark.parametrize("page", pages())
def test_the_documented_output_of_a_page_is_correct(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    follow(page, tmp_path, update=request.config.getoption("--update-golden"), follows=lambda block: not trains(block))


@pytest.mark.long
@pytest.mark.train
def test_the_documented_output_of_training_commands_is_correct(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A long test: the tutorial, which is always run, has the same commands, and no other block uses their results."""
    (page,) = (page for page in IN_ENGLISH if page != TUTORIAL and any(map(trains, blocks_of(page))))
    follow(page, tmp_path, update=request.config.getoption("--update-golden"), follows=trains)


def test_wrong_documented_output_is_detected(tmp_path: Path) -> None:
    """A different output, and a command that fails."""
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo a\nb\n```\n<!-- run -->\n```bash\nfalse\n```\n")
    desk = Desk(tmp_path)
    found = [pair for block in blocks_of(page) for pair in results(desk, block)]
    assert [fits(*pair) for pair in found] == [False, False]


def test_three_dots_match_anything() -> None:
    assert fits("took ... s\n...\nend\n", "took 1.2 s\nx\ny\nend\n")
    assert fits("...\nend\n", "end\n")
    assert not fits("took ... s\n", "took 1.2 min\n")
