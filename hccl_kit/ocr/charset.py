"""The dictionary of a recogniser: its characters and their class numbers."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hccl_kit.base import shipped
from hccl_kit.base.bounded_file import read_text
from hccl_kit.base.errors import KitError
from hccl_kit.ocr import rapidocr

ALPHANUMERIC = "0123456789abcdefghijklmnopqrstuvwxyz"
MAX_BYTES = 1 << 22

BOS, EOS = 0, 1
"""The classes of an attention head that begin and end a text; those of the characters follow."""
SPECIAL_TOKENS = ("<go>", "<stop>")
"""Their names in MindOCR and in exported files; a BOS within a text is decoded as its name, as in MindOCR."""


@dataclass(frozen=True)
class Charset:
    """Characters in the order of their class numbers; the CTC blank is the class after the last."""

    characters: str

    @classmethod
    def load(cls, path: str | None, *, use_space_char: bool) -> Charset:
        """Read a UTF-8 file with one character per line, or a shipped one; None: 0-9 and a-z, MindOCR's default.

        `rapidocr:rec` is the dictionary of the weights of that name.

        Raises KitError if the file cannot be read, a line has several characters, or a character is listed twice.
        """
        characters = ALPHANUMERIC if path is None else "".join(_characters(path))
        if use_space_char and " " not in characters:
            characters += " "
        if len(set(characters)) != len(characters):
            duplicate = next(c for n, c in enumerate(characters) if c in characters[:n])
            raise KitError(
                "ocr.charset.dictionary-lists-twice",
                "the dictionary {path} lists {duplicate!r} twice",
                path=path,
                duplicate=duplicate,
            )
        return cls(characters)

    @property
    def blank(self) -> int:
        """The class of the CTC blank."""
        return len(self.characters)

    def encode(self, text: str, *, lower: bool) -> list[int]:
        """The class numbers of `text`; characters that are not in the dictionary are dropped, as in MindOCR."""
        return [self._numbers[c] for c in (text.lower() if lower else text) if c in self._numbers]

    def other_case(self) -> list[int]:
        """For each character's class, the class of its other case; its own if the dictionary lacks the other case."""
        return [self._numbers.get(_other_case(character), number) for number, character in enumerate(self.characters)]

    def tells_case(self) -> list[bool]:
        """For each character's class, whether it is a lower-case letter whose upper case is in the dictionary too."""
        others = enumerate(self.other_case())
        return [other != number and self.characters[number].islower() for number, other in others]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {character: number for number, character in enumerate(self.characters)}

    def decode(self, numbers: list[int]) -> str:
        """The text of class numbers, none of which may be the blank."""
        return "".join(self.characters[number] for number in numbers)


def _other_case(character: str) -> str:
    """The other case of a character; the character itself if the conversion cannot be reversed, as for dotless i."""
    other = character.swapcase()
    return other if other.swapcase() == character else character


def _characters(path: str) -> Iterable[str]:
    return rapidocr.characters(path) if path in rapidocr.FILES else _read(Path(path))


def _read(path: Path) -> list[str]:
    path = path if os.path.lexists(path) else shipped.config(path) or path
    characters = [line.rstrip("\r") for line in read_text(path, MAX_BYTES).split("\n")]
    for number, line in enumerate(characters, 1):
        if len(line) > 1:
            raise KitError(
                "ocr.charset.expected-character-found",
                "{path}:{number}: expected one character, found {line!r}",
                path=path,
                number=number,
                line=line[:20],
            )
    return characters
