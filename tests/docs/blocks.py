"""The code blocks of a documentation page, and how each is tested.

A comment directly above a block declares its kind:

    <!-- file: NAME -->           the block is the content of a file that later blocks use
    <!-- run -->                  the commands are run; their output is not shown
    <!-- launcher: NAME -->       commands for several servers, which `test_launchers` runs on hosts of a lab
    <!-- tested: PATH -->         installation and the like; the named test does the same
    <!-- excerpt -->              part of a file or of an output, not to be run

A console block needs no comment: its commands are run and their output is compared. `...` matches anything.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

_BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>[^\n]*) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)


class Block(NamedTuple):
    """`kind` is "console", "file", "run", "launcher", "tested", "excerpt" or "" for a block without a comment."""

    language: str
    kind: str
    value: str
    text: str
    line: int


class Command(NamedTuple):
    """A command of a console block, with its continuation lines, and its output."""

    line: str
    output: str


def blocks_of(page: Path) -> list[Block]:
    """All code blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [_block(found, text) for found in _BLOCK.finditer(text)]


def with_texts(page: Path, texts: list[str]) -> str:
    """The page with replaced texts in its blocks."""
    left = iter(texts)
    start = re.compile(r"(^```\w+\n)(?:.*?)(^```$)", re.DOTALL | re.MULTILINE)
    return start.sub(lambda found: f"{found[1]}{next(left)}{found[2]}", page.read_text(encoding="utf-8"))


def _block(found: re.Match[str], text: str) -> Block:
    language = found["language"]
    kind, _, value = (found["mark"] or ("console" if language == "console" else "")).partition(": ")
    return Block(language, kind, value, found["text"], text.count("\n", 0, found.start("text")))


def commands_of(block: Block) -> list[Command]:
    """The commands of a console block: lines that start with "$ ", each with the lines after it."""
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    assert parts[0] == "", f"line {block.line}: a console block starts with a command"
    return [_command(part) for part in parts[1:]]


def _command(part: str) -> Command:
    lines = part.splitlines(keepends=True)
    last = next(number for number, line in enumerate(lines) if not line.endswith("\\\n"))
    return Command("".join(lines[: last + 1]).rstrip("\n"), "".join(lines[last + 1 :]))


def fits(shown: str, printed: str) -> bool:
    """Whether `printed` matches the page; `...` matches any text, and on a separate line any lines."""
    wildcards = {"...\n": r"(?:[^\n]*\n)*?", "...": ".*?"}
    parts = re.split(r"(^\.\.\.\n|\.\.\.)", shown, flags=re.MULTILINE)
    pattern = "".join(wildcards.get(part) or re.escape(part) for part in parts)
    return re.fullmatch(pattern, printed, re.DOTALL) is not None
