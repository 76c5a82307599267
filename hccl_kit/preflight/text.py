"""The findings on one server or on all of them, for people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import counted, spans
from hccl_kit.check.report.finding_text import as_lines, head, notes
from hccl_kit.preflight.answer import Answer
from hccl_kit.preflight.card_pings import LONGEST, USUAL, Plan
from hccl_kit.preflight.card_rules import CardRound, in_words
from hccl_kit.preflight.cluster_rules import folded
from hccl_kit.preflight.inspection import Report
from hccl_kit.table.finding import Finding

MAX_MESSAGES = 3
"""Maximum messages of one rule over all servers; the JSON form has all."""
MAX_REASONS = 8
"""Maximum reasons why servers did not answer, and why checks were not made."""
_ADDRESS = re.compile(r"(connect to host |resolve hostname )\S+?(?= port|: )")
"""What ssh prints before the address of a server."""


def as_text(answer: Answer, color: bool = False) -> str:
    """One server: every finding and its fix, then what passed and what could not be checked."""
    report = answer.report
    name = f"server {report.server}" if report.server else "this machine"
    lines = [line for finding in report.findings for line in as_lines(finding, color)]
    return "\n".join([*lines, *_summary(f"{name} ({answer.machine})", report)])


def all_as_text(answers: Sequence[Answer], differences: Sequence[Finding], color: bool = False) -> str:
    """All servers: which did not answer, what differs, and each finding once with the servers that have it."""
    there = [answer for answer in answers if answer.error is None]
    lines = _unanswered([answer for answer in answers if answer.error is not None])
    lines += [line for finding in differences for line in as_lines(finding, color)]
    pairs = [(finding, name_of(answer)) for answer in there for finding in answer.report.findings]
    pairs.sort(key=lambda pair: pair[0].rule)
    for _, group in groupby(pairs, key=lambda pair: pair[0].rule):
        lines += _folded(list(group), len(there), color)
    lines += _not_made(there)
    counts = [counted(len({finding.rule for finding, _ in pairs if finding.severity == "error"}), "error")]
    warnings = len({finding.rule for finding, _ in pairs if finding.severity == "warning"})
    counts += [counted(warnings, "warning")] if warnings else []
    counts += [counted(len(differences), "difference")]
    lines.append(f"{len(there)} of {counted(len(answers), 'server')} answered: {', '.join(counts)}")
    return "\n".join(lines)


def plan_as_text(plan: Plan, cards: int) -> str:
    """What a check of the cards would do, and how long it may take."""
    times = " to ".join(_duration(plan.rounds * seconds) for seconds in (USUAL, LONGEST))
    lines = [
        f"{counted(plan.pings, 'ping')} of {counted(cards, 'card')} in {counted(plan.rounds, 'round')}: "
        "in a round each card asks one other and is asked by one",
        f"about {times}, at {USUAL} to {LONGEST} s a ping (assumed, not measured)",
    ]
    if plan.unpaired:
        lines.append(f"no other card asks {in_words(plan.unpaired)}; --all-pairs asks cards of other numbers too")
    return "\n".join(lines)


def cards_as_text(subject: CardRound, findings: Sequence[Finding], color: bool = False) -> str:
    """What is wrong with the cards of all servers and between them, and one line about their pings."""
    made = [pinged for _, _, _, pinged in subject.pings if pinged.reason is None]
    answered = [pinged for pinged in made if pinged.is_answered]
    times = sorted(pinged.fastest for pinged in answered if pinged.fastest is not None)
    speed = (
        f"; fastest packet of each: median {times[len(times) // 2]:.2g} ms, at most {times[-1]:.2g} ms" if times else ""
    )
    counts = [
        counted(sum(finding.severity == severity for finding in findings), severity)
        for severity in ("error", "warning")
    ]
    summary = (
        f"cards: {len(answered)} of {counted(len(made), 'ping')} answered in full, in "
        f"{counted(subject.plan.rounds, 'round')}: {', '.join(counts)}{speed}"
    )
    return "\n".join([*(line for finding in findings for line in as_lines(finding, color)), summary])


def _duration(seconds: int) -> str:
    return f"{seconds} s" if seconds < 120 else f"{-(-seconds // 60)} min"


def name_of(answer: Answer) -> str:
    """A server by its id in the table; another machine by its host name."""
    return answer.server or answer.machine


def _unanswered(answers: Sequence[Answer]) -> list[str]:
    """Servers that did not answer for one reason are one line; those of the most frequent reasons come first."""
    by_reason: dict[str, list[Answer]] = {}
    for answer in answers:
        by_reason.setdefault(_without_address(answer.error or "", name_of(answer)), []).append(answer)
    groups = sorted(by_reason.items(), key=lambda pair: -len(pair[1]))
    lines = []
    for reason, some in groups[:MAX_REASONS]:
        why = some[0].error if len(some) == 1 else reason
        lines.append(printable(f"{folded([name_of(answer) for answer in some])} did not answer: {why}"))
    rest = sum(len(some) for _, some in groups[MAX_REASONS:])
    return lines + ([f"{rest} more servers did not answer, for other reasons; --format json lists all"] if rest else [])


def _without_address(error: str, name: str) -> str:
    """The reason without the name and address of the server, so that it is equal for all servers."""
    name_pattern = rf"(?<![\w.:-]){re.escape(name)}(?![\w.-])"
    return _ADDRESS.sub(r"\1ADDRESS", re.sub(name_pattern, "ADDRESS", error))


def _summary(name: str, report: Report) -> list[str]:
    counts = [
        sum(finding.severity == severity for finding in report.findings) for severity in ("error", "warning", "note")
    ]
    parts: list[str] = [counted(n, word) for n, word in zip(counts, ("error", "warning", "note"), strict=True) if n]
    passed = len(set(report.checked) - {finding.rule for finding in report.findings})
    parts += [f"{counted(passed, 'check')} passed"]
    lines = [f"{printable(name)}: {', '.join(parts)}"]
    by_reason: dict[str, list[str]] = {}
    for rule, reason in report.skipped:
        by_reason.setdefault(reason, []).append(rule)
    return lines + [printable(f"    not checked: {_rules(rules)} ({why})") for why, rules in by_reason.items()]


def _folded(pairs: Sequence[tuple[Finding, str]], servers: int, color: bool) -> list[str]:
    """One rule over all servers: equal messages once."""
    first = pairs[0][0]
    by_message: dict[str, list[str]] = {}
    for finding, name in pairs:
        by_message.setdefault(finding.message, []).append(name)
    names = [name for _, name in pairs]
    where = f"{head(first, color)} on {len(set(names))} of {counted(servers, 'server')}"
    if len(by_message) == 1:
        return [where + printable(f", {folded(names)}: {first.message}"), *notes(first)]
    lines = [f"    {folded(some)}: {message}" for message, some in list(by_message.items())[:MAX_MESSAGES]]
    more = len(by_message) - MAX_MESSAGES
    rest = [f"    and {more} more; --format json lists all"] if more > 0 else []
    return [f"{where}:", *map(printable, lines), *rest, *notes(first)]


def _not_made(answers: Sequence[Answer]) -> list[str]:
    servers: dict[tuple[str, str], list[str]] = {}
    for answer in answers:
        for rule, reason in answer.report.skipped:
            servers.setdefault((rule, reason), []).append(name_of(answer))
    groups: dict[tuple[str, str], list[str]] = {}
    for (rule, reason), names in servers.items():
        groups.setdefault((reason, folded(names)), []).append(rule)
    lines = [printable(f"not checked on {names}: {_rules(rules)} ({why})") for (why, names), rules in groups.items()]
    more = len(lines) - MAX_REASONS
    return lines[:MAX_REASONS] + ([f"and for {more} more reasons; --format json lists all"] if more > 0 else [])


def _rules(rules: Iterable[str]) -> str:
    """Consecutive ids as HK620 to HK634."""
    return ", ".join(f"HK{span}" for span in spans((int(rule[2:]) for rule in rules), " to HK"))
