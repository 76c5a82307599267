"""Third-party rank tables with known results: run with `--corpus FOLDER`.

`corpus/ranktables` of the folder has tables of manuals, HCCL's tests and repositories, with INDEX.tsv; their traits are
in test_table_traits.py. `corpus/hccl_verdicts` has random tables with the result of HCCL's own parser.
"""

import csv
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.hccl_verdicts import Difference, differences
from hccl_kit.check.engine import check_text
from hccl_kit.table.products import find_product

OURS = ("1.0", "1.1", "1.2")


def test_the_result_of_each_table_matches_the_index(corpus: Path) -> None:
    folder = corpus / "corpus" / "ranktables"
    with (folder / "INDEX.tsv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert [row["file"] for row in rows if not is_as_said(row, folder)] == []


def is_as_said(row: dict[str, str], folder: Path) -> bool:
    """Whether a table has the result of its row: for the product in `why`, or for that of the version."""
    product = find_product("910") if " on 910 " in row["why"] else None
    report = check_text((folder / row["file"]).read_bytes(), row["file"], product)
    errors = [found.rule for found in report.findings if found.severity == "error"]
    if ("not JSON" in row["why"]) != (errors == ["HK001"]):
        return False
    if row["expected"] in ("not-a-rank-table", "other-dialect"):
        return errors == ["HK105"]
    if row["expected"] == "not-ready":
        return [found.rule for found in report.findings] == ["HK109"]
    return report.ok == (row["expected"] == "valid")


@pytest.fixture(scope="module")
def checked(corpus: Path) -> list[Difference | None]:
    return list(differences(corpus / "corpus" / "hccl_verdicts" / "given.jsonl.gz"))


def test_a_table_that_hccl_refuses_has_an_error(checked: list[Difference | None]) -> None:
    assert [one for one in checked if one and one.way == "lax"] == []


def test_a_table_that_hccl_accepts_is_refused_for_documented_reasons_only(checked: list[Difference | None]) -> None:
    strict = Counter(one.rules for one in checked if one and one.way == "strict" and one.kind in OURS)
    assert strict.total() <= len(checked) / 100
    argued = {"HK102", "HK103", "HK104", "HK209", "HK215", "HK308"}
    assert {rule for rules in strict for rule in rules} <= argued


def test_template_2_and_version_2_are_refused_for_documented_reasons_only(checked: list[Difference | None]) -> None:
    strict = [one for one in checked if one and one.way == "strict" and one.kind not in OURS]
    assert len(strict) <= len(checked) / 200
    assert {rule for one in strict for rule in one.rules} <= {"HK102", "HK103", "HK104", "HK115"}


def test_the_first_code_matches_hccl(checked: list[Difference | None]) -> None:
    others = [one for one in checked if one and one.way == "code"]
    # In the lab form a process was named there by the text of its `rank_id`, which no launcher does: "2.0" has no code.
    assert {one.codes for one in others if one.kind == "template2"} <= {("EI0014", None)}
    assert sum(one.kind == "template2" for one in others) <= 2
    assert [one for one in others if one.kind != "template2"] == []
