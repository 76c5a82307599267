"""All rules are applied to a node, whatever a check does."""

from collections.abc import Iterator

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.check.rule import Rule
from hccl_kit.preflight.answer import MAX_FINDINGS, inspect
from hccl_kit.preflight.node import NO_SERVER, CannotTellError, Node
from hccl_kit.table.finding import Finding
from tests.preflight.nodes import node


def finds_one(_node: Node) -> Iterator[Finding]:
    """A check with one finding."""
    yield Finding("found", "do this", device=3)


def finds_and_stops(_node: Node) -> Iterator[Finding]:
    """A check with one finding and an error after it."""
    yield Finding("found")
    raise KitError("the tool is gone", hint="install it")


def has_nothing(_node: Node) -> Iterator[Finding]:
    """A check that does not apply."""
    yield from ()
    raise CannotTellError("no NPU here")


def reads_what_is_closed(_node: Node) -> Iterator[Finding]:
    """A check without permission."""
    yield from ()
    raise PermissionError(13, "Permission denied", "/proc/1/fd")


def finds_many(_node: Node) -> Iterator[Finding]:
    """A check with too many findings."""
    yield from (Finding(str(n)) for n in range(10_000_000))


def test_a_finding_gets_the_attributes_of_its_rule() -> None:
    rules = [Rule("HK601", "a", finds_one, hccl_error="EI0014"), Rule("HK602", "b", finds_one, severity="warning")]
    report = inspect(node(), rules)
    first, second = report.findings
    assert (first.rule, first.name, first.severity, first.hccl_error) == ("HK601", "a", "error", "EI0014")
    assert (first.message, first.hint, first.device) == ("found", "do this", 3)
    assert (second.severity, second.hccl_error) == ("warning", None)
    assert (report.checked, report.skipped, report.ok) == (("HK601", "HK602"), (), False)


def test_an_error_that_stops_a_check_is_a_finding_after_its_other_findings() -> None:
    rules = [
        Rule("HK601", "a", finds_and_stops),
        Rule("HK602", "b", reads_what_is_closed),
        Rule("HK603", "c", finds_one),
    ]
    found = [(finding.rule, finding.message) for finding in inspect(node(), rules).findings]
    assert found == [
        ("HK601", "found"),
        ("HK601", "the tool is gone"),
        ("HK602", "/proc/1/fd: Permission denied"),
        ("HK603", "found"),
    ]


def test_a_check_that_does_not_apply_is_skipped_with_a_reason() -> None:
    report = inspect(node(), [Rule("HK601", "a", has_nothing), Rule("HK602", "b", finds_many)])
    assert report.skipped == (("HK601", "no NPU here"),)
    assert len(report.findings) == MAX_FINDINGS + 1


@pytest.mark.parametrize(("server", "skipped"), [(0, ()), (None, (("HK620", NO_SERVER),))])
def test_rules_of_cards_need_a_server(server: int | None, skipped: tuple[tuple[str, str], ...]) -> None:
    report = inspect(
        node(server=server), [Rule("HK619", "a", finds_one), Rule("HK620", "b", finds_one, needs_server=True)]
    )
    assert report.skipped == skipped
    assert len(report.findings) == 2 - len(skipped)
