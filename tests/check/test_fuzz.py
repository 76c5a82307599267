"""Hostile input: no exception and no hang between bytes and report, and every position lies within the text.

The short form lets hypothesis damage tables and shrink what breaks; the long form (`./scripts/test.sh --long`) runs
10,000 inputs from a fixed seed.
"""

import json
import random
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hccl_kit.check.engine import check_text
from hccl_kit.check.fix import fix_text
from hccl_kit.check.report.github import as_github
from hccl_kit.check.report.json_form import as_json
from hccl_kit.check.report.sarif import as_sarif
from hccl_kit.check.report.text import as_text
from hccl_kit.check.result import Report
from hccl_kit.table.document import decode
from hccl_kit.table.pointer import Span
from hccl_kit.table.products import PRODUCTS, Product
from tests.damage import DAMAGES, SEEDS, Numbers, broken, damaged

MOST_SECONDS = 3.0
"""For one input; the largest has some hundred kilobytes."""


def look(data: bytes, product: Product | None) -> Report:
    """Check, report and fix one input; asserts every invariant on the way."""
    begin = time.process_time()
    report = check_text(data, "t.json", product)
    source = decode(data)
    as_text(report, source, color=True)
    json.loads(as_json([report]))
    json.loads(as_sarif([report]))
    as_github([report])
    outcome = fix_text(data, "t.json", product)
    again = fix_text(outcome.text, "t.json", product)
    assert time.process_time() - begin < MOST_SECONDS
    lines = source.split("\n")
    for found in report.findings:
        for span in (found.span, *(other.span for other in found.related)):
            assert lies_in(span, lines), found
    if outcome.applied:
        assert (again.text, again.applied) == (outcome.text, ())
    assert outcome.report.ok or not report.ok
    assert outcome.report.table or not report.table
    return report


def lies_in(span: Span, lines: list[str]) -> bool:
    """Whether line and column exist; a mark for missing text may be one character behind the end."""
    if not 1 <= span.line <= len(lines):
        return False
    length = len(lines[span.line - 1])
    return 1 <= span.column <= length + 1 and 0 <= span.width <= length + 2 - span.column


def test_every_mutation_of_values_is_still_json() -> None:
    for which in range(6):
        for style in range(42):
            json.loads(broken(style, [(which, (style, style, style))], style).decode("utf-8-sig"))


numbers = st.tuples(*[st.integers(0, 2**20)] * 3)
steps = st.lists(st.tuples(st.integers(0, len(DAMAGES) - 1), numbers), min_size=1, max_size=5)
products = st.none() | st.sampled_from(PRODUCTS)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, len(SEEDS) - 1), steps, products)
def test_a_damaged_table_is_checked_reported_and_fixed(
    seed: int, chosen: list[tuple[int, Numbers]], product: Product | None
) -> None:
    look(damaged(seed, chosen), product)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, len(SEEDS) - 1), steps, st.integers(0, 41), products)
def test_a_broken_table_is_checked_reported_and_fixed(
    seed: int, chosen: list[tuple[int, Numbers]], style: int, product: Product | None
) -> None:
    look(broken(seed, chosen, style), product)


@pytest.mark.long
def test_ten_thousand_damaged_tables() -> None:
    chance = random.Random(20240501)
    read = refused = fixable = 0
    for count in range(10_000):
        chosen = [
            (
                chance.randrange(len(DAMAGES)),
                (chance.randrange(2**20), chance.randrange(2**20), chance.randrange(2**20)),
            )
            for _ in range(chance.randint(1, 5))
        ]
        seed, style, product = (
            chance.randrange(len(SEEDS)),
            chance.randrange(42),
            chance.choice([None] * 6 + [*PRODUCTS]),
        )
        data = damaged(seed, chosen) if count % 3 == 0 else broken(seed, chosen, style)
        try:
            report = look(data, product)
        except Exception as error:
            raise AssertionError(f"input {count}: {seed}, {chosen}, {style}, {product}") from error
        read += report.table is not None
        refused += not report.ok
        fixable += any(found.fix for found in report.findings)
    # Mutations that are all unreadable or all valid would test little.
    assert read > 700
    assert 5000 < refused < 9900
    assert fixable > 500
