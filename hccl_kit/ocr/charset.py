"""The characters a recogniser knows, and the numbers they have inside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hccl_kit.errors import KitError

ALPHANUMERIC = "0123456789abcdefghijklmnopqrstuvwxyz"
MAX_BYTES = 1 << 22


@dataclass(frozen=True, slots=True)
class Charset:
    """Characters in the order of their class numbers; the CTC blank is the class after the last."""

    characters: str

    @classmethod
    def load(cls, path: str | None, *, use_space_char: bool) -> Charset:
        """From a UTF-8 file with one character a line; None is 0-9 and a-z (MindOCR's default)."""
        characters = ALPHANUMERIC if path is None else "".join(_read(Path(path)))
        if use_space_char and " " not in characters:
            characters += " "
        if len(set(characters)) != len(characters):
            double = next(c for n, c in enumerate(characters) if c in characters[:n])
            raise KitError(f"the dictionary {path} holds {double!r} twice")
        return cls(characters)

    @property
    def blank(self) -> int:
        """The class that means no character."""
        return len(self.characters)

    @property
    def classes(self) -> int:
        """Characters and blank."""
        return len(self.characters) + 1

    def encode(self, text: str, *, lower: bool) -> list[int]:
        """The class numbers of `text`; characters that are not in the dictionary are left out, as MindOCR does."""
        numbers = {character: number for number, character in enumerate(self.characters)}
        return [numbers[c] for c in (text.lower() if lower else text) if c in numbers]

    def decode(self, numbers: list[int]) -> str:
        """The text of class numbers, none of them the blank."""
        return "".join(self.characters[number] for number in numbers)


def _read(path: Path) -> list[str]:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise KitError(f"the dictionary {path} is larger than {MAX_BYTES} bytes")
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise KitError(f"cannot read the dictionary {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise KitError(f"the dictionary {path} is not UTF-8: byte {error.start}") from error
    characters = [line.rstrip("\r") for line in lines]
    for number, line in enumerate(characters, 1):
        if len(line) > 1:
            raise KitError(f"{path}:{number}: expected one character, found {line[:20]!r}")
    return characters
