"""hccl-gen: write the rank table of one server and its launch script, or the rank table of many servers.

Only the parser is here, so that `--help` starts quickly; the work is in `gen_steps`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence

from hccl_kit.base.arguments import Parser, a_path, command_or, split_command
from hccl_kit.cli import complain, exit_code_of
from hccl_kit.cli.default_command import IN_CHECKOUT, INSTALLED, default_command
from hccl_kit.cli.options import add_framework, add_job
from hccl_kit.runtime.worker_env import VISIBLE_DEVICES

TYPE_CHECKING = False  # not from typing, whose import takes 3 ms of every start

if TYPE_CHECKING:
    from hccl_kit.cli.gen_request import GenRequest
    from hccl_kit.table.products import Product

_EPILOG = f"""\
Everything after -- is the command that each rank runs. The default (in a checkout; elsewhere):
  {" ".join(IN_CHECKOUT)}
  {" ".join(INSTALLED)}

examples:
  hccl-gen --device_num "[0,8)"
  hccl-gen --device_num "[4,8)" -- python -u train.py --epochs 3
  hccl-gen --device_num "[4,8)" --framework pytorch -- python -u train_ddp.py
  hccl-gen --device_num "[0,4)" --visible_devices 4,5,6,7
  hccl-gen --device_num "[0,8)" --simulate --dry-run
  hccl-gen --device_num "[0,8)" --hosts "node[01-16]" --inventory inventory.yaml
  hccl-gen --device_num "[0,16)" --hosts all --inventory inventory.yaml --product a3
  mpirun -n 16 --map-by ppr:1:node hccl-gen --device_num "[0,8)" --mpi

Exit codes: 0 written; 2 nothing was written.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Write `hccl_{n}p_{ids}_{server}.json` and `ascend{n}p.sh`, or for several servers `hccl_{s}s_{n}p.json`.

    The exit code is 0, or 2 if nothing was written.
    """
    words, command = split_command(argv)

    def program() -> int:
        if "--mpi" not in words:
            request = request_of(words, command, complain)
            from hccl_kit.cli.gen_steps import generate_files  # noqa: PLC0415 - --help does not load it

            return generate_files(request)
        from hccl_kit.cli.gen_steps import generate_by_mpi  # noqa: PLC0415

        return generate_by_mpi(lambda warn: request_of(words, command, warn))

    return exit_code_of(program)


def request_of(
    words: Sequence[str], command: tuple[str, ...] | None, warn: Callable[[str], None], *, option: str = "--device_num"
) -> GenRequest:
    """What the words before -- and the command after it ask for; `option` is what the user calls --device_num.

    Raises KitError if they contradict each other.
    """
    given = vars(make_parser().parse(words))
    # --help does not load these.
    from hccl_kit.cli.gen_devices import Devices  # noqa: PLC0415
    from hccl_kit.cli.gen_request import GenRequest, check_request, hosts_of  # noqa: PLC0415

    command = command_or(lambda: default_command(warn), command)
    devices = Devices.parse(given.pop("device_num"), given.pop("visible_devices"), option)
    hosts = given.pop("hosts")
    visible = os.environ.get(VISIBLE_DEVICES)
    if visible and devices.logical is None and hosts is None:
        warn(
            f"note: {option} is read as physical ids; {VISIBLE_DEVICES}={visible} is ignored"
            " (--visible_devices IDS counts within them)"
        )
    hosts = None if hosts is None else hosts_of(hosts, simulate=given["simulate"])
    return check_request(GenRequest(command=command, devices=devices, hosts=hosts, **given))


def _product(name: str) -> Product:
    from hccl_kit.table.products import find_product  # noqa: PLC0415 - --help does not load it

    return find_product(name)


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(
        prog="hccl-gen",
        usage="hccl-gen --device_num RANGE [options] [-- COMMAND ...]",
        description="Write the HCCL rank table of this server and the script that starts one process per card, or the\n"
        "one table of many servers.",
        epilog=_EPILOG,
        takes_command=True,
    )
    job = parser.add_argument_group("the job")
    job.add_argument(
        "--device_num",
        "--device-num",
        metavar="RANGE",
        required=True,
        help='the cards: "[4,8)" (8 excluded), "[4,7]" (7 included), "0-3,6", "4,5,6,7", "4"',
    )
    job.add_argument(
        "--visible_devices",
        "--visible-devices",
        metavar="IDS",
        help="physical ids that the job may use; --device_num then counts within them, from 0",
    )
    job.add_argument(
        "--server_ip",
        "--server-ip",
        dest="server",
        metavar="ADDRESS",
        help="the id of this server in the table (default: the address that HCCL would choose)",
    )
    job.add_argument(
        "--product",
        metavar="NAME",
        type=_product,
        default="910",
        help="the hardware that the table is for: 910, a2, a2-box16, a3, a5, 300i-duo (default: 910)",
    )
    job.add_argument(
        "--table-version",
        dest="version",
        metavar="VERSION",
        choices=("1.0", "1.2", "2.0"),
        help="version of the rank table: 1.0, 1.2 or 2.0 (default: 2.0 for a5; 1.2 for a3 if the super pods are known;"
        " else 1.0)",
    )
    add_framework(job, "programs of pytorch see only the cards of the job, numbered from 0 (default: all cards)")
    many = job.add_mutually_exclusive_group()
    many.add_argument(
        "--hosts",
        metavar="LIST",
        help='one table of many servers: "node[01-16]", "10.0.0.1,10.0.0.2", or "all": every server of the inventory',
    )
    many.add_argument("--mpi", action="store_true", help="one table of the servers on which mpirun starts this program")
    source = parser.add_argument_group("where card addresses come from (default: hccn_tool, else /etc/hccn.conf)")
    one = source.add_mutually_exclusive_group()
    one.add_argument("--hccn-conf", metavar="FILE", type=a_path, help="read the driver's file, or a copy of it")
    one.add_argument("--inventory", metavar="FILE", type=a_path, help="read a YAML file of servers and their cards")
    one.add_argument(
        "--simulate", action="store_true", help="no hardware needed: use addresses that exist in no network"
    )
    output = parser.add_argument_group("what is written")
    output.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=a_path,
        default=".",
        help="where to write; a missing folder is created (default: the current folder)",
    )
    output.add_argument("--output-dir", dest="output", type=a_path, default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    output.add_argument("--force", action="store_true", help="overwrite files with other content")
    output.add_argument("--dry-run", action="store_true", help="print what would be written, write nothing")
    add_job(parser.add_argument_group("several jobs on a host"))
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
