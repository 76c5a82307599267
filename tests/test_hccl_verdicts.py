"""The same verdict as HCCL's own parser, on random tables that it was asked about (shared/corpus/hccl_verdicts)."""

from collections import Counter

import pytest

from benchmarks.hccl_verdicts import GIVEN, Difference, differences

OURS = ("1.0", "1.1", "1.2")


@pytest.fixture(scope="module")
def judged() -> list[Difference | None]:
    return list(differences())


pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not GIVEN.exists(), reason="the corpus is not beside this repository"),
]


def test_what_hccl_refuses_has_an_error(judged: list[Difference | None]) -> None:
    assert [one for one in judged if one and one.way == "lax" and one.kind in OURS] == []


def test_what_hccl_takes_is_refused_for_argued_reasons_only(judged: list[Difference | None]) -> None:
    strict = Counter(one.rules for one in judged if one and one.way == "strict" and one.kind in OURS)
    assert strict.total() <= len(judged) / 100
    argued = {"HK102", "HK103", "HK104", "HK209", "HK215", "HK308"}
    assert {rule for rules in strict for rule in rules} <= argued


def test_the_first_code_is_that_of_hccl(judged: list[Difference | None]) -> None:
    assert [one for one in judged if one and one.way == "code" and one.kind in OURS] == []
