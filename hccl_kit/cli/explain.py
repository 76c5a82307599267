"""hccl-kit explain: explain a rule, an error code of HCCL or a line of its log.

    hccl-kit explain HK203
    hccl-kit explain EI0014
    hccl-kit explain "Value 2 for ranktable variable server_count is invalid." table.json

Exit code 0: explained. 2: the text is unknown, or a file could not be read.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.arguments import Parser
from hccl_kit.base.colors import with_labels
from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.base.terminal import printable, wants_color
from hccl_kit.check.engine import check_text
from hccl_kit.check.report import as_text
from hccl_kit.check.rules import RULE_BY_ID
from hccl_kit.check.selection import narrowed
from hccl_kit.cli import run
from hccl_kit.cli.options import add_product
from hccl_kit.diagnosis.lookup import Explanation, as_page, explain
from hccl_kit.table.document import decode
from hccl_kit.table.products import Product
from hccl_kit.table.reading import load

_EPILOG = """\
examples:
  hccl-kit explain HK203
  hccl-kit explain EI0014
  hccl-kit explain "Value 2 for ranktable variable server_count is invalid" table.json

Exit code: 0 explained, 2 the text is unknown or a file could not be read.
"""


class ExplainRequest(NamedTuple):
    """The command line of hccl-kit explain: rules, codes, texts and files, and the product that files are for."""

    what: Sequence[str]
    product: Product | None


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit code."""
    return run(lambda: _explain(ExplainRequest(**vars(make_parser().parse(argv)))))


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(
        prog="hccl-kit explain",
        description="Explain a rule, an error code of HCCL or a line of its log, and find it in rank tables.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "what",
        nargs="+",
        metavar="WHAT",
        help='a rule, a code or a pasted text; or a rank table: a file, or "-" for standard input',
    )
    add_product(parser, "the hardware that the tables are for")
    return parser


def _explain(request: ExplainRequest) -> int:
    files = [word for word in request.what if _is_file(word)]
    text = " ".join(word for word in request.what if word not in files)
    if not text.strip():
        raise KitError(
            "nothing to explain: only files are given",
            hint=f"hccl-check {files[0] if files else 'FILE'} reports everything in a table",
        )
    explanation = explain(text)
    page = as_page(explanation)
    paint = with_labels if wants_color(sys.stdout) else str
    print(paint("\n".join(map(printable, page.split("\n")))))
    for file in files:
        print(f"\n{_in_file(file, explanation, request.product)}")
    for step in _next_steps(explanation, has_files=bool(files)):
        print(paint(f"\nnext: {step}"))
    return EXIT_OK


def _next_steps(explanation: Explanation, *, has_files: bool) -> Iterator[str]:
    if _of_tables(explanation) and not has_files:
        yield "add FILE.json to this command to find it in a table; `hccl-check FILE.json` checks everything"
    if any(rule.family == "HK6" for rule in explanation.rules):
        yield "`hccl-kit preflight FILE.json` checks this machine for it, with --all every server"


def _of_tables(explanation: Explanation) -> frozenset[str]:
    """The ids of those rules that check tables."""
    return frozenset(rule.id for rule in explanation.rules if rule.id in RULE_BY_ID)


def _is_file(word: str) -> bool:
    """A path ending in .json, or any existing file; a pasted text that ends in ".json" contains spaces."""
    if word == "-" or re.fullmatch(r"\S+\.json", word):
        return True
    try:
        return Path(word).is_file()
    except (OSError, ValueError):  # too long for a path, or with a NUL character
        return False


def _in_file(file: str, explanation: Explanation, product: Product | None) -> str:
    """The findings of the explained rules in one file, and the ids of the other findings."""
    ids = _of_tables(explanation)
    if not ids:
        return f"{printable(file)}: not checked, since no rule for tables reports this"
    data, name = load(file)
    report = check_text(data, name, product)
    explained_only = narrowed(report, select=ids)
    if any(found.rule in ids for found in explained_only.findings):
        return as_text(explained_only, decode(data), wants_color(sys.stdout))
    others = sorted({found.rule for found in report.findings})
    also = f"; hccl-check reports {', '.join(others)}" if others else ", nor any other finding"
    return f"{printable(name)}: no such finding{also}"


if __name__ == "__main__":
    raise SystemExit(main())
