"""argparse with messages that name the unknown option and the nearest known argument."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from hccl_kit import __version__
from hccl_kit.base.colors import with_labels
from hccl_kit.base.errors import EXIT_CANNOT_RUN, EXIT_PIPE, KitError
from hccl_kit.base.help_text import HELP, USAGE, in_language, texts_of, with_colons
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import settle, wants_color
from hccl_kit.base.translation import LANGUAGES, OPTION, choose_language, translated
from hccl_kit.base.typos import nearest

PAIRS = "KEY=VALUE"
"""The metavar of options whose values are pairs."""
MISSING = "the following arguments are required"
UNKNOWN = "unrecognized arguments"
PROBLEMS = {
    "base.arguments-missing": f"{MISSING}: {{names}}",
    "base.arguments-unknown": f"{UNKNOWN}: {{words}}",
    "base.argument": "argument {name}: {problem}",
    "base.argument-choice": "invalid choice: {value} (choose from {choices})",
    "base.argument-type": "invalid {type} value: {value}",
    "base.argument-conflict": "not allowed with argument {other}",
    "base.argument-of-several": "one of the arguments {names} is required",
    "base.argument-value": "expected one argument",
    "base.argument-values": "expected at least one argument",
    "base.argument-no-value": "ignored explicit argument {value}",
    "base.argument-dashes": "'--' is not a value",
    "base.argument-path": "'' is not a path",
}
"""The texts of Python 3.10 to 3.12, and those that `arguments` gives to argparse, by the ids of their messages."""


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose programs call `parse`. It knows --version and --lang, and keeps the lines of its texts.

    In names of options, `-` and `_` are the same. A `type` may raise KitError, which `parse` lets pass. `doc` is the
    docstring of the program: its first paragraph is the description, the rest is the epilog. `takes_command`: see
    `split_command`.
    """

    def __init__(self, *, doc: str | None = None, takes_command: bool = False, **options: Any) -> None:
        # The width is given, since argparse imports shutil to find it (4 ms).
        formatter = partial(HelpFormatter, width=_width())
        description, _, epilog = (doc or "").partition("\n\n")
        texts = {"description": description, "epilog": epilog}
        super().__init__(**{"formatter_class": formatter, "allow_abbrev": False, **texts, **options})
        self.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
        add_language(self)
        self.takes_command = takes_command
        self._given: Sequence[str] = ()

    def parse(self, argv: Sequence[str] | None) -> argparse.Namespace:
        """The options in `argv` (None: of this process). Exits with code 2 if they are not valid.

        Messages are in the language of --lang from here on, or in that of the environment.
        """
        words = list(sys.argv[1:] if argv is None else argv)
        end = words.index("--") if "--" in words else len(words)
        self._given = [*map(self._spelled, words[:end]), *words[end:]]
        choose_language(self._given[:end])
        for option, value in self._values_in_one_word():
            if value == "--":  # argparse drops it, and then misses a value (Python 3.10 to 3.12)
                self.error(f"argument {option}: '--' is not a value")
        return self.parse_args(self._given)

    def _spelled(self, word: str) -> str:
        """The word with the `-` and `_` of the option that it names: `--log_dir=x` is `--log-dir=x`."""
        name, equals, value = word.partition("=")
        if not name.startswith("--") or name in self._option_string_actions:
            return word
        same = (option for option in self._option_string_actions if option.replace("_", "-") == name.replace("_", "-"))
        return next(same, name) + equals + value

    def error(self, message: str) -> NoReturn:
        """Print usage and message, and exit with code 2."""
        unknown = [word for word in self._words() if self._is_unknown(word)]
        if message.startswith(MISSING) and unknown:  # argparse reports missing arguments first, and nothing else
            message = f"{UNKNOWN}: {' '.join(unknown)}"
        kind, _, words = message.partition(": ")
        text = translated(problem(message))
        if kind == UNKNOWN:
            text += translated(self._advice(words))
        elif kind == MISSING:
            text += self._helps(words.split(", "))
        self.print_usage(sys.stderr)
        text = KitError(text).render()
        colored = with_labels(text) if sys.stderr is not None and wants_color(sys.stderr) else text
        self.exit(EXIT_CANNOT_RUN, f"{self.prog}: {colored}\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help, version or usage. Exits if help or version cannot be printed, of which argparse says nothing."""
        if file is not sys.stdout or file is None:
            super()._print_message(message, file)
            return
        try:
            file.write(message)
            file.flush()
        except BrokenPipeError:
            settle()
            self.exit(EXIT_PIPE)
        except OSError as error:
            settle()
            self.exit(EXIT_CANNOT_RUN, f"error: standard output: {error.strerror}\n")

    def _advice(self, words: str) -> str:
        """A suggestion for words that argparse does not recognize."""
        if not words.startswith("-"):
            pairs = next((action.option_strings[0] for action in self._actions if action.metavar == PAIRS), None)
            if pairs and "=" in words:
                example = f"{pairs} {words}"
                return Message(
                    "base.argument-pairs",
                    "; {form} follows {option}, as in: {example}",
                    form=PAIRS,
                    option=pairs,
                    example=example,
                )
            example = f"{self.prog} ... -- {'COMMAND' if self._get_positional_actions() else words}"
            command = Message("base.argument-command", "; a command follows --, as in: {example}", example=example)
            return command if self.takes_command else ""
        # Without dashes, which all options share: "--tabel" is close to TABLE, and not to --help.
        positionals = [str(action.metavar or action.dest) for action in self._get_positional_actions()]
        names = {name.lower(): name for name in positionals}
        names |= {option.lstrip("-"): option for option in self._option_string_actions}
        name = words.split(maxsplit=1)[0].partition("=")[0].lstrip("-")
        if near := nearest(name[:40], names):
            return Message("base.argument-near", "; did you mean {name}?", name=names[near])
        example = f"{self.prog} ... -- ..."
        command = Message(
            "base.argument-options", "; the command and its options follow --, as in: {example}", example=example
        )
        return command if self.takes_command else ""

    def _helps(self, names: Sequence[str]) -> str:
        """A line for each missing argument, with the text that --help has for it."""
        lines = ""
        for action in self._actions:
            name = "/".join(action.option_strings) or str(action.metavar or action.dest)
            if name in names:
                value = action.metavar or ("{" + ",".join(map(str, action.choices)) + "}" if action.choices else "")
                shown = name if value in ("", name) else f"{name} {value}"
                lines += f"\n  {shown}: {translated(action.help or '', HELP)}"
        return lines

    def _words(self) -> Iterator[str]:
        """The words before "--"."""
        for word in self._given:
            if word == "--":
                return
            yield word

    def _values_in_one_word(self) -> Iterator[tuple[str, str]]:
        """Option and value of --option=value and -ovalue."""
        for word in self._words():
            option, equals, value = word.partition("=")
            if equals and option in self._option_string_actions:
                yield option, value
            elif word[:2] in self._option_string_actions and not word.startswith("--"):
                yield word[:2], word[2:]

    def _is_unknown(self, word: str) -> bool:
        option = word.partition("=")[0]
        is_option = word.startswith("-") and word != "-" and not word[1:2].isdigit()
        return is_option and option not in self._option_string_actions and word[:2] not in self._option_string_actions


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


def a_path(text: str) -> Path:
    """The path, as `type` of an option. An empty text, as of an unset variable, is an error: not the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("'' is not a path")
    return Path(text)


def add_language(parser: argparse.ArgumentParser) -> None:
    """The option --lang. It leaves nothing in the namespace, since `Parser.parse` reads it before the others."""
    parser.add_argument(
        OPTION,
        choices=LANGUAGES,
        action=_Language,
        dest=argparse.SUPPRESS,
        help="language of messages: English or Chinese (default: that of LC_ALL, LC_MESSAGES or LANG)",
    )


def split_command(argv: Sequence[str] | None) -> tuple[list[str], tuple[str, ...] | None]:
    """The words before "--" in `argv` (None: of this process), and the command after it; None if there is no "--"."""
    words = list(sys.argv[1:] if argv is None else argv)
    at = words.index("--") if "--" in words else len(words)
    return words[:at], tuple(words[at + 1 :]) if at < len(words) else None


class _Language(argparse.Action):
    """Checks the value only."""

    def __call__(self, *_: object, **__: object) -> None:
        pass


def _width() -> int:
    try:
        return min(100, os.get_terminal_size().columns - 2)
    except OSError:  # standard output is not a terminal
        return 100


def problem(text: str) -> str:
    """The message that `text` is an instance of; `text` itself if it is none that is known."""
    for id_, template in PROBLEMS.items():
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(template))
        if match := re.fullmatch(pattern, text, re.DOTALL):
            return Message(id_, template, **{name: problem(value) for name, value in match.groupdict().items()})
    return text
