"""--help in the language of the user: its texts, and how argparse prints them. English help is that of argparse."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator
from typing import Any

from hccl_kit.base.translation import translated

HELP = "base.help"
"""The id that all texts of --help share."""
USAGE = "usage: "
_APART = r"(?m)(\n\n|\n\Z|\n {2,}\S.*?(?: {2,}(?:# )?|$)(?:\n(?=\S))?)"
"""What stays between the texts of a description: an empty line, or a command on a line of its own."""


def texts_of(description: str) -> list[str]:
    """The texts of a description that are translated, each by itself."""
    return [text for text in re.split(_APART, description)[::2] if text]


def in_language(description: str) -> str:
    """The description with its texts in the language of the user; commands stay as they are."""
    return "".join(translated(piece, HELP) for piece in re.split(_APART, description))


def with_colons(text: str) -> str:
    """The help with a Chinese colon after a Chinese heading."""
    return text if text.isascii() else re.sub(r"(?m)^(\S.*[^\x00-\x7f].*):$", r"\1：", text)


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """A RawDescriptionHelpFormatter that translates each text. Those in Chinese are set in lines of its width."""

    def start_section(self, heading: str | None) -> None:
        """Begin the section of a group of options."""
        super().start_section(heading and translated(heading, HELP))

    def add_text(self, text: str | None) -> None:
        """Add a description or what follows the options."""
        super().add_text(text and in_language(text))

    def format_help(self) -> str:
        """The whole help."""
        return with_colons(super().format_help())

    def _format_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None) -> str:
        # argparse indents the next lines by the length of the English word. The Chinese one has the same width.
        return super()._format_usage(usage, actions, groups, prefix).replace(USAGE, translated(USAGE, HELP), 1)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return action.help and translated(action.help, HELP)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return super()._split_lines(text, width) if text.isascii() else _filled(text, width).split("\n")

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.isascii():
            return super()._fill_text(text, width, indent)
        lines = (line if line.startswith("  ") else _filled(line, width) for line in text.split("\n"))
        return "".join(f"{indent}{line}\n" for line in "\n".join(lines).split("\n"))


def help_texts(parsers: Iterable[argparse.ArgumentParser]) -> Iterator[str]:
    """Every text of their help that is translated; a text may come twice."""
    yield USAGE
    for parser in parsers:
        groups = parser._action_groups
        for description in (parser.description, *(group.description for group in groups), parser.epilog):
            yield from texts_of(description or "")
        yield from (group.title for group in groups if group.title)
        yield from (action.help for action in parser._actions if action.help not in (None, argparse.SUPPRESS))


def _filled(text: str, width: int) -> str:
    from hccl_kit.base.paragraph import filled  # noqa: PLC0415 - English help starts without it

    return filled(text, width)
