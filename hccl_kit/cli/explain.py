"""hccl-kit explain: from an error text to what it means, where it is in a table, and the fix.

    hccl-kit explain HK203
    hccl-kit explain EI0014
    hccl-kit explain "Value 2 for ranktable variable server_count is invalid." table.json

Exit code 0: explained. 2: nothing is known of the text, or a file could not be read.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from hccl_kit.base.arguments import Parser
from hccl_kit.base.colors import with_labels
from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.base.terminal import printable, wants_color
from hccl_kit.check.engine import check_text
from hccl_kit.check.report import as_text
from hccl_kit.check.rules import RULE_BY_ID
from hccl_kit.check.selection import narrowed
from hccl_kit.cli import run
from hccl_kit.cli.product_option import add_product_option, chosen_product
from hccl_kit.diagnosis.lookup import Explanation, as_page, explained
from hccl_kit.table.document import decode
from hccl_kit.table.products import Product
from hccl_kit.table.reading import load

_OF_NODES = "HK6"

_EPILOG = """\
examples:
  hccl-kit explain HK203
  hccl-kit explain EI0014
  hccl-kit explain "Value 2 for ranktable variable server_count is invalid. Expected value: 1." table.json

Exit code: 0 explained, 2 nothing is known of it or a file could not be read.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit code."""
    arguments = _parser().parse(argv)
    return run(lambda: _explain(arguments))


def _parser() -> Parser:
    parser = Parser(
        prog="hccl-kit explain",
        description="Explain a rule, an error code of HCCL or a line of its log; show where a table has that fault.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "what",
        nargs="+",
        metavar="WHAT",
        help='a rule, a code or a pasted text; or a rank table: a file, "-" for stdin',
    )
    add_product_option(parser, "for the tables, as in hccl-check")
    return parser


def _explain(arguments: argparse.Namespace) -> int:
    product = chosen_product(arguments.product)
    files = [word for word in arguments.what if _is_file(word)]
    text = " ".join(word for word in arguments.what if word not in files)
    if not text.strip():
        raise KitError(
            "there is nothing to explain: only files are named",
            hint=f"hccl-check {files[0] if files else 'FILE'} tells all that is wrong in a table",
        )
    explanation = explained(text)
    page = as_page(explanation)
    paint = with_labels if wants_color(sys.stdout) else str
    print(paint("\n".join(map(printable, page.split("\n")))))
    for file in files:
        print(f"\n{_in_file(file, explanation, product)}")
    for step in _next_steps(explanation, has_files=bool(files)):
        print(paint(f"\nnext: {step}"))
    return EXIT_OK


def _next_steps(explanation: Explanation, *, has_files: bool) -> Iterator[str]:
    if _of_tables(explanation) and not has_files:
        yield "add FILE.json to this command to see where it is in a table, or `hccl-check FILE.json` for all"
    if any(rule.id.startswith(_OF_NODES) for rule in explanation.rules):
        yield "`hccl-kit preflight FILE.json` looks for it on this machine, with --all on every server"


def _of_tables(explanation: Explanation) -> frozenset[str]:
    """Those of the rules that judge tables."""
    return frozenset(rule.id for rule in explanation.rules if rule.id in RULE_BY_ID)


def _is_file(word: str) -> bool:
    """A path that ends as HCCL wants it, or one that is there; a pasted text may end in ".json" too, after a space."""
    if word == "-" or re.fullmatch(r"\S+\.json", word):
        return True
    try:
        return Path(word).is_file()
    except (OSError, ValueError):  # too long for a path, or with a zero in it
        return False


def _in_file(file: str, explanation: Explanation, product: Product | None) -> str:
    """The findings of the rules that are explained, in one file; what else is wrong there is counted only."""
    ids = _of_tables(explanation)
    if not ids:
        return f"{printable(file)}: not looked at, since no rule of a table leads there"
    data, name = load(file)
    report = check_text(data, name, product)
    narrow = narrowed(report, select=ids)
    if any(found.rule in ids for found in narrow.diagnostics):
        return as_text(narrow, decode(data), wants_color(sys.stdout))
    others = sorted({found.rule for found in report.diagnostics})
    also = f"; hccl-check finds {', '.join(others)} there" if others else ", nor any other fault"
    return f"{printable(name)}: nothing of this kind{also}"


if __name__ == "__main__":
    raise SystemExit(main())
