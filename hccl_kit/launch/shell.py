"""Parts of shell scripts, and the only functions that put text from outside into one."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files

from hccl_kit.runtime.worker_env import NAMES

_KEY = re.compile(r"__([a-z]+(?:_[a-z]+)*)__")


def word(text: str) -> str:
    """`text` quoted as one word of a shell."""
    return shlex.quote(text)


def words(texts: Sequence[str]) -> str:
    """`texts` quoted: a command, or the elements of an array."""
    return " ".join(map(word, texts))


def export(**values: str) -> str:
    """Export fields of WorkerEnv under each of their names; the values are shell text."""
    return " ".join(["export", *(f"{name}={value}" for field, value in values.items() for name in NAMES[field])])


def set_unless_set(variables: Sequence[tuple[str, str]]) -> list[str]:
    """Export variables, whose values are numbers and ranges, unless they are set already, even to an empty text."""
    return [f'export {name}="${{{name}-{value}}}"' for name, value in variables]


def fragment(*names: str, **values: str | Iterable[str]) -> Iterator[str]:
    """The lines of each `scripts/NAME.sh` without its first paragraph, a comment for its readers.

    A word __KEY__ there stands for one of `values`; on a line of its own, for as many lines as the value has.
    """
    for name in names:
        text = files("hccl_kit.launch").joinpath(f"scripts/{name}.sh").read_text(encoding="utf-8")
        for line in text.partition("\n\n")[2].rstrip("\n").split("\n"):
            alone = _KEY.fullmatch(line.strip())
            value = values[alone[1]] if alone else _KEY.sub(lambda key: str(values[key[1]]), line)
            indent = line[: -len(line.lstrip())] if alone else ""
            for part in [value] if isinstance(value, str) else value:
                yield indent + part.replace("\n", f"\n{indent}") if alone else part


def wrapped(command: str, width: int = 112) -> str:
    """A long command over several lines; its words must not contain spaces."""
    return " \\\n    ".join(textwrap.wrap(command, width, break_on_hyphens=False))


def alternatives(patterns: Iterable[str]) -> str:
    """`A|B|C`, over several lines, for a text in double quotes."""
    text = "| ".join(pattern.replace(" ", "\0") for pattern in patterns)
    lines = textwrap.wrap(text, 120, break_on_hyphens=False)
    return "\\\n".join(lines).replace("| ", "|").replace("\0", " ")
