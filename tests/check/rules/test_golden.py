"""Every rule has a folder: a table that breaks it and nothing else, the report on that, and a good table next to it.

A golden report is written by `pytest --update-golden` only; look at the diff afterwards.
"""

from pathlib import Path

import pytest

from hccl_kit.base.message import Message
from hccl_kit.check.engine import check_text
from hccl_kit.check.report.text import as_text
from hccl_kit.check.rules import RULES
from hccl_kit.table.document import decode
from hccl_kit.table.finding import Finding
from hccl_kit.table.products import Product, find_product

HERE = Path(__file__).parent
FOLDERS = sorted(path for path in HERE.iterdir() if path.name.startswith("HK"))
TOO_LARGE_TO_KEEP = {"HK007", "HK009"}
"""Their bad files have 40 MiB and more; see tests/table/test_document.py."""
ALWAYS_SAID = {"1.1": ["HK236"]}
"""By format: rules that every table of it has, valid or not."""


def product_of(folder: Path) -> Product | None:
    """Some rules are for one product; the file `product` names it, and the prefix of its networks, if any."""
    file = folder / "product"
    if not file.exists():
        return None
    name, *prefix = file.read_text(encoding="utf-8").split()
    return find_product(name)._replace(prefix=int(prefix[0]) if prefix else None)


def test_every_rule_has_its_folder() -> None:
    assert {rule.id for rule in RULES} - TOO_LARGE_TO_KEEP == {folder.name for folder in FOLDERS}


def test_every_bad_table_breaks_only_its_rule_and_matches_the_golden_report(request: pytest.FixtureRequest) -> None:
    for folder in FOLDERS:
        bad = next(path for path in folder.iterdir() if path.name.startswith("bad.json"))
        data, golden = bad.read_bytes(), folder / "bad.out"
        report = check_text(data, bad.name, product_of(folder))
        broken = {folder.name, *ALWAYS_SAID.get(report.format, [])}
        assert sorted(finding.rule for finding in report.findings) == sorted(broken), folder
        text = as_text(report, decode(data), color=False) + "\n"
        if request.config.getoption("--update-golden"):
            golden.write_text(text, encoding="utf-8")
        assert golden.read_text(encoding="utf-8") == text
        for finding in report.findings:
            assert_is_found_by_the_id_of_its_rule(finding)


def assert_is_found_by_the_id_of_its_rule(finding: Finding) -> None:
    """A translation of the finding is found by its rule; advice may be that of several rules."""
    assert isinstance(finding.message, Message), finding
    assert finding.message.id.startswith(f"{finding.rule}."), finding.message.id
    if finding.hint is not None:
        assert isinstance(finding.hint, Message), finding
        assert finding.hint.id.startswith((f"{finding.rule}.", "check.")), finding.hint.id
        assert finding.hint.id.endswith("fix"), finding.hint.id


def test_every_corrected_table_has_no_finding() -> None:
    for folder in FOLDERS:
        report = check_text((folder / "ok.json").read_bytes(), "ok.json", product_of(folder))
        assert [finding.rule for finding in report.findings] == ALWAYS_SAID.get(report.format, []), folder
