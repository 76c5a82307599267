"""Every HK5 rule has a folder: a table that its launcher cannot or should not start, the report, and a valid table.

`bad.devices` and `ok.devices` contain a number instead of a table, which would be too large to store. A golden
report is written by `pytest --update-golden` only; look at the diff afterwards.
"""

from pathlib import Path

import pytest

from hccl_kit.check.engine import check_text
from hccl_kit.check.report.finding_text import as_lines
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import plan
from hccl_kit.launch.rules import PLAN_RULES, check_plan
from hccl_kit.table import formats
from hccl_kit.table.finding import Finding
from tests.launch.ways import large

GOLDEN = Path(__file__).parent / "golden"
FOLDERS = sorted(GOLDEN.iterdir())
ALSO = {("HK505", "slurm"): ["HK520"]}
"""The same server breaks both: each server must be a Slurm node, and the ranks must reach the first."""
LAUNCHERS = {rule.id: rule.kinds for rule in PLAN_RULES}


def text_of(folder: Path, name: str) -> str:
    file = folder / f"{name}.json"
    if file.exists():
        return file.read_text(encoding="utf-8")
    return formats.write(large(int((folder / f"{name}.devices").read_text(encoding="utf-8"))))


def findings(folder: Path, name: str, launcher: str) -> list[Finding]:
    text = text_of(folder, name)
    table = check_text(text, "t.json").table
    assert table is not None
    return list(check_plan(plan(table, ["true"]), TableFile("t.json", text), launcher))


def test_every_rule_has_its_folder() -> None:
    assert [folder.name for folder in FOLDERS] == list(LAUNCHERS)


def test_every_bad_table_breaks_only_its_rule_and_matches_the_golden_report(request: pytest.FixtureRequest) -> None:
    for folder in FOLDERS:
        lines: list[str] = []
        for launcher in LAUNCHERS[folder.name]:
            broken = findings(folder, "bad", launcher)
            assert [finding.rule for finding in broken] == [folder.name, *ALSO.get((folder.name, launcher), [])]
            lines += [f"--to {launcher}", *(line for finding in broken for line in as_lines(finding, color=False))]
        golden = folder / "bad.out"
        text = "\n".join(lines) + "\n"
        if request.config.getoption("--update-golden"):
            golden.write_text(text, encoding="utf-8")
        assert golden.read_text(encoding="utf-8") == text


def test_every_corrected_table_has_no_finding() -> None:
    for folder in FOLDERS:
        assert [findings(folder, "ok", launcher) for launcher in LAUNCHERS[folder.name]] == [
            [] for _ in LAUNCHERS[folder.name]
        ], folder
