"""Write the manual pages of all programs into a folder (default: man): python scripts/man_pages.py [FOLDER].

They are generated from the parsers and shipped in the wheel as share/man/man1. A test compares them with the help.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from argparse_manpage.manpage import Manpage

from hccl_kit import __version__
from hccl_kit.cli.kit import VERBS
from hccl_kit.cli.parsers import parser_of, programs


def pages() -> Mapping[str, str]:
    """The text of each page, by the name of its file: one for hccl-kit, and one for each verb."""
    parsers = [programs()["hccl-kit"], *map(parser_of, VERBS)]
    others = [parser.prog for parser in parsers]
    return {f"{parser.prog.replace(' ', '-')}.1": _page(parser, others) for parser in parsers}


def _page(parser: argparse.ArgumentParser, others: list[str]) -> str:
    epilog, parser.epilog = parser.epilog or "", None
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            action.choices = {}  # each has a page of its own
    page = Manpage(parser)
    page.prog = parser.prog.replace(" ", "-")
    page.date, page.source, page.manual = "", f"hccl-kit {__version__}", "hccl-kit"
    page.description = " ".join((parser.description or "").split("\n\n")[0].split()).split(". ")[0].removesuffix(".")
    for heading, text in _sections(epilog):
        page.add_section(heading, ">", text)
    page.add_section("see also", "=", ",\n".join(f".BR {name.replace(' ', '-')} (1)" for name in others))
    return str(page)


def _sections(epilog: str) -> Iterator[tuple[str, str]]:
    """The paragraphs of an epilog, each under the heading of a manual page, in roff."""
    for paragraph in filter(None, epilog.strip().split("\n\n")):
        first, _, rest = paragraph.partition("\n")
        if first.startswith("example"):
            yield "examples", f".nf\n{_escaped(rest)}\n.fi\n"
        elif first.startswith("Exit code"):
            yield "exit status", f".PP\n{_escaped(paragraph)}\n"
        else:
            yield "notes", f".PP\n{_escaped(paragraph)}\n"


def _escaped(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in escaped.split("\n"))


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "man")
    folder.mkdir(exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
