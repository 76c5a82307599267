"""The parsers of all programs, for what is made from them: shell completion and manual pages."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import NoReturn

from hccl_kit import __version__
from hccl_kit.base.arguments import Parser
from hccl_kit.cli.kit import VERBS, module_of

PROGRAMS = ("check", "gen", "merge")
"""The verbs that are installed as programs too: hccl-check, hccl-gen, hccl-merge."""
DESCRIPTION = "HCCL rank tables, launch scripts and checks for distributed jobs on Ascend NPUs."


def programs() -> Mapping[str, argparse.ArgumentParser]:
    """Every program and its parser; that of hccl-kit has a subparser for each verb."""
    verbs = {verb: parser_of(verb) for verb in VERBS}
    kit = argparse.ArgumentParser(prog="hccl-kit", description=DESCRIPTION)
    kit.add_argument("--version", action="version", version=f"hccl-kit {__version__}")
    choices = kit.add_subparsers(title="verbs", metavar="VERB", required=True)
    for verb, parser in verbs.items():
        choices.add_parser(
            verb,
            parents=[parser],
            add_help=False,  # the parent has it
            help=(parser.description or "").partition("\n")[0],
            description=parser.description,
            epilog=parser.epilog,
            formatter_class=parser.formatter_class,
        )
    return {"hccl-kit": kit, **{f"hccl-{verb}": verbs[verb] for verb in PROGRAMS}}


def parser_of(verb: str) -> argparse.ArgumentParser:
    """The parser of a verb: its program runs until it parses its arguments, which comes before all else.

    A parser without options if the packages of the verb are not installed.
    """
    try:
        with _stopping_at_parse():
            import_module(module_of(verb)).main([])
    except _ParserFound as found:
        return found.parser
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("hccl_kit"):
            raise
    return argparse.ArgumentParser(prog=f"hccl-kit {verb}")


class _ParserFound(BaseException):
    """Carries a parser out of a program, which catches no BaseException."""

    def __init__(self, parser: Parser) -> None:
        super().__init__()
        self.parser = parser


@contextmanager
def _stopping_at_parse() -> Iterator[None]:
    def stop(self: Parser, argv: Sequence[str] | None) -> NoReturn:  # noqa: ARG001 - as Parser.parse
        raise _ParserFound(self)

    original = Parser.parse
    Parser.parse = stop  # type: ignore[method-assign]  # for the length of this block
    try:
        yield
    finally:
        Parser.parse = original  # type: ignore[method-assign]
