"""hccl-merge: put the tables of several servers together."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from glob import escape, glob, has_magic
from pathlib import Path

from hccl_kit import __version__
from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.cli import complain, run
from hccl_kit.cli.output_files import OutputFile, check_file, check_folder, write_files
from hccl_kit.cli.product_option import add_product_option, chosen_product
from hccl_kit.cli.tables import read_table, sound_text
from hccl_kit.table.operations.merge import file_name, is_merged, merge, natural

_EPILOG = """\
A folder stands for its hccl_*.json, a pattern in quotes for the files that it fits. What hccl-merge wrote before
(hccl_2s_16p.json) is left out of both. Unknown keys are kept; a key of the whole table must be equal in all.

examples:
  hccl-merge hccl_8p_01234567_10.0.0.1.json hccl_8p_01234567_10.0.0.2.json
  hccl-merge tables/ --product 910
  hccl-merge 'hccl_8p_*.json' -o job.json

Exit code: 0 written, 2 nothing was written.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Write one table of all servers; the exit code is 0, or 2 where nothing was done."""
    options = _parser().parse(argv)
    return run(lambda: _merge(options))


def _parser() -> Parser:
    parser = Parser(
        prog="hccl-merge",
        description="Put the rank tables of several servers together: ranks are numbered anew, server by server.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.add_argument("tables", nargs="+", metavar="TABLE", help="a rank table, a folder, or a pattern in quotes")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write (default: ./hccl_{s}s_{n}p.json)")
    parser.add_argument(
        "--order",
        choices=["natural", "as-given"],
        default="natural",
        help="of the servers: 10.0.0.2 before 10.0.0.10, or as their tables are given (default: natural)",
    )
    add_product_option(parser, "the hardware that the merged table is checked for")
    parser.add_argument("--force", action="store_true", help="overwrite a file that holds something else")
    return parser


def _merge(options: argparse.Namespace) -> int:
    files = _files(options.tables)
    if options.output:
        _refuse_input(Path(options.output), files)
        check_file(Path(options.output))
    check_folder(Path(options.output or ".").parent)
    table = merge([read_table(file) for file in files], names=files, order=options.order)
    path = Path(options.output or file_name(table))
    _refuse_input(path, files)
    text = sound_text(table, str(path), chosen_product(options.product))
    said = write_files([OutputFile(path, text)], force=options.force)
    print(f"merged: {len(files)} tables, {len(table.servers)} servers, {table.world_size} devices", *said, sep="\n")
    return EXIT_OK


def _refuse_input(path: Path, files: Sequence[str]) -> None:
    """KitError where `path` is a file that is read, too, and would be written over."""
    if path.exists() and any(Path(file).exists() and path.samefile(file) for file in files):
        raise KitError(
            f"{path} is to be written, and is one of the tables to merge",
            hint="-o OTHER.json; or move it away, if an earlier merge wrote it",
        )


def _files(given: Sequence[str]) -> list[str]:
    """The files meant, in the order given, those of a folder or pattern in natural order; none of them twice."""
    files: list[str] = []
    for one in given:
        if Path(one).is_dir():
            files += _found(f"{escape(one.rstrip('/') or one)}/hccl_*.json", one)
        elif has_magic(one) and not Path(one).exists():
            files += _found(one, one)
        else:
            files.append(one)
    twice = [file for file, times in Counter(files).items() if times > 1]
    if twice:
        raise KitError(f"{twice[0]} is named twice")
    return files


def _found(pattern: str, given: str) -> list[str]:
    found = sorted(glob(pattern), key=natural)  # noqa: PTH207 - pathlib takes no absolute pattern
    mine = [file for file in found if is_merged(Path(file).name)]
    for file in mine:
        complain(f"note: {file} is left out, an earlier merge wrote it")
    rest = [file for file in found if file not in set(mine)]
    if not rest:
        raise KitError(f"{given} holds no rank table; looked for {pattern}")
    return rest


if __name__ == "__main__":
    raise SystemExit(main())
