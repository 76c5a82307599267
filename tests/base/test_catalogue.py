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
from tests.places import ROOT

ENGLISH_ONLY = {"noun", "verb", "pronoun", "words"}
"""Placeholders for English words, which a translation leaves out: their form depends on a number, or the system's."""
PO = CATALOGUE.with_suffix(".po")
UPDATE = "python scripts/catalogue.py, then translate hccl_kit.po and run it again"


def entries(path: Path) -> dict[str, Message]:
    with path.open("rb") as file:
        return {str(entry.context): entry for entry in read_po(file) if entry.id}


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


@pytest.fixture(scope="module")
def current(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Message]:
    """The entries of the messages that are in the sources now."""
    folder = tmp_path_factory.mktemp("catalogue")
    subprocess.run([sys.executable, "scripts/catalogue.py", str(folder)], cwd=ROOT, check=True)
    return entries(folder / f"{CATALOGUE.stem}.po")


def test_the_catalogue_has_the_messages_of_the_package(current: dict[str, Message]) -> None:
    kept = entries(PO)
    assert current.keys() ^ kept.keys() == set(), UPDATE
    assert [id_ for id_, entry in current.items() if kept[id_].id != entry.id] == [], UPDATE


def test_every_message_is_translated(current: dict[str, Message]) -> None:
    missing: dict[str, list[str]] = {}
    for id_, entry in current.items():
        if not entry.string or entry.fuzzy:
            missing.setdefault(id_.partition(".")[0], []).append(id_)
    assert missing == {}, UPDATE


def test_translations_have_the_placeholders_of_the_english_text() -> None:
    different = {}
    for id_, entry in entries(PO).items():
        english, chinese = fields(str(entry.id)), fields(str(entry.string))
        if not chinese <= english <= chinese | ENGLISH_ONLY:
            different[id_] = english ^ chinese
    assert different == {}


def test_programs_read_what_people_edit() -> None:
    with CATALOGUE.open("rb") as file:
        compiled = GNUTranslations(file)
    stale = [
        id_ for id_, entry in entries(PO).items() if compiled.pgettext(id_, str(entry.id)) != (entry.string or entry.id)
    ]
    assert stale == [], UPDATE


def test_chinese_is_set_apart_from_latin_letters_and_has_its_own_punctuation() -> None:
    han = "[\u4e00-\u9fff]"
    wrong = re.compile(rf"{han}[A-Za-z0-9]|[A-Za-z0-9]{han}|{han}[,;:!?(]|[,;!?)]{han}|！|。$")
    assert {id_: entry.string for id_, entry in entries(PO).items() if wrong.search(str(entry.string))} == {}
