"""hccl-kit rules: the table of all rules; as Markdown with the page of each. It makes docs/rules.md."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hccl_kit.base.arguments import Parser
from hccl_kit.base.colors import with_labels
from hccl_kit.base.errors import EXIT_OK
from hccl_kit.base.terminal import wants_color
from hccl_kit.check.rule_pages import as_json, as_lines, as_markdown
from hccl_kit.cli import run
from hccl_kit.diagnosis.catalogue import CATALOGUE

_FORMS = {"text": as_lines, "markdown": as_markdown, "json": as_json}


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit code."""
    parser = Parser(
        prog="hccl-kit rules",
        description="List the rules of tables, plans and nodes: id, severity by product, HCCL's error, what it finds.",
        epilog="`hccl-kit explain HK203` shows one page.",
        allow_abbrev=False,
    )
    parser.add_argument("--format", choices=list(_FORMS), default="text", help="default: text; markdown has the pages")
    arguments = parser.parse(argv)
    return run(lambda: _list(arguments.format))


def _list(form: str) -> int:
    text = _FORMS[form](CATALOGUE).removesuffix("\n")
    print(with_labels(text) if form == "text" and wants_color(sys.stdout) else text)
    return EXIT_OK


if __name__ == "__main__":
    raise SystemExit(main())
