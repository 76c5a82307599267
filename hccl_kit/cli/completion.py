"""Print the script that completes verbs, options and files of all programs in a shell.

examples:
  eval "$(hccl-kit completion bash)"       # in ~/.bashrc
  eval "$(hccl-kit completion zsh)"        # in ~/.zshrc, after compinit
  hccl-kit completion fish | source        # in ~/.config/fish/config.fish

Exit codes: 0 printed; 2 could not run.
"""

from __future__ import annotations

from collections.abc import Iterator

import shtab

from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_OK
from hccl_kit.cli import program
from hccl_kit.cli.parsers import actions, programs
from hccl_kit.table.products import ANY_PRODUCT, PRODUCT_NAMES

SHELLS = ("bash", "zsh", "fish")
_FILES = frozenset(
    ("A", "B", "CONFIG", "DIR", "FILE", "FOLDER", "LOG", "OUT", "PAGE", "PATH", "RUN", "SOURCE", "TABLE", "WHAT")
)
"""The metavars of arguments that name files."""


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit completion", doc=__doc__)
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads the script")
    return parser


def _print(*, shell: str) -> int:
    print("\n".join(scripts(shell)))
    return EXIT_OK


def scripts(shell: str) -> Iterator[str]:
    """The completion script of each program."""
    for parser in programs().values():
        for action in actions(parser):
            if action.metavar in _FILES and action.nargs != 0:
                action.complete = shtab.FILE  # type: ignore[attr-defined]  # read by shtab
            elif "--product" in action.option_strings:
                action.choices = [*PRODUCT_NAMES, ANY_PRODUCT]
        yield shtab.complete(parser, shell=shell)


main = program(make_parser, _print)
