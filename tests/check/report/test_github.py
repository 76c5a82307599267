"""Workflow commands: GitHub must parse them as intended, and no text of a file may become a command."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from hccl_kit.base.terminal import printable
from hccl_kit.check.engine import check_text
from hccl_kit.check.report.github import MAX_MARKS, as_github
from hccl_kit.check.result import Report
from hccl_kit.table.finding import Finding, Severity
from hccl_kit.table.pointer import Span
from hccl_kit.table.source import STDIN
from tests.tables import text

BAD = text(1, 2).replace('"rank_id": "1"', '"rank_id": "0"')
_COMMAND = re.compile(r"::(error|warning|notice) ([^\n]*?)::([^\n]*)")


def reading(line: str) -> tuple[str, dict[str, str], str]:
    """Parses a command as the GitHub runner does."""
    match = _COMMAND.fullmatch(line)
    assert match, line
    properties = dict(part.split("=", 1) for part in match[2].split(","))
    codes = {"%0A": "\n", "%0D": "\r", "%3A": ":", "%2C": ",", "%25": "%"}
    plain = {key: re.sub("%(?:0A|0D|3A|2C|25)", lambda code: codes[code[0]], one) for key, one in properties.items()}
    return match[1], plain, re.sub("%(?:0A|0D|25)", lambda code: codes[code[0]], match[3])


def report(*severities: Severity, name: str = "t.json", message: str = "said") -> Report:
    found = [Finding(message, "do it", rule="HK201", severity=severity, span=Span(2, 3, 4)) for severity in severities]
    return Report(name, "1.0", "910", tuple(found))


def test_a_finding_is_a_command_at_its_place() -> None:
    assert as_github([check_text(BAD, "a/t.json")]).split("\n") == [
        "::error file=a/t.json,line=16,col=32,endColumn=35,title=HK201::rank 0 is already taken by device 0 of server"
        ' "10.0.0.1"%0Afirst defined: line 11, column 32%0AHCCL would stop with EI0014%0A'
        "fix: use rank 1, which no device has",
        "hccl-check: errors: 1, warnings: 0, notes: 0",
    ]


@given(st.text(min_size=1), st.text())
@example("a:b,c=d%3A::e%.json", "100%25 % :: \x1b[2J")
@example("\x1b[31m\n.json", "said")
def test_the_runner_decodes_what_was_encoded(name: str, message: str) -> None:
    line, summary = as_github([report("warning", name=name, message=message)]).split("\n")
    command, properties, said = reading(line)
    assert command == "warning"
    assert [printable(part) for part in re.split("[\r\n]", name)] == re.split("[\r\n]", properties.get("file", STDIN))
    assert (properties["line"], properties["col"], properties["endColumn"], properties["title"]) == (
        "2",
        "3",
        "7",
        "HK201",
    )
    first, hint = said.split("\nfix: ")
    assert (first, hint) == (printable(message), "do it")
    assert summary == "hccl-check: errors: 0, warnings: 1, notes: 0"


@given(st.text(max_size=30), st.text(max_size=10))
def test_nothing_in_a_file_is_a_command(document: str, name: str) -> None:
    *commands, summary = re.split("[\r\n]", as_github([check_text(document, name)]))
    assert commands
    assert all(_COMMAND.fullmatch(line) for line in commands)
    assert summary.startswith("hccl-check: errors: ")


def test_no_file_property_for_stdin_and_no_end_column_for_a_whole_file() -> None:
    line = as_github([check_text("[", STDIN)]).split("\n")[0]
    assert "file" not in reading(line)[1]
    line = as_github([check_text(BAD, "t.txt")]).split("\n")[1]
    assert reading(line)[1] == {"file": "t.txt", "line": "1", "col": "1", "title": "HK008"}


def test_errors_come_first_and_annotations_per_level_are_limited() -> None:
    notes: list[Severity] = ["note"] * 3
    warnings: list[Severity] = ["warning"] * 15
    errors: list[Severity] = ["error"] * 12
    reports = [report(*notes, *warnings), report(*errors, name="b.json")]
    *commands, summary = as_github(reports).split("\n")
    levels = [reading(line)[0] for line in commands]
    assert levels == ["error"] * MAX_MARKS + ["warning"] * MAX_MARKS + ["notice"] * 3
    assert summary == (
        "hccl-check: errors: 12, warnings: 15, notes: 3"
        " (7 of them not annotated: GitHub shows 10 of a level; --format json lists all)"
    )


def test_no_findings_give_no_command() -> None:
    assert as_github([check_text(text(), "t.json")]) == "hccl-check: errors: 0, warnings: 0, notes: 0"
