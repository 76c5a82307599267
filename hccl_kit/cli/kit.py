"""hccl-kit VERB: one door to all programs of the kit. A verb's module is imported when it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

from hccl_kit import __version__
from hccl_kit.base.errors import EXIT_CANNOT_RUN, EXIT_OK, KitError
from hccl_kit.cli import complain

VERBS: Mapping[str, str] = {
    "check": "judge rank tables before a job does (also: hccl-check)",
    "gen": "write a rank table and the script that starts its ranks (also: hccl-gen)",
    "launch": "write what starts a command on every card: bash, mpirun, msrun, Slurm, Kubernetes",
    "preflight": "look at this machine, or at all of a table's, before a job starts",
    "merge": "put the tables of several servers together (also: hccl-merge)",
    "convert": "write a table in another version",
    "diff": "compare two tables by what they mean",
    "show": "draw the servers, cards and ranks of a table",
    "split": "write a table of its own for every server",
    "digest": "print a sum that is equal for tables that mean the same",
    "explain": "explain a rule, an error code of HCCL or a line of its log",
    "rules": "list the rules by which tables are judged",
    "report": "print versions, environment and what works on this machine, for a bug report",
    "completion": "print the script that completes options in bash, zsh or fish",
}
"""Verb, which is the name of its module too, to what it does."""
TRAINING: Mapping[str, str] = {
    "train": "train a network, on one device or many",
    "eval": "evaluate trained weights on a data set",
    "predict": "find and read texts with trained weights",
    "export": "write a trained network as MINDIR or ONNX",
    "render-words": "render a data set of word images",
    "convert-dataset": "convert a published data set into label files",
}
"""Verb to what it does; the modules of the training wing are known by name only, since it is optional."""


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit code, which is that of the verb."""
    verb, *rest = [*(sys.argv[1:] if argv is None else argv)] or [""]
    if verb in VERBS or verb in TRAINING:
        code: int = import_module(module_of(verb)).main(rest)
        return code
    if verb in ("-h", "--help", "help"):
        print(usage())
        return EXIT_OK
    if verb == "--version":
        print(f"hccl-kit {__version__}")
        return EXIT_OK
    complain(_unknown(verb).render() if verb else usage())
    return EXIT_CANNOT_RUN


def module_of(verb: str) -> str:
    """The module of a verb, whose `main` is the program."""
    folder = "hccl_kit.ocr.programs" if verb in TRAINING else "hccl_kit.cli"
    return f"{folder}.{verb.replace('-', '_')}"


def usage() -> str:
    """What --help prints: every verb with its line."""
    width = max(map(len, (*VERBS, *TRAINING)))
    verbs, training = (
        "\n".join(f"  {verb.ljust(width)}  {line}" for verb, line in group.items()) for group in (VERBS, TRAINING)
    )
    more = "`hccl-kit VERB --help` explains one of them."
    return f"usage: hccl-kit VERB ...\n\n{verbs}\n\ntraining:\n{training}\n\n{more}"


def _unknown(verb: str) -> KitError:
    from difflib import get_close_matches  # noqa: PLC0415 - 5 ms, and only after a slip

    verbs = (*VERBS, *TRAINING)
    near = get_close_matches(verb[:20], verbs, n=1, cutoff=0.5)
    hint = f"did you mean hccl-kit {near[0]}?" if near else "hccl-kit --help tells what each does"
    return KitError(f"{verb[:80]!r} is no verb; accepted: {', '.join(verbs)}", hint=hint)


if __name__ == "__main__":
    raise SystemExit(main())
