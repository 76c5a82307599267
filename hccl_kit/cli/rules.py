"""List the rules for tables, launch plans, servers and failed jobs: id, severity, HCCL's error, title.

`hccl-kit explain HK203` prints the page of one rule.

examples:
  hccl-kit rules
  hccl-kit rules --format json > rules.json

Exit codes: 0 printed; 2 could not run.
"""

from __future__ import annotations

import sys

from hccl_kit.base.arguments import Parser
from hccl_kit.base.colors import with_labels
from hccl_kit.base.errors import EXIT_OK
from hccl_kit.base.terminal import wants_color
from hccl_kit.check.rule_pages import as_json, as_lines
from hccl_kit.cli import program
from hccl_kit.diagnosis.catalogue import CATALOGUE

_FORMATS = {"text": as_lines, "json": as_json}


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit rules", doc=__doc__)
    parser.add_argument(
        "--format",
        dest="form",
        choices=list(_FORMATS),
        default="text",
        help="format of the list; json: with the page of every rule (default: text)",
    )
    return parser


def _list(*, form: str) -> int:
    text = _FORMATS[form](CATALOGUE).removesuffix("\n")
    print(with_labels(text) if form == "text" and wants_color(sys.stdout) else text)
    return EXIT_OK


main = program(make_parser, _list)
