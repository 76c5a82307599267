"""The table of known errors: each row is complete, and no pattern is slow."""

import re
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hccl_kit.diagnosis.catalogue import CATALOGUE
from hccl_kit.diagnosis.errors.answers import answer_of, candidates
from hccl_kit.diagnosis.errors.row import ROLES, KnownError, blanks_of, known, literal_of, word_of, words_of
from hccl_kit.diagnosis.errors.table import BY_CODE, CODES, ROWS, codes_in, fix, meaning
from hccl_kit.diagnosis.facts import Located
from hccl_kit.diagnosis.known_lines import MAX_LINE, explain_lines
from tests.diagnosis.logs.lines import facts_of

PATTERNS = [(row, pattern) for row in ROWS for pattern in row.all_patterns]


def test_a_row_is_the_text_that_a_person_writes() -> None:
    """Sentences go on with a blank, and patterns without one."""
    text = """pointer EI0006 EI0010 vague
two cards
    did not connect
line: a{1,3}
    b
line: c
says: {n} of
    two
fix: say: no
"""
    row = KnownError("two cards did not connect", "pointer", ("EI0006", "EI0010"), ("a{1,3}b", "c"), vague=True)
    assert known(text) == row._replace(says=("{n} of two",), fix="say: no")
    with pytest.raises(ValueError, match="causes: none"):
        known("cause\nwhat it is\ncauses: none\n")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{'-'.join(row.codes[:1])} {row.what[:40]}")
def test_a_row_is_complete_and_only_refers_to_existing_names(row: KnownError) -> None:
    assert row.what and not row.what.endswith(".")
    assert row.codes or row.patterns
    assert row.role in ROLES
    assert set(row.rules) <= {rule.id for rule in CATALOGUE}
    groups = {name for pattern in row.all_patterns for name in re.compile(pattern).groupindex}
    special = {"value", "variable", "expected", "untold", "itself", "outside", "mostly"}
    assert {name for sentence in row.says for name in blanks_of(sentence)} <= groups | special
    if row.role in ("cause", "pointer", "symptom", "result"):
        assert row.rules or row.variable or row.causes or row.says
        assert row.fix or row.rules or row.variable or any("fix:" in sentence for sentence in row.says)


def test_the_example_of_each_row_is_explained_by_it_and_states_its_fact() -> None:
    """A code in the line may tell more than the message around it."""
    for row in ROWS:
        if not row.patterns:
            assert not row.example and not row.fact
            continue
        answer = answer_of(row.example, candidates(row.example), of_ascend=True)
        assert answer is not None, row.what
        assert answer.row is row or not answer.row.patterns, (row.what, answer.row.what)
        facts = [fact for fact in facts_of(f"{row.example}\n") if not isinstance(fact, Located)]
        assert facts or not row.fact, row.what


@pytest.mark.parametrize(("row", "pattern"), PATTERNS, ids=lambda part: part[:40] if isinstance(part, str) else "")
def test_a_row_may_be_in_every_text_with_a_match(row: KnownError, pattern: str) -> None:
    found: list[str] = []

    @settings(max_examples=5, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.from_regex(pattern))
    def law(line: str) -> None:
        text = f"word{line}word\nother"
        assert row.may_be_in(text, words_of(text))
        found.append(line)

    law()
    assert found


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\[a\] word", "[a] word"),
        (r"abc{0,2}d", "ab"),
        (r"abc?d", "ab"),
        (r"abc*d", "ab"),
        (r"abc+d", "abc"),
        (r"one|other", ""),
        (r"(?:one|other) end", " end"),
        (r"a\d{1,3}bcd[xyz]e", "bcd"),
        (r"(?P<n>[^\]\n]{1,9})\], x", "], x"),
    ],
)
def test_finds_the_longest_literal_of_a_pattern(pattern: str, text: str) -> None:
    assert literal_of(pattern) == text


@pytest.mark.parametrize(
    ("pattern", "word"), [(r"one other, third", "other"), (r"\[one\]", "one"), (r"one other", ""), (r"one_x", "")]
)
def test_finds_the_longest_word_that_ends_inside_the_literal(pattern: str, word: str) -> None:
    assert word_of(pattern) == word


@pytest.mark.parametrize(("row", "pattern"), PATTERNS, ids=lambda part: part[:40] if isinstance(part, str) else "")
def test_no_line_makes_a_pattern_slow(row: KnownError, pattern: str) -> None:
    part = literal_of(pattern) or "tag["
    for hostile in (part, f"{part}[", f"{part} tag[x] [1] ", "[", " ", "| 1.1.1.1(1) ", "a"):
        line = (hostile * MAX_LINE)[:MAX_LINE]
        start = time.thread_time()  # processor time, so that other programs do not count
        re.search(pattern, line)
        assert time.thread_time() - start < 0.5, hostile


def test_every_code_of_hccl_is_known() -> None:
    assert {f"EI{number:04}" for number in range(1, 21)} | {f"EJ{number:04}" for number in range(1, 5)} <= set(CODES)
    assert {f"HcclResult {number}" for number in range(1, 25)} <= BY_CODE.keys()


@pytest.mark.parametrize("code", ["EI0006", "HcclResult 9", "507048"])
def test_meaning_and_fix_of_a_code_are_those_of_the_table(code: str) -> None:
    assert meaning(code) == BY_CODE[code].what
    assert fix(code) == BY_CODE[code].fix


def test_an_unknown_code_has_no_meaning_and_no_fix() -> None:
    assert (meaning("EI4711"), fix("EI4711")) == (None, None)


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("[ERROR] HCCL(7,python): call trace: hcclRet -> 13", ["HcclResult 13"]),
        ("return[0x0000000005000004]", ["HcclResult 4"]),
        ("errNo[0x0000000005000013]", ["HcclResult 19"]),
        ("errNo[0x000000000501000d]", ["HcclResult 13"]),
        ("errNo[0x0000000000000009]", ["HcclResult 9"]),
        ("[ERROR] HCCL(7,python): init failed, ret[9].", ["HcclResult 9"]),
        ("[ERROR] RUNTIME(7,python): init failed, ret[9].", []),
        ("[ERROR] HCCP(7,hccp_service.bin): sdid fail, ret:1", []),
        ('  File "hccl_tools.py", in main: return 1', []),
        ("Call HcclCommInitRootInfo failed, ret 9", ["HcclResult 9"]),
        ("HCCL function error: HcclAllReduce(x), error code is 11", ["HcclResult 11"]),
        ("NPU function error: aclrtSetDevice, error code is 107001", ["107001"]),
        ("error code is 11", []),
        ("HCCL_E_NETWORK", ["HCCL_E_NETWORK"]),
        ("HcclResult 25 and hcclRet -> 77", []),
        ("EI0006 and EI4711", ["EI0006"]),
        ("EE9999: Inner Error!", ["EE9999"]),
        ("rtStreamSynchronize failed, runtime result = 507046.", ["507046"]),
        ("npu took 507046 us", []),
        ("[PID: 7] 2025-01-01-00:00:00.000.000 Get_Socket_Timeout(EI0006): x", ["EI0006"]),
    ],
)
def test_codes_are_recognised_in_all_notations(line: str, codes: list[str]) -> None:
    assert list(codes_in(line)) == codes


@given(st.text(max_size=300) | st.lists(st.sampled_from([pattern for _, pattern in PATTERNS])).map("".join))
def test_any_line_is_explained_or_unknown(line: str) -> None:
    found = explain_lines([line])
    assert found is None or found.answers
