"""What differs from the rules of the site, and what is not known. `test_golden` has each kind of fact."""

from pathlib import Path

import pytest

from hccl_kit.preflight.answer import Answer
from hccl_kit.preflight.job import PreflightJob
from hccl_kit.preflight.machine import Machine
from hccl_kit.preflight.site import Expected, Site
from hccl_kit.preflight.site_rules import judged
from hccl_kit.table.products import any_product, find_product
from tests.preflight.nodes import read, table_value

CARDS = {str(card): {"chip": "910B3", "health": "OK", "link": "UP"} for card in range(8)}
MACHINE = Machine("h", {"driver": "25.2.0"}, CARDS, {}, {"product": "a2"}, {})
SITE = {
    "a2": (
        Expected("error", "cards", "count", ("8", "16"), "site.yaml:1:1"),
        Expected("warning", "cards", "link", ("UP",), "site.yaml:2:1"),
        Expected("error", "versions", "cann", ("8.3.RC1", "8.3.RC2"), "site.yaml:3:1"),
    )
}


def job(site: Site, product: str | None = None) -> PreflightJob:
    chosen = find_product(product) if product else any_product()
    return PreflightJob(
        "t.json",
        b"",
        read(table_value()),
        chosen,
        Path("/t.json"),
        None,
        frozenset(),
        strict=False,
        quiet=False,
        site=site,
    )


def lines(answer: Answer) -> list[str]:
    return [f"{finding.rule} {finding.severity}: {finding.message}" for finding in answer.report.findings]


def test_each_finding_has_the_severity_of_the_file() -> None:
    cards = {**CARDS, "2": {**CARDS["2"], "link": "DOWN"}, "3": {**CARDS["3"], "link": "DOWN"}}
    answer = judged(Answer("a"), job(SITE), MACHINE._replace(cards=cards))
    assert lines(answer) == [
        'HK672 warning: cards 2 to 3: link is "DOWN"; site.yaml:2:1 accepts "UP"',
        'HK672 error: versions: cann is "not installed"; site.yaml:3:1 accepts "8.3.RC1" or "8.3.RC2"',
    ]
    assert (answer.report.checked, answer.report.skipped, answer.report.ok) == (("HK672",), (), False)


def test_a_named_product_goes_before_that_of_the_cards() -> None:
    answer = judged(Answer("a"), job(SITE, "a3"), MACHINE)
    assert answer.report.skipped == (("HK672", "the site rules have no machines of product a3"),)


@pytest.mark.parametrize("machine", ["no answer in 60 s", MACHINE._replace(settings={})])
def test_what_is_not_known_is_not_judged(machine: Machine | str) -> None:
    report = judged(Answer("a"), job(SITE), machine).report
    ((rule, reason),) = report.skipped
    assert (rule, report.findings, report.checked) == ("HK672", (), ())
    assert reason in ("no answer in 60 s", "the site rules have no machines of product auto")


def test_a_server_that_did_not_answer_stays_as_it_is() -> None:
    silent = Answer("a", error="no route to host")
    assert judged(silent, job(SITE), "no route to host") == silent
