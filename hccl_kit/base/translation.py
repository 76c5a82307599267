"""Messages in the language of the user: English, which needs nothing, or Chinese, from the catalogue in `locale`.

A program chooses the language when it reads its options (`arguments.Parser`). The package as a library is English: so
are `str(message)`, and all that is written for programs. `translated` is where a message becomes a text for a person.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hccl_kit.base.message import Message, reason_of

if TYPE_CHECKING:
    from gettext import GNUTranslations

ENGLISH, CHINESE = LANGUAGES = ("en", "zh")
OPTION = "--lang"
"""The option of every program for the language of its messages."""
CATALOGUE = Path(__file__).parents[1] / "locale/zh_CN/LC_MESSAGES/hccl_kit.mo"
_spoken: list[str] = [ENGLISH]


def language_of(environ: Mapping[str, str]) -> str:
    """The language of a locale: the first of LC_ALL, LC_MESSAGES and LANG that is set decides, as in POSIX."""
    locale = next(filter(None, map(environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    return CHINESE if locale.lower().startswith(CHINESE) else ENGLISH


def choose_language(words: Sequence[str]) -> None:
    """Speak the language of the last --lang in `words`, or that of the environment if there is none that is valid."""
    chosen = language_of(os.environ)
    for word, value in zip(words, [*words[1:], ""], strict=False):
        option, equals, joined = word.partition("=")
        language = joined if equals else value
        if option == OPTION and language in LANGUAGES:
            chosen = language
    speak(chosen)


def leading_language(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The option --lang at the beginning of `words`, which may be absent, and the other words."""
    option, equals, _ = (words[0] if words else "").partition("=")
    length = 0 if option != OPTION else 1 if equals else 2
    return list(words[:length]), list(words[length:])


def speak(language: str) -> None:
    """Choose the language of `translated`; English if standard output or error has no Chinese characters."""
    _spoken[:] = [language if all(map(_has_chinese, (sys.stdout, sys.stderr))) else ENGLISH]


def spoken() -> str:
    """The language of `translated`."""
    return _spoken[0]


def translated(text: str, table: str = "") -> str:
    """A message in the chosen language, with the messages among its values and in errors; English if the catalogue
    lacks it.

    Any other text is looked up by itself under the id that the texts of its `table` share; without a table it is
    returned as it is.
    """
    if _spoken == [ENGLISH]:
        return text
    if not isinstance(text, Message):
        return _catalogue().pgettext(table, text) if table and text else text
    template = _catalogue().pgettext(text.id, text.template)
    values = {name: _translated_value(value) for name, value in text.values.items()}
    return template.format_map(values).replace("） ", "）")  # a value may end in a bracket, which needs no space


def _translated_value(value: object) -> object:
    text = reason_of(value) if isinstance(value, Exception) else value
    return translated(text) if isinstance(text, str) else text


@cache
def _catalogue() -> GNUTranslations:
    from gettext import GNUTranslations  # noqa: PLC0415 - English starts without it

    with CATALOGUE.open("rb") as file:
        return GNUTranslations(file)


def _has_chinese(stream: object) -> bool:
    try:
        "中".encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
