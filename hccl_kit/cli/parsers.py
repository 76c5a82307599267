"""The parsers of all programs, for what is made from them: shell completion and manual pages."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from importlib import import_module

from hccl_kit import __version__
from hccl_kit.base.arguments import add_language
from hccl_kit.cli.kit import VERBS, module_of

PROGRAMS = ("check", "gen", "merge")
"""The verbs that are installed as programs too: hccl-check, hccl-gen, hccl-merge."""
DESCRIPTION = "HCCL rank tables, launch scripts and checks for distributed jobs on Ascend NPUs."


def programs() -> Mapping[str, argparse.ArgumentParser]:
    """Every program and its parser; that of hccl-kit has a subparser for each verb."""
    verbs = {verb: parser_of(verb) for verb in VERBS}
    kit = argparse.ArgumentParser(prog="hccl-kit", description=DESCRIPTION)
    kit.add_argument("--version", action="version", version=f"hccl-kit {__version__}")
    add_language(kit)
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
    """The parser of a verb; one without options if the packages of the verb are not installed."""
    try:
        parser: argparse.ArgumentParser = import_module(module_of(verb)).make_parser()
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("hccl_kit"):
            raise
        return argparse.ArgumentParser(prog=f"hccl-kit {verb}")
    return parser


def actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The options and other arguments of a parser and of its subparsers."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for subparser in action.choices.values():
                yield from actions(subparser)
