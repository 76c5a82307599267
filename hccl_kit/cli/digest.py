"""hccl-kit digest: a sum that is equal for tables that mean the same."""

from __future__ import annotations

from collections.abc import Sequence

from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.base.terminal import printable
from hccl_kit.cli import complain, run
from hccl_kit.cli.tables import read_any_table
from hccl_kit.table.operations.digest import digest


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line for every table; the exit code is 0, or 2 where one cannot be read."""
    parser = Parser(
        prog="hccl-kit digest",
        description="Print the SHA-256 of what each rank table means, one line a file as sha256sum does. White space"
        " and the order of keys, servers, devices, super pods and groups do not count; ranks, addresses, the status,"
        " wrong counts and unknown keys do. Tables of two versions always differ.",
        epilog="Exit code: 0 done, 2 a table could not be read.",
        allow_abbrev=False,
    )
    parser.add_argument("tables", nargs="+", metavar="TABLE", help='a rank table, or "-"')
    options = parser.parse(argv)
    return run(lambda: _digest(options.tables))


def _digest(files: Sequence[str]) -> int:
    code = EXIT_OK
    for file in files:
        try:
            print(f"{digest(read_any_table(file))}  {printable(file)}")
        except KitError as error:
            complain(error.render())
            code = error.exit_code
    return code


if __name__ == "__main__":
    raise SystemExit(main())
