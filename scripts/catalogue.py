"""Bring the Chinese catalogue up to date with the messages of the package: python scripts/catalogue.py [FOLDER].

FOLDER, by default that of the package, gets hccl_kit.po, which people edit, and hccl_kit.mo, which programs read. An
entry is a message: msgctxt is its id, msgid its English template. A new message gets an empty entry, and one whose
English has changed becomes fuzzy: programs show both in English until somebody translates them and removes the flag.
The texts of a table (of rules, errors, variables) and those of --help share one id, so that rows may move: a changed
text is a new one.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

import hccl_kit
from hccl_kit.agent.texts import TEXTS as OF_AGENT
from hccl_kit.base.arguments import PROBLEMS, help_texts
from hccl_kit.base.help_text import HELP, texts_of
from hccl_kit.base.translation import CATALOGUE
from hccl_kit.check.rule import SECTIONS, TITLES
from hccl_kit.check.rule_pages import as_sections
from hccl_kit.cli.kit import EXAMPLES, GROUPS, LAUNCHERS, VERBS
from hccl_kit.cli.parsers import parser_of
from hccl_kit.diagnosis.catalogue import CATALOGUE as RULES
from hccl_kit.diagnosis.errors.row import FIX, ROLES, TEXTS
from hccl_kit.diagnosis.errors.table import ROWS
from hccl_kit.diagnosis.logs.faults import CONSEQUENCES
from hccl_kit.diagnosis.variable_pages import PAGES
from hccl_kit.diagnosis.verdict.names import OTHER, PHRASES
from hccl_kit.launch.emitters import PLACES
from hccl_kit.launch.recorders import RECORDERS
from hccl_kit.preflight.rules.variable_values import BY_PRODUCT, VALUES, WORDS

SYSTEM_ERRORS = (
    *("EACCES", "EEXIST", "EIO", "EISDIR", "ELOOP", "EMFILE"),
    *("ENAMETOOLONG", "ENOENT", "ENOSPC", "ENOTDIR", "EPERM", "EROFS"),
)
"""Errors of the system that people meet; other ones are in the words of the system."""
TABLES = (HELP, TEXTS, TITLES, SECTIONS, WORDS)
"""The ids that the texts of a table share."""
_PACKAGE = Path(hccl_kit.__file__).parent
_PAGE = Path(__file__).with_name("error_page.py")
"""Its page of errors is in both languages too."""
_MAKERS = ("Message", "KitError", "ParseError", "cannot_tell", "verdict", "finding", "CannotTellError")
_EPOCH = datetime(2026, 1, 1, tzinfo=timezone.utc)
"""The date in both files, which are the same for the same messages."""


def messages() -> Iterator[tuple[str, str]]:
    """Id and template of every message, in the order of the sources; then the texts of tables."""
    yield from ((f"base.{name}", "{words}") for name in SYSTEM_ERRORS)
    yield from (*PROBLEMS.items(), *OF_AGENT.items())
    for path in (*sorted(_PACKAGE.rglob("*.py")), _PAGE):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield from _messages_of(node.func.id, node)
    yield from ((TITLES, rule.title) for rule in RULES)
    yield from ((SECTIONS, text) for rule in RULES for text in as_sections(rule)[1].values())
    yield from ((TEXTS, text) for text in _texts() if text)
    for values in (VALUES, *BY_PRODUCT.values()):
        yield from ((WORDS, accepted.words) for accepted in values.values())
    yield from ((HELP, text) for text in (*help_texts(map(parser_of, VERBS)), *_help_of_all_verbs()))


def _help_of_all_verbs() -> Iterator[str]:
    for heading, verbs in GROUPS.items():
        yield from (heading, *verbs.values())
    yield from (LAUNCHERS, *PLACES, *texts_of(EXAMPLES))


def _texts() -> Iterator[str]:
    yield from ROLES.values()
    for row in ROWS:
        sentences = (sentence.removeprefix(FIX) for sentence in row.says)
        yield from (row.what, row.headline, *sentences, *row.causes, row.tells_apart, row.fix, row.stage)
    for page in PAGES.values():
        yield from page
    yield from RECORDERS.values()
    yield from (*PHRASES.values(), OTHER, *(consequence.kind for consequence in CONSEQUENCES))


def _messages_of(name: str, call: ast.Call) -> Iterator[tuple[str, str]]:
    literals = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
    if name == "counted" and literals:  # the noun, as in `counted(len(servers), "server")`
        yield f"base.count-{str(literals[-1]).replace(' ', '-')}", "{number} {noun}"
    if name == "Fault" and len(call.args) > 2 and isinstance(call.args[2], ast.Constant):
        yield TEXTS, str(call.args[2].value)
    if name in _MAKERS and len(literals) == 2:
        id_, template = map(str, literals)
        yield id_, template
        for keyword in call.keywords:
            if keyword.arg in ("fix", "why") and name != "Message" and isinstance(keyword.value, ast.Constant):
                yield f"{id_}.{keyword.arg}", str(keyword.value.value)


def current(before: Catalog) -> Catalog:
    """A catalogue of the messages as they are now, with the translations of the one before."""
    same = {(entry.context, entry.id): entry for entry in before if entry.id}
    older = {entry.context: entry for entry in before if entry.id and entry.context not in TABLES}
    after = Catalog("zh_CN", project="hccl_kit", creation_date=_EPOCH, revision_date=_EPOCH, fuzzy=False)
    after.header_comment = ""
    for id_, template in dict.fromkeys(messages()):
        entry = same.get((id_, template)) or older.get(id_)
        text, flags = (str(entry.string or ""), entry.flags) if entry else ("", set())
        is_new = entry is not None and entry.id != template
        after.add(template, text, flags=flags | {"fuzzy"} if is_new else flags, context=id_)
    return after


def main(folder: Path) -> None:
    """Write both files into `folder`."""
    with CATALOGUE.with_suffix(".po").open("rb") as file:
        catalogue = current(read_po(file, locale="zh_CN"))
    with (folder / CATALOGUE.name).with_suffix(".po").open("wb") as file:
        write_po(file, catalogue, width=0)
    with (folder / CATALOGUE.name).open("wb") as file:
        write_mo(file, catalogue)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else CATALOGUE.parent)
