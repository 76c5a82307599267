"""argparse with messages that name what the user has to change: the unknown option, the nearest known one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from hccl_kit.base.colors import with_labels
from hccl_kit.base.errors import EXIT_CANNOT_RUN
from hccl_kit.base.terminal import wants_color

_MISSING = "the following arguments are required"
_UNKNOWN = "unrecognized arguments"


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose programs call `parse`.

    `takes_command`: the caller splits off what follows "--", which is the command to start.
    """

    def __init__(self, *, takes_command: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.takes_command = takes_command
        self._given: Sequence[str] = ()

    def parse(self, argv: Sequence[str] | None) -> argparse.Namespace:
        """The options in `argv` (None: of this process); ends the process with exit code 2 if they are not valid."""
        self._given = list(sys.argv[1:] if argv is None else argv)
        for option, value in self._values_in_one_word():
            if value == "--":  # argparse drops it, and then misses a value (Python 3.10 to 3.12)
                self.error(f"argument {option}: '--' is not a value")
        return self.parse_args(self._given)

    def error(self, message: str) -> NoReturn:
        """Print usage and message, and exit with code 2."""
        unknown = [word for word in self._words() if self._is_unknown(word)]
        if message.startswith(_MISSING) and unknown:  # argparse looks for missing ones first, and stops there
            message = f"{_UNKNOWN}: {' '.join(unknown)}"
        kind, _, words = message.partition(": ")
        if kind == _UNKNOWN:
            message += self._advice(words)
        self.print_usage(sys.stderr)
        error = "error:" if sys.stderr is None or not wants_color(sys.stderr) else with_labels("error:")
        self.exit(EXIT_CANNOT_RUN, f"{self.prog}: {error} {message}\n")

    def _advice(self, words: str) -> str:
        """What was probably meant by words that argparse has no use for."""
        if not words.startswith("-"):
            return f"; a command follows --, as in: {self.prog} ... -- {words}" if self.takes_command else ""
        from difflib import get_close_matches  # noqa: PLC0415 - 5 ms, and only after a typo

        option = words.split(maxsplit=1)[0].partition("=")[0]
        near = get_close_matches(option[:40], self._option_string_actions, n=1)
        return f"; did you mean {near[0]}?" if near else ""

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
