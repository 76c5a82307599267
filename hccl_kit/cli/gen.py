"""hccl-gen: the rank table of one server and its launch script, or the rank table of many, from a range of cards.

Only the parser is here, so that `--help` is quick; the work is in `gen_steps`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from hccl_kit import __version__
from hccl_kit.base.arguments import Parser
from hccl_kit.cli import complain, run
from hccl_kit.cli.default_command import IN_CHECKOUT, INSTALLED, default_command

_EPILOG = f"""\
Everything after -- is the command that each rank runs; without it, in a checkout of hccl-kit and elsewhere:
  {" ".join(IN_CHECKOUT)}
  {" ".join(INSTALLED)}

examples:
  hccl-gen --device_num "[0,8)"
  hccl-gen --device_num "[4,8)" -- python -u train.py --epochs 3
  hccl-gen --device_num "[0,4)" --visible_devices 4,5,6,7
  hccl-gen --device_num "[0,8)" --simulate --dry-run
  hccl-gen --device_num "[0,8)" --hosts "node[01-16]" --inventory inventory.yaml
  hccl-gen --device_num "[0,16)" --hosts all --inventory inventory.yaml --product a3
  mpirun -n 16 --map-by ppr:1:node hccl-gen --device_num "[0,8)" --mpi
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Write `hccl_{n}p_{ids}_{server}.json` and `ascend{n}p.sh`, or for several servers `hccl_{s}s_{n}p.json`.

    The exit code is 0, or 2 where nothing was done.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    at = given.index("--") if "--" in given else len(given)
    options = _parser().parse(given[:at])

    def program() -> int:
        command = default_command(complain) if at == len(given) else tuple(given[at + 1 :])
        # Here and not above: --help and --version must not pay for it.
        from hccl_kit.cli.gen_steps import generate_files  # noqa: PLC0415

        return generate_files(options, command)

    return run(program)


def _parser() -> Parser:
    parser = Parser(
        prog="hccl-gen",
        usage="hccl-gen --device_num RANGE [options] [-- COMMAND ...]",
        description="Write the HCCL rank table of this server and the script that starts one process per card,"
        " or the one table of many servers.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        takes_command=True,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    job = parser.add_argument_group("the job")
    job.add_argument(
        "--device_num",
        "--device-num",
        metavar="RANGE",
        required=True,
        help='the cards: "[4,8)" without 8, "[4,7]" with 7, "0-3,6", "4,5,6,7", "4"',
    )
    job.add_argument(
        "--visible_devices",
        "--visible-devices",
        metavar="IDS",
        help="physical ids this process may see; --device_num then counts from 0 within them",
    )
    job.add_argument(
        "--server_ip",
        "--server-ip",
        metavar="ADDRESS",
        help="the server's id in the table (default: the address HCCL itself would choose)",
    )
    job.add_argument(
        "--product",
        metavar="NAME",
        default="910",
        help="whose rules apply: 910 (default), a2, a2-box16, a3, a5, 300i-duo",
    )
    job.add_argument(
        "--table-version",
        metavar="VERSION",
        choices=("1.0", "1.2", "2.0"),
        help="1.0, 1.2 or 2.0 (default: 2.0 on a5; 1.2 on a3 where its super pods are known; else 1.0)",
    )
    many = job.add_mutually_exclusive_group()
    many.add_argument(
        "--hosts",
        metavar="LIST",
        help='one table of many servers: "node[01-16]", "10.0.0.1,10.0.0.2", or all of the inventory: "all"',
    )
    many.add_argument("--mpi", action="store_true", help="one table of all servers that mpirun started a process on")
    source = parser.add_argument_group("where card addresses come from (default: hccn_tool, else /etc/hccn.conf)")
    one = source.add_mutually_exclusive_group()
    one.add_argument("--hccn-conf", metavar="FILE", help="the driver's file, or a copy of it")
    one.add_argument("--inventory", metavar="FILE", help="YAML: server to device id to address, or more")
    one.add_argument("--simulate", action="store_true", help="no hardware: addresses that no network has")
    output = parser.add_argument_group("what is written")
    output.add_argument("--output-dir", metavar="DIR", default=".", help="where to write (default: the current folder)")
    output.add_argument("--force", action="store_true", help="overwrite files that hold something else")
    output.add_argument("--dry-run", action="store_true", help="print what would be written, write nothing")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
