"""Explain a rule, an error code of HCCL, a variable or a line of a log, and find it in rank tables.

examples:
  hccl-kit explain HK203
  hccl-kit explain EI0014
  hccl-kit explain HCCL_EXEC_TIMEOUT
  hccl-kit explain "Value 2 for ranktable variable server_count is invalid" table.json
  hccl-kit explain - < training.log

A file that starts with a brace is a rank table, any other is a log; so is standard input.

Exit codes: 0 explained; 2 the text is unknown, or a file could not be read.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from io import BufferedReader
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.arguments import Parser
from hccl_kit.base.colors import with_labels
from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.base.message import Message
from hccl_kit.base.paragraph import filled, paragraph_width
from hccl_kit.base.terminal import clean, printable, wants_color
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import row
from hccl_kit.check.engine import check_text
from hccl_kit.check.report.text import as_text
from hccl_kit.check.rules import RULE_BY_ID
from hccl_kit.check.selection import narrowed
from hccl_kit.cli import program
from hccl_kit.cli.command import next_step
from hccl_kit.cli.options import add_product
from hccl_kit.diagnosis.answer_text import as_page
from hccl_kit.diagnosis.known_lines import Explanation
from hccl_kit.diagnosis.log_reading import explain_log, open_log, opened
from hccl_kit.diagnosis.lookup import explain
from hccl_kit.table.document import decode
from hccl_kit.table.products import Product
from hccl_kit.table.reading import load
from hccl_kit.table.source import MAX_BYTES, STDIN

_MAX_EMBEDDED = 10
"""Findings that are shown of a table in a line."""
_OF_ADDRESSES = ("HK205", "HK3")
"""Rules, or families of rules, about addresses."""
_SNIFFED = 1 << 12
"""Bytes that tell a table from a log."""


class ExplainRequest(NamedTuple):
    """The command line of hccl-kit explain: rules, codes, texts and files, and the product that files are for."""

    what: Sequence[str]
    product: Product | None


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit explain", doc=__doc__)
    parser.add_argument(
        "what",
        nargs="+",
        metavar="WHAT",
        help='a rule, a code or a pasted text; a log or a rank table: a file, or "-" for standard input',
    )
    add_product(parser, "the hardware that the tables are for")
    return parser


def _explain(request: ExplainRequest) -> int:
    if len(request.what) == 1 and _is_folder(request.what[0]):
        raise KitError(
            "cli.explain.folder",
            "{what} is a folder",
            fix="hccl-kit diagnose {quote}",
            what=request.what[0],
            quote=shlex.quote(request.what[0]),
        )
    files = [word for word in request.what if _is_file(word)]
    text = " ".join(word for word in request.what if word not in files)
    with ExitStack() as open_files:
        sources = [(file, _opened(file, open_files)) for file in files]
        return _explain_all(request, text, sources)


def _explain_all(request: ExplainRequest, text: str, sources: Sequence[tuple[str, BufferedReader | None]]) -> int:
    tables = [(file, stream) for file, stream in sources if stream is None or _is_table(stream)]
    logs = [(file, stream) for file, stream in sources if stream is not None and not _is_table(stream)]
    if not (text.strip() or logs):
        raise KitError(
            "cli.explain.nothing-explain",
            "nothing to explain: only files are given",
            fix="hccl-check {files} reports everything in a table",
            files=sources[0][0] if sources else "FILE",
        )
    explanations = [explain(text)] if text.strip() else []
    explanations += [explain_log(stream, STDIN if file == "-" else file) for file, stream in logs]
    names = [*([""] if text.strip() else []), *(file for file, _ in logs)]
    for number, (name, explanation) in enumerate(zip(names, explanations, strict=True)):
        heading = f"{name}:\n" if name and len(explanations) > 1 else ""
        _show(("\n" if number else "") + heading + as_page(explanation, paragraph_width()))
        for findings in _embedded(explanation, request.product):
            print(f"\n{findings}")
    rules = frozenset(rule for explanation in explanations for rule in _table_rules(explanation))
    for file, stream in tables:
        print(f"\n{_in_file(file, stream, rules, request.product)}")
    for step in dict.fromkeys(
        step for explanation in explanations for step in _next_steps(explanation, has_files=bool(tables))
    ):
        _show("\n" + filled(translated(next_step(step)), paragraph_width()))
    return EXIT_OK


def _show(text: str) -> None:
    paint = with_labels if wants_color(sys.stdout) else str
    print(paint(clean(text)))


def _next_steps(explanation: Explanation, *, has_files: bool) -> Iterator[Message]:
    if _table_rules(explanation) and not has_files:
        yield Message(
            "cli.explain.add",
            "add FILE.json to this command to find it in a table; `hccl-check FILE.json` checks everything",
        )
    if any(rule.family == "HK6" for rule in explanation.rules):
        yield Message(
            "cli.explain.preflight",
            "`hccl-kit preflight FILE.json` checks this machine for it, with --all every server",
        )


def _table_rules(explanation: Explanation) -> frozenset[str]:
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


def _is_folder(word: str) -> bool:
    try:
        return Path(word).is_dir()
    except (OSError, ValueError):
        return False


def _opened(file: str, open_files: ExitStack) -> BufferedReader | None:
    """A stream of what may be a log, which is closed with `open_files`; None for a file with the name of a table."""
    if file == "-":
        if sys.stdin is None:
            raise KitError("cli.explain.cannot-read-standard", "cannot read standard input: it is closed")
        return open_files.enter_context(opened(sys.stdin.fileno(), closes=False))
    return None if file.endswith(".json") else open_files.enter_context(open_log(Path(file)))


def _is_table(stream: BufferedReader) -> bool:
    return stream.peek(_SNIFFED).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def _in_file(file: str, stream: BufferedReader | None, ids: frozenset[str], product: Product | None) -> str:
    """The findings of the explained rules in one table, and the ids of the other findings."""
    if not ids:
        return translated(
            Message(
                "cli.explain.not-checked",
                "{file}: not checked, since no rule for tables reports this",
                file=printable(file),
            )
        )
    data, name = load(file) if stream is None else (stream.read(MAX_BYTES + 1), STDIN if file == "-" else file)
    report = check_text(data, name, product)
    explained_only = narrowed(report, select=ids)
    if any(finding.rule in ids for finding in explained_only.findings):
        return as_text(explained_only, decode(data), wants_color(sys.stdout))
    others = sorted({finding.rule for finding in report.findings})
    if not others:
        return translated(
            Message("cli.explain.none", "{file}: no such finding, nor any other finding", file=printable(name))
        )
    return translated(
        Message(
            "cli.explain.others",
            "{file}: no such finding; hccl-check reports {rules}",
            file=printable(name),
            rules=row(others),
        )
    )


def _embedded(explanation: Explanation, product: Product | None) -> Iterator[str]:
    """What our own rules find in a rank table that the explained line holds (EI0004 prints it)."""
    for answer in explanation.answers[:1]:
        start = answer.text.find('{"', answer.text.find("server_") - 2_000 if "server_" in answer.text else 0)
        if start < 0 or "server_list" not in answer.text:
            continue
        try:
            table, end = JSONDecoder().raw_decode(answer.text, start)
        except (JSONDecodeError, RecursionError):
            continue
        if isinstance(table, dict):
            text = answer.text[start:end]
            # Users mask addresses before they post a line: findings on addresses are left out then.
            report = check_text(text.replace("*", "0").encode(), "line.json", product)
            shown = [
                finding for finding in report.findings if "*" not in text or not finding.rule.startswith(_OF_ADDRESSES)
            ]
            lines = [f"  {finding.rule}: {printable(translated(finding.message))}" for finding in shown[:_MAX_EMBEDDED]]
            heading = translated(Message("cli.explain.table", "the rank table in this line:"))
            sound = translated(Message("cli.explain.sound", "  no rule finds an error in it"))
            yield "\n".join([heading, *(lines or [sound])])


main = program(make_parser, lambda **given: _explain(ExplainRequest(**given)))
