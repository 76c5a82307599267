"""hccl-kit VERB: single entry point for all subcommands. The module of a verb is imported when it is run."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import chain

from hccl_kit import __version__
from hccl_kit.base.errors import EXIT_CANNOT_RUN, EXIT_OK, KitError
from hccl_kit.base.help_text import HELP, USAGE, in_language, with_colons
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import in_columns
from hccl_kit.base.translation import choose_language, leading_language, translated
from hccl_kit.base.typos import nearest
from hccl_kit.base.wording import row
from hccl_kit.cli import complain, exit_code_of

GROUPS: Mapping[str, Mapping[str, str]] = {
    "rank tables": {
        "gen": "write a rank table and the script that starts its ranks (also: hccl-gen)",
        "check": "check rank tables before a job starts (also: hccl-check)",
        "merge": "merge the tables of several servers into one (also: hccl-merge)",
        "split": "write a table for each server",
        "convert": "write a table in another version",
        "diff": "compare the content of two tables",
        "show": "draw the servers, cards and ranks of a table",
        "place": "print how many bytes leave servers for an order of the ranks, and a better order",
        "digest": "print a digest that ignores formatting and order",
    },
    "before the start": {
        "preflight": "check this machine, or every server of the table, before a job starts",
        "container": "print what a container lacks for its cards, as options of docker or for a pod",
        "selftest": "measure the network between the ranks, and name what is slow, wrong or dead",
        "env": "print the ports, interfaces and timeouts of a job, or check those of its ranks",
    },
    "starting": {
        "run": "start the ranks of a table on this server, and look after them",
        "launch": "write the files that start a job with another launcher",
    },
    "while it runs": {
        "watch": "show what the ranks of a job do, which is slowest, and by how much",
    },
    "after a failure": {
        "diagnose": "read the logs of a failed job and report which rank failed first",
        "explain": "explain a rule, an error code or a variable of HCCL, or a line of a log",
        "rules": "list the rules that tables, launch plans and servers are checked against",
        "report": "print versions, environment and what works on this machine, for a bug report",
        "snapshot": "write versions, cards, variables and settings of this machine, or of all servers",
        "compare": "say what differs between two snapshots, or between the servers of one",
    },
    "training": {
        "read": "find and read the texts of pages, without training",
        "train": "train a network, on one device or many",
        "eval": "evaluate trained weights on a data set",
        "predict": "find and read texts with trained weights",
        "export": "write a trained network as MINDIR or ONNX",
        "render-words": "render a data set of word images",
        "convert-dataset": "convert a published data set into label files",
    },
    "this program": {
        "completion": "print the script that completes options in bash, zsh or fish",
    },
}
"""The description of each verb, grouped by the headings of --help."""
VERBS: tuple[str, ...] = tuple(chain.from_iterable(GROUPS.values()))

LAUNCHERS = "launchers, for hccl-kit launch TABLE --to LAUNCHER:"
EXAMPLES = """\
examples:
  hccl-kit gen --device_num "[0,8)" -- python -u train.py
  hccl-kit check hccl_2s_16p.json
  hccl-kit preflight hccl_2s_16p.json --all

`hccl-kit VERB --help` describes one of them. With --lang zh, messages are in Chinese."""


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit code, which is that of the verb."""
    language, words = leading_language(sys.argv[1:] if argv is None else argv)
    verb, *rest = words or [""]
    if verb in VERBS:
        code: int = import_module(module_of(verb)).main([*language, *rest])
        return code
    choose_language(language)
    return exit_code_of(lambda: _without_verb(verb))


def _without_verb(word: str) -> int:
    if word in ("-h", "--help", "help"):
        print(usage())
        return EXIT_OK
    if word == "--version":
        print(f"hccl-kit {__version__}")
        return EXIT_OK
    if word:
        raise _unknown(word)
    complain(usage())
    return EXIT_CANNOT_RUN


def module_of(verb: str) -> str:
    """The module of a verb, with its `main` and `make_parser`."""
    # The training part is optional, so it is known by name only.
    folder = "hccl_kit.ocr.programs" if verb in GROUPS["training"] else "hccl_kit.cli"
    return f"{folder}.{verb.replace('-', '_')}"


def usage() -> str:
    """What --help prints: every verb with its line, in groups."""
    width = max(map(len, VERBS))
    blocks = [f"{translated(USAGE, HELP)}hccl-kit VERB ..."]
    for heading, verbs in GROUPS.items():
        lines = [f"  {verb.ljust(width)}  {translated(line, HELP)}" for verb, line in verbs.items()]
        blocks.append("\n".join([f"{translated(heading, HELP)}:", *lines]))
        if "launch" in verbs:
            places = import_module("hccl_kit.launch.emitters").PLACES
            blocks.append(f"{translated(LAUNCHERS, HELP)}\n{_listed(places)}")
    return with_colons("\n\n".join([*blocks, in_language(EXAMPLES)]))


def _listed(places: Mapping[str, Sequence[str]]) -> str:
    rows = [(f"  {translated(place, HELP)}", ", ".join(names)) for place, names in places.items()]
    return "\n".join(in_columns(rows, left=range(2)))


def _unknown(verb: str) -> KitError:
    near = nearest(verb[:20], VERBS)
    hint = (
        Message("cli.kit.not-verb.fix", "did you mean hccl-kit {near}?", near=near)
        if near
        else Message("cli.kit.not-verb.fix-otherwise", "hccl-kit --help lists them")
    )
    return KitError(
        "cli.kit.not-verb",
        "{verb!r} is not a verb; accepted: {verbs}",
        hint=hint,
        verb=verb[:80],
        verbs=row(VERBS),
    )


if __name__ == "__main__":
    raise SystemExit(main())
