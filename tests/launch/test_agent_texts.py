"""The texts of the agent in the language of the user, and what `diagnose` reads in them."""

from collections.abc import Iterator

import pytest

from hccl_kit.agent import report
from hccl_kit.agent.job import Cause, Exited, Hung
from hccl_kit.base.translation import speak
from hccl_kit.launch.agent_texts import agent_texts
from tests.diagnosis.logs.lines import facts_of

CAUSES = [Exited(3, 137), Exited(3, 1), Hung((3,), 5), Hung((0, 3), 5)]


@pytest.fixture
def chinese() -> Iterator[dict[str, str]]:
    speak("zh")
    yield agent_texts()
    speak("en")


def test_english_needs_no_texts() -> None:
    assert agent_texts() == {}


def said(texts: dict[str, str], cause: Exited | Hung) -> str:
    end = report.End("rank_3.log", ("no error",))
    return report.failure(texts, cause, {0: 4, 3: 7}, "10.0.0.1", heartbeat=1e6, end=end)


@pytest.mark.parametrize("cause", CAUSES, ids=repr)
def test_diagnose_reads_what_a_job_printed_in_chinese(chinese: dict[str, str], cause: Cause) -> None:
    assert isinstance(cause, (Exited, Hung))
    english, translated = (said(texts, cause) for texts in ({}, chinese))
    assert "10.0.0.1 的 " in translated
    facts = [[type(fact), getattr(fact, "rank", None)] for fact in facts_of(english)]
    assert facts
    assert [[type(fact), getattr(fact, "rank", None)] for fact in facts_of(translated)] == facts
