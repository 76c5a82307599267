"""Merge the rank tables of several servers: ranks are numbered anew, server by server.

A folder stands for the hccl_*.json files in it, a quoted pattern for the files that match. What an
earlier merge wrote (hccl_2s_16p.json) is left out of both. Unknown keys are kept; keys of the whole
table must be equal in all.

examples:
  hccl-merge hccl_8p_01234567_10.0.0.1.json hccl_8p_01234567_10.0.0.2.json
  hccl-merge tables/ --product 910
  hccl-merge 'hccl_8p_*.json' -o job.json

Exit codes: 0 written; 2 nothing was written.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from glob import escape, glob, has_magic
from pathlib import Path

from hccl_kit.base.arguments import Parser, a_path
from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.base.message import Message
from hccl_kit.base.output_place import assert_takes_file
from hccl_kit.base.progress import track
from hccl_kit.base.wording import clauses, counted, listed
from hccl_kit.cli import complain, program, say
from hccl_kit.cli.options import add_force, add_product
from hccl_kit.cli.output_files import OutputFile, check_folder, write_files
from hccl_kit.cli.tables import read_table, steps_of_table, valid_text
from hccl_kit.table.model import RankTable
from hccl_kit.table.operations.merge import Order, file_name, is_merged, merge, natural
from hccl_kit.table.products import Product


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-merge", doc=__doc__)
    parser.add_argument("tables", nargs="+", metavar="TABLE", help="a rank table, a folder, or a quoted pattern")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=a_path,
        help="the file to write (default: ./hccl_2s_16p.json for 2 servers with 16 cards in all)",
    )
    parser.add_argument(
        "--order",
        choices=["natural", "as-given"],
        default="natural",
        help="order of the servers: natural has 10.0.0.2 before 10.0.0.10, as-given keeps the order of the tables"
        " (default: natural)",
    )
    add_product(parser, "the hardware that the merged table is for")
    add_force(parser)
    return parser


def _merge(*, tables: Sequence[str], output: Path | None, order: Order, product: Product | None, force: bool) -> int:
    files = _files(tables)
    if output:
        _refuse_input(output, files)
        assert_takes_file(output, "-o")
    check_folder((output or Path()).parent)
    with track(files, len(files), "reading tables") as tracked:
        parts = [read_table(file) for file in tracked]
    table = _merged(parts, files, order)
    path = output or Path(file_name(table))
    _refuse_input(path, files)
    text = valid_text(table, str(path), product)
    written = write_files([OutputFile(path, text)], force=force)
    sizes = (counted(len(files), "table"), counted(len(table.servers), "server"), counted(table.world_size, "device"))
    steps = steps_of_table(path, len(table.servers))
    say(Message("cli.merge.merged", "merged: {sizes}", sizes=clauses(sizes)), *written, *steps)
    servers = [server.id for server in table.servers]
    if servers != [server.id for part in parts for server in part.servers]:
        complain(
            Message(
                "cli.merge.order",
                "note: the ranks are on {servers} in this order; --order as-given keeps that of the tables",
                servers=listed(servers),
            )
        )
    return EXIT_OK


def _merged(tables: Sequence[RankTable], files: Sequence[str], order: Order) -> RankTable:
    try:
        return merge(tables, names=files, order=order)
    except KitError as error:
        made = [file for file in files if is_merged(Path(file).name)]
        if made and len(made) < len(files):
            raise KitError(
                error.message,
                hint=Message(
                    "cli.merge.leave-out-earlier", "leave out {made}, which an earlier merge wrote", made=listed(made)
                ),
            ) from error
        raise


def _refuse_input(path: Path, files: Sequence[str]) -> None:
    """Raises KitError if `path` is one of the files to read, which would be overwritten."""
    if path.exists() and any(Path(file).exists() and path.samefile(file) for file in files):
        raise KitError(
            "cli.merge.both-output-tables",
            "{path} is both the output and one of the tables to merge",
            fix="-o OTHER.json; or move it away, if an earlier merge wrote it",
            path=path,
        )


def _files(given: Sequence[str]) -> list[str]:
    """The files to read, in the order given, those of a folder or pattern in natural order, without duplicates."""
    files: list[str] = []
    for path in given:
        if not path:  # an unset variable; as a folder it would be the root of all
            raise KitError("cli.merge.not-path-table", "'' is not the path of a table")
        if Path(path).is_dir():
            files += _in_folder(escape(path.rstrip("/") or path), path)
        elif has_magic(path) and not Path(path).exists():
            files += _matching(path, path)
        else:
            files.append(path)
    twice = [file for file, times in Counter(files).items() if times > 1]
    if twice:
        raise KitError("cli.merge.listed-twice", "{twice} is listed twice", twice=twice[0])
    return files


def _in_folder(folder: str, given: str) -> list[str]:
    tables = _matching(f"{folder}/hccl_*.json", given, hint=f"hccl-merge {shlex.quote(f'{folder}/*.json')}")
    others = sorted(set(glob(f"{folder}/*.json")) - set(glob(f"{folder}/hccl_*.json")), key=natural)  # noqa: PTH207
    if others:
        files = listed(others)
        complain(Message("cli.merge.other-names", "note: not named hccl_*.json, so left out: {files}", files=files))
    return tables


def _matching(pattern: str, given: str, hint: str | None = None) -> list[str]:
    files = sorted(glob(pattern), key=natural)  # noqa: PTH207 - pathlib takes no absolute pattern
    merged = [file for file in files if is_merged(Path(file).name)]
    for file in merged:
        complain(Message("cli.merge.earlier", "note: {file} is left out, an earlier merge wrote it", file=file))
    rest = [file for file in files if file not in set(merged)]
    if not rest:
        raise KitError(
            "cli.merge.contains-no-rank",
            "{given} contains no rank table; looked for {pattern}",
            hint=hint,
            given=given,
            pattern=pattern,
        )
    return rest


main = program(make_parser, _merge)


if __name__ == "__main__":
    raise SystemExit(main())
