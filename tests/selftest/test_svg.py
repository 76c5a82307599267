"""The drawing of the matrix of pairs."""

import re
from xml.etree import ElementTree

import pytest

from hccl_kit.base.translation import speak
from hccl_kit.selftest.evidence import SLOW
from hccl_kit.selftest.measured import Measured
from hccl_kit.selftest.svg import as_svg
from hccl_kit.selftest.verdict import judge
from tests.selftest.results import healthy
from tests.selftest.test_text import harmed


@pytest.mark.parametrize(
    "measured", [healthy(1, 1), healthy(2, 8), harmed(), healthy(40, 4)], ids=["one", "two", "harmed", "many"]
)
def test_the_drawing_is_xml_with_a_cell_for_each_pair(measured: Measured) -> None:
    faults = judge(measured)
    root = ElementTree.fromstring(as_svg(measured, faults, table="t<&>.json", slow=SLOW))
    titles = [one.text or "" for one in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles[0] == "t<&>.json"
    shown = len(measured.cards) if len(measured.cards) <= 96 else 40
    assert len([title for title in titles if " and " in title]) <= shown**2
    if len(measured.cards) <= 8:
        assert len([title for title in titles if " and " in title]) == 2 * len(measured.links)
    texts = [one.text or "" for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert any("slow" in one for one in texts) == bool(faults)


def test_the_drawing_is_in_the_language_of_the_user() -> None:
    speak("zh")
    try:
        drawing = as_svg(harmed(), judge(harmed()), table="t", slow=SLOW)
    finally:
        speak("en")
    texts = re.findall(">([^<>]+)</(?:text|title)>", drawing)
    assert any("红框：有问题" in text for text in texts)
    assert [text for text in texts if re.search("[a-z]{2,} [a-z]{2,}", text)] == []


def test_bad_pairs_have_a_red_frame() -> None:
    assert as_svg(harmed(), judge(harmed()), table="t", slow=SLOW).count('stroke="#c62828"') == 4
    assert 'stroke="#c62828"' not in as_svg(healthy(3, 1), (), table="t", slow=SLOW)
