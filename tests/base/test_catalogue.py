"""The Chinese catalogue: complete, current, with the placeholders of the English texts."""

import re
import subprocess
import sys
from gettext import GNUTranslations
from pathlib import Path
from string import Formatter

import pytest
from babel.messages.catalog import Message
from babel.messages.pofile import read_po

from hccl_kit.base.translation import CATALOGUE
from hccl_kit.check.rule import SECTIONS
from hccl_kit.diagnosis.errors.row import FIX, TEXTS
from hccl_kit.diagnosis.errors.table import ROWS
from tests.places import ROOT

ENGLISH_ONLY = {"noun", "verb", "pronoun", "words"}
"""Placeholders for English words, which a translation leaves out: their form depends on a number, or the system's."""
SENTENCES = {sentence.removeprefix(FIX) for row in ROWS for sentence in row.says}
"""The texts of rows that have placeholders; braces in other ones are those of a command."""
PO = CATALOGUE.with_suffix(".po")
UPDATE = "python scripts/catalogue.py, then translate hccl_kit.po and run it again"


def entries(path: Path) -> dict[tuple[str, str], Message]:
    """By id and English text: the texts of a table share one id."""
    with path.open("rb") as file:
        return {(str(entry.context), str(entry.id)): entry for entry in read_po(file) if entry.id}


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


@pytest.fixture(scope="module")
def current(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Message]:
    """The entries of the messages that are in the sources now."""
    folder = tmp_path_factory.mktemp("catalogue")
    subprocess.run([sys.executable, "scripts/catalogue.py", str(folder)], cwd=ROOT, check=True)
    return entries(folder / f"{CATALOGUE.stem}.po")


def test_the_catalogue_has_the_messages_of_the_package(current: dict[tuple[str, str], Message]) -> None:
    assert current.keys() ^ entries(PO).keys() == set(), UPDATE


def test_every_message_is_translated(current: dict[tuple[str, str], Message]) -> None:
    missing: dict[str, list[str]] = {}
    for (id_, _), entry in current.items():
        if id_ != TEXTS and (not entry.string or entry.fuzzy):
            missing.setdefault(id_.partition(".")[0], []).append(id_)
    assert missing == {}, UPDATE


def test_translations_have_the_placeholders_of_the_english_text() -> None:
    different = {}
    for (id_, template), entry in entries(PO).items():
        if entry.string and (id_ not in (TEXTS, SECTIONS) or template in SENTENCES):
            english, chinese = fields(template), fields(str(entry.string))
            if not chinese <= english <= chinese | ENGLISH_ONLY:
                different[template] = english ^ chinese
    assert different == {}


def test_translations_keep_the_names_of_the_english_text() -> None:
    name = re.compile(r"\b(?:E[A-Z][0-9]{4}|HK[0-9]{3}|[A-Z][A-Z0-9]*_[A-Z0-9_]+)\b|--[a-z][a-z-]+")
    lost = {}
    for (_, template), entry in entries(PO).items():
        if names := {word for word in name.findall(template) if entry.string and word not in str(entry.string)}:
            lost[template] = names
    assert lost == {}


def test_programs_read_what_people_edit() -> None:
    with CATALOGUE.open("rb") as file:
        compiled = GNUTranslations(file)
    stale = [
        template
        for (id_, template), entry in entries(PO).items()
        if compiled.pgettext(id_, template) != (entry.string or template)
    ]
    assert stale == [], UPDATE


def test_chinese_is_set_apart_from_latin_letters_and_has_its_own_punctuation() -> None:
    han = "[\u4e00-\u9fff]"
    wrong = re.compile(rf"{han}[A-Za-z0-9]|[A-Za-z0-9]{han}|{han}[,;:!?(]|[,;!?)]{han}|！|。$")
    assert {id_: entry.string for id_, entry in entries(PO).items() if wrong.search(str(entry.string))} == {}
