"""The findings on one server or on all of them, for people and for programs.

The JSON form of one server and of all is the same; its schema is `schemas/preflight_report.schema.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from hccl_kit.base.grouped import grouped
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import clauses, counted, spans
from hccl_kit.check.report.finding_text import as_lines, head, notes
from hccl_kit.preflight.answer import Answer, Report, finding_to_value, to_value
from hccl_kit.preflight.card_round import LONGEST, USUAL, CardRound, Plan, in_words
from hccl_kit.preflight.cluster_rules import folded
from hccl_kit.preflight.probes.cards import span
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
    lines = [line for finding in report.findings for line in as_lines(finding, color)]
    name = Message("preflight.machine", "this machine ({name})", name=answer.machine)
    if report.server:
        name = Message("preflight.server", "server {id} ({name})", id=report.server, name=answer.machine)
    return "\n".join([*lines, *_summary(name, report)])


def all_as_text(answers: Sequence[Answer], differences: Sequence[Finding], color: bool = False) -> str:
    """All servers: which did not answer, what differs, and each finding once with the servers that have it."""
    there = [answer for answer in answers if answer.error is None]
    lines = _unanswered([answer for answer in answers if answer.error is not None])
    lines += [line for finding in differences for line in as_lines(finding, color)]
    pairs = [(finding, name_of(answer)) for answer in there for finding in answer.report.findings]
    pairs.sort(key=lambda pair: (pair[0].rule, pair[0].severity))
    for _, group in groupby(pairs, key=lambda pair: (pair[0].rule, pair[0].severity)):
        lines += _folded(list(group), len(there), color)
    lines += _not_made(there)
    errors = len({finding.rule for finding, _ in pairs if finding.severity == "error"})
    warnings = len({finding.rule for finding, _ in pairs if finding.severity == "warning"})
    counts = [counted(errors, "error"), *([counted(warnings, "warning")] if warnings else [])]
    summary = Message(
        "preflight.answered",
        "{number} of {servers} answered: {counts}",
        number=len(there),
        servers=counted(len(answers), "server"),
        counts=clauses([*counts, counted(len(differences), "difference")]),
    )
    return "\n".join([*lines, translated(summary)])


def plan_as_text(plan: Plan, cards: int) -> str:
    """What a check of the cards would do, and how long it may take."""
    lines = [
        Message(
            "preflight.plan",
            "{pings} of {cards} in {rounds}: in a round each card asks one other and is asked by one",
            pings=counted(plan.pings, "ping"),
            cards=counted(cards, "card"),
            rounds=counted(plan.rounds, "round"),
        ),
        Message(
            "preflight.duration",
            "about {least} to {most}, at {usual} to {longest} s a ping (assumed, not measured)",
            least=_duration(plan.rounds * USUAL),
            most=_duration(plan.rounds * LONGEST),
            usual=USUAL,
            longest=LONGEST,
        ),
    ]
    if plan.unpaired:
        lines.append(
            Message(
                "preflight.unpaired",
                "no other card asks {cards}; --all-pairs asks cards of other numbers too",
                cards=in_words(plan.unpaired),
            )
        )
    return "\n".join(map(translated, lines))


def cards_as_text(subject: CardRound, findings: Sequence[Finding], color: bool = False) -> str:
    """What is wrong with the cards of all servers and between them, and one line about their pings."""
    made = [pinged for _, _, _, pinged in subject.pings if pinged.reason is None]
    answered = [pinged for pinged in made if pinged.is_answered]
    times = sorted(pinged.fastest for pinged in answered if pinged.fastest is not None)
    counts = [
        counted(sum(finding.severity == severity for finding in findings), severity)
        for severity in ("error", "warning")
    ]
    summary = Message(
        "preflight.pings",
        "cards: {number} of {pings} answered in full, in {rounds}: {counts}",
        number=len(answered),
        pings=counted(len(made), "ping"),
        rounds=counted(subject.plan.rounds, "round"),
        counts=clauses(counts),
    )
    if times:
        summary = Message(
            "preflight.pings-and-speed",
            "{pings}; fastest packet of each: median {median:.2g} ms, at most {most:.2g} ms",
            pings=summary,
            median=times[len(times) // 2],
            most=times[-1],
        )
    lines = (line for finding in findings for line in as_lines(finding, color))
    return "\n".join([*lines, translated(summary)])


def _duration(seconds: int) -> Message:
    if seconds < 120:
        return Message("preflight.seconds", "{seconds} s", seconds=seconds)
    return Message("preflight.minutes", "{minutes} min", minutes=-(-seconds // 60))


def name_of(answer: Answer) -> str:
    """A server by its id in the table; another machine by its host name."""
    return answer.server or answer.machine


def _unanswered(answers: Sequence[Answer]) -> list[str]:
    """Servers that did not answer for one reason are one line; those of the most frequent reasons come first."""
    by_reason = grouped((_without_address(answer.error or "", name_of(answer)), answer) for answer in answers)
    groups = sorted(by_reason.items(), key=lambda pair: -len(pair[1]))
    lines = [
        Message(
            "preflight.no-answer",
            "{servers} did not answer: {reason}",
            servers=folded([name_of(answer) for answer in some]),
            reason=some[0].error if some[0].error == reason or len(some) == 1 else reason,
        )
        for reason, some in groups[:MAX_REASONS]
    ]
    if rest := sum(len(some) for _, some in groups[MAX_REASONS:]):
        lines.append(
            Message(
                "preflight.more-without-answer",
                "{number} more servers did not answer, for other reasons; --format json lists all",
                number=rest,
            )
        )
    return [printable(translated(line)) for line in lines]


def _without_address(error: str, name: str) -> str:
    """The reason without the name and address of the server, so that it is equal for all servers."""
    name_pattern = rf"(?<![\w.:-]){re.escape(name)}(?![\w.-])"
    return _ADDRESS.sub(r"\1ADDRESS", re.sub(name_pattern, "ADDRESS", error))


def _summary(name: Message, report: Report) -> list[str]:
    counts = [
        sum(finding.severity == severity for finding in report.findings) for severity in ("error", "warning", "note")
    ]
    parts: list[str] = [counted(n, word) for n, word in zip(counts, ("error", "warning", "note"), strict=True) if n]
    passed = len(set(report.checked) - {finding.rule for finding in report.findings})
    parts += [Message("preflight.passed", "{checks} passed", checks=counted(passed, "check"))]
    by_reason = grouped((reason, rule) for rule, reason in report.skipped)
    lines = [
        Message("preflight.summary", "{name}: {counts}", name=name, counts=clauses(parts)),
        *(
            Message("preflight.not-checked", "    not checked: {rules} ({reason})", rules=_rules(rules), reason=reason)
            for reason, rules in by_reason.items()
        ),
    ]
    return [printable(translated(line)) for line in lines]


def _folded(pairs: Sequence[tuple[Finding, str]], servers: int, color: bool) -> list[str]:
    """One rule over all servers: equal messages once."""
    first = pairs[0][0]
    by_message = grouped((finding.message, name) for finding, name in pairs)
    names = [name for _, name in pairs]
    where = Message(
        "preflight.on", "on {number} of {servers}", number=len(set(names)), servers=counted(servers, "server")
    )
    if len(by_message) == 1:
        where = Message(
            "preflight.on-servers",
            "{where}, {servers}: {message}",
            where=where,
            servers=folded(names),
            message=first.message,
        )
        return [f"{head(first, color)} {printable(translated(where))}", *notes(first)]
    lines = [
        Message("preflight.of-servers", "    {servers}: {message}", servers=folded(some), message=message)
        for message, some in list(by_message.items())[:MAX_MESSAGES]
    ]
    if (more := len(by_message) - MAX_MESSAGES) > 0:
        lines.append(Message("preflight.more-messages", "    and {number} more; --format json lists all", number=more))
    heading = translated(Message("preflight.heading", "{where}:", where=where))
    return [f"{head(first, color)} {heading}", *(printable(translated(line)) for line in lines), *notes(first)]


def _not_made(answers: Sequence[Answer]) -> list[str]:
    servers = grouped((skipped, name_of(answer)) for answer in answers for skipped in answer.report.skipped)
    groups = grouped(((reason, folded(names)), rule) for (rule, reason), names in servers.items())
    lines = [
        Message(
            "preflight.not-checked-on",
            "not checked on {servers}: {rules} ({reason})",
            servers=names,
            rules=_rules(rules),
            reason=reason,
        )
        for (reason, names), rules in groups.items()
    ]
    if (more := len(lines) - MAX_REASONS) > 0:
        rest = Message("preflight.more-reasons", "and for {number} more reasons; --format json lists all", number=more)
        lines = [*lines[:MAX_REASONS], rest]
    return [printable(translated(line)) for line in lines]


def _rules(rules: Iterable[str]) -> str:
    """Consecutive ids as HK620 to HK634."""
    numbers = spans(int(rule[2:]) for rule in rules)
    return clauses(span(*(f"HK{number}" for number in text.split("-"))) for text in numbers)


JSON_VERSION = 1
"""Raised when a field of the JSON form changes its meaning or goes away."""


class Subject(NamedTuple):
    """The checked table: its file as the user wrote it, the SHA-256 of its bytes, and the product."""

    file: str
    digest: str
    product: str


def as_json(
    subject: Subject,
    answers: Sequence[Answer],
    differences: Sequence[Finding] = (),
    table_findings: Sequence[Finding] = (),
    cards: CardRound | None = None,
) -> str:
    """One document; ASCII, so any pipe takes it. With `table_findings` no server was checked."""
    findings = (*differences, *table_findings)
    return json.dumps(
        {
            "version": JSON_VERSION,
            "table": {
                "file": subject.file,
                "sha256": subject.digest,
                "findings": [*map(finding_to_value, table_findings)],
            },
            "product": subject.product,
            "ok": all(answer.error is None and answer.report.ok for answer in answers)
            and not (cards and cards.silent)
            and all(finding.severity != "error" for finding in findings),
            "servers": [to_value(answer) for answer in answers],
            "differences": [*map(finding_to_value, differences)],
            **({"cards": _cards(cards)} if cards else {}),
        },
        indent=2,
    )


def _cards(subject: CardRound) -> dict[str, Any]:
    return {
        "rounds": subject.plan.rounds,
        "pings": len(subject.pings),
        "silent": dict(subject.silent),
        "failed": [
            [*source, *target, link, *pinged]
            for source, target, link, pinged in subject.pings
            if not pinged.is_answered
        ],
    }
