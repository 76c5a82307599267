"""A diagnosis in Chinese: for a person, every sentence; for a program, none."""

import re
from collections.abc import Iterator

import pytest

from hccl_kit.base.translation import speak
from hccl_kit.diagnosis.report.html import as_html
from hccl_kit.diagnosis.report.json_form import as_json
from hccl_kit.diagnosis.report.masked import masked
from hccl_kit.diagnosis.report.text import as_text
from hccl_kit.diagnosis.verdict.judge import judge
from tests.diagnosis.verdict.jobs import PLANTED

ENGLISH = re.compile(r"[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}")
"""Three words in a row: a part of a sentence."""
COMMAND = re.compile(r"`[^`]*`|: dmesg[^;]*")


@pytest.fixture
def _chinese() -> Iterator[None]:
    speak("zh")
    yield
    speak("en")


@pytest.mark.usefixtures("_chinese")
@pytest.mark.parametrize("kind", sorted(PLANTED))
def test_people_read_chinese_and_programs_english(kind: str) -> None:
    logs, _ = PLANTED[kind]
    evidence = logs().evidence()
    for diagnosis in (judge(evidence), masked(judge(evidence))):
        shown = as_text(diagnosis)
        assert not ENGLISH.search(COMMAND.sub("", shown)), shown
        assert re.search("[一-鿿]{4}", shown)
        assert not re.search("[一-鿿]", as_json(diagnosis))
        page = re.sub(r"<style>.*?</style>|<[^>]*>", "", as_html(diagnosis), flags=re.DOTALL)
        assert not ENGLISH.search(COMMAND.sub("", page)), page
