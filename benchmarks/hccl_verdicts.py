"""Verdicts on random rank tables against those of HCCL's own parser: which differ, and by which rule.

python benchmarks/hccl_verdicts.py TABLES.jsonl.gz [--show 3]

A line of TABLES is {"product", "table", "hccl": "accept"|"reject"|"notready", "code"}.
Verdicts differ in three ways. "lax": HCCL rejects a table without errors here. "strict": HCCL accepts a table with
errors here. "code": both reject it, with different first codes.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hccl_kit.check.engine import check_text
from hccl_kit.table.products import find_product

WAITING = {"HK109", "HK110"}
"""Rules about states that HCCL waits for; HCCL gives no verdict on them."""


class Difference(NamedTuple):
    """A table with different verdicts; `way` is lax, strict or code."""

    way: str
    kind: str
    product: str
    rules: tuple[str, ...]
    codes: tuple[str | None, str | None]
    table: str


def differences(path: Path) -> Iterator[Difference | None]:
    """One for each table of the file; None if the verdicts agree."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield compared(json.loads(line))


def compared(row: dict[str, Any]) -> Difference | None:
    report = check_text(row["table"], "t.json", find_product(row["product"]))
    errors = tuple(sorted({found.rule for found in report.findings if found.severity == "error"}))
    is_waiting = not WAITING.isdisjoint(found.rule for found in report.findings)
    if row["hccl"] == "notready":
        way = "" if is_waiting or errors else "lax"
    elif row["hccl"] == "reject" and not errors:
        way = "lax"
    elif row["hccl"] == "accept" and errors:
        way = "strict"
    else:
        way = "code" if row["hccl"] == "reject" and report.hccl_error != row["code"] else ""
    codes = (report.hccl_error, row["code"])
    return Difference(way, report.format, row["product"], errors, codes, row["table"]) if way else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", type=Path)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="N tables of every difference")
    arguments = parser.parse_args()
    checked = list(differences(arguments.tables))
    found = [one for one in checked if one]
    ways = Counter(one.way for one in found)
    print(f"{len(checked)} tables: " + ", ".join(f"{ways[way]} {way}" for way in ("lax", "strict", "code")))
    groups: dict[Any, list[Difference]] = {}
    for one in found:
        groups.setdefault((one.way, one.kind, one.rules, one.codes), []).append(one)
    for (way, kind, rules, codes), ones in sorted(groups.items(), key=lambda group: (group[0][0], -len(group[1]))):
        ours, theirs = codes
        print(f"{len(ones):5} {way:6} {kind:9} {','.join(rules) or '-'}: ours {ours or '-'}, HCCL's {theirs or '-'}")
        for one in ones[: arguments.show]:
            print(f"      {one.product}: {' '.join(one.table.split())}")


if __name__ == "__main__":
    main()
