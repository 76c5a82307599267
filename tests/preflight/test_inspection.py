"""A node is held to every rule, whatever a check does."""

from collections.abc import Iterator

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.preflight.inspection import MAX_FAULTS, NO_SERVER, inspect
from hccl_kit.preflight.node import CannotTellError, Fault, Node, row
from hccl_kit.preflight.rules import NODE_RULES
from tests.preflight.nodes import node


def finds_one(_node: Node) -> Iterator[Fault]:
    """One."""
    yield Fault("found", "do this", device=3)


def finds_and_stops(_node: Node) -> Iterator[Fault]:
    """One, then no more can be asked."""
    yield Fault("found")
    raise KitError("the tool is gone", hint="install it")


def has_nothing(_node: Node) -> Iterator[Fault]:
    """Nothing to look at."""
    yield from ()
    raise CannotTellError("no NPU here")


def reads_what_is_closed(_node: Node) -> Iterator[Fault]:
    """The system says no."""
    yield from ()
    raise PermissionError(13, "Permission denied", "/proc/1/fd")


def finds_many(_node: Node) -> Iterator[Fault]:
    """More than anybody reads."""
    yield from (Fault(str(n)) for n in range(10_000_000))


def test_a_fault_gets_what_its_rule_says() -> None:
    rules = [row("HK601", "a", finds_one, hccl_error="EI0014"), row("HK602", "b", finds_one, severity="warning")]
    report = inspect(node(), rules)
    first, second = report.findings
    assert first == ("HK601", "error", "found", "do this", "EI0014", 3)
    assert (second.severity, second.hccl_error) == ("warning", None)
    assert (report.checked, report.skipped, report.ok) == (("HK601", "HK602"), (), False)


def test_what_stops_a_check_is_a_finding_after_what_it_found() -> None:
    rules = [row("HK601", "a", finds_and_stops), row("HK602", "b", reads_what_is_closed), row("HK603", "c", finds_one)]
    found = [(one.rule, one.message) for one in inspect(node(), rules).findings]
    assert found == [
        ("HK601", "found"),
        ("HK601", "the tool is gone"),
        ("HK602", "/proc/1/fd: Permission denied"),
        ("HK603", "found"),
    ]


def test_a_check_with_nothing_to_look_at_is_skipped_with_its_reason() -> None:
    report = inspect(node(), [row("HK601", "a", has_nothing), row("HK602", "b", finds_many)])
    assert report.skipped == (("HK601", "no NPU here"),)
    assert len(report.findings) == MAX_FAULTS + 1


@pytest.mark.parametrize(("server", "skipped"), [(0, ()), (None, (("HK620", NO_SERVER),))])
def test_rules_of_cards_need_a_server(server: int | None, skipped: tuple[tuple[str, str], ...]) -> None:
    report = inspect(node(server=server), [row("HK619", "a", finds_one), row("HK620", "b", finds_one)])
    assert report.skipped == skipped
    assert len(report.findings) == 2 - len(skipped)


def test_all_rules_together_say_something_of_any_machine() -> None:
    for server in (0, None):
        report = inspect(node(server=server))
        looked_at = [*report.checked, *(rule for rule, _ in report.skipped)]
        assert sorted(looked_at) == sorted(rule.rule.id for rule in NODE_RULES)


def test_no_id_of_the_host_side_is_left_out_or_given_twice() -> None:
    from hccl_kit.preflight.cluster_rules import ACROSS_RULES  # noqa: PLC0415
    from hccl_kit.preflight.rules import HOST_RULES  # noqa: PLC0415

    ids = [*(one.rule.id for one in HOST_RULES), *(one.rule.id for one in ACROSS_RULES)]
    assert ids == [f"HK{number}" for number in (*range(600, 620), 660, 661)]
