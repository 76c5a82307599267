"""hccl-kit launch: from a rank table and a command to what starts the job, in one of several ways."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.cli import complain, run
from hccl_kit.cli.default_command import default_command


class Way(NamedTuple):
    """A way of starting: the module of its emitter, the options it takes, and what to do with the files.

    In the next step, {0} is the first file and {1} the secret of the job.
    """

    module: str
    options: tuple[str, ...]
    next_step: str
    of_several: str | None = None
    """The next step where there are several servers, if it is another."""


_OF_PODS = ("name", "image", "namespace", "product")

WAYS: Mapping[str, Way] = {
    "bash": Way("bash", (), "bash {0}", "copy both files to one path on every server, then: bash {0} --ssh"),
    "mpirun": Way("mpirun", (), "bash {0}"),
    "msrun": Way("msrun", (), "bash {0}", "copy {0} and {1} to one path on every server, then there: bash {0}"),
    "slurm": Way("slurm", ("job_name", "partition", "time", "gres"), "sbatch {0}"),
    "ascendjob": Way("ascendjob", (*_OF_PODS, "framework", "host_network"), "kubectl apply -f {0}"),
    "volcano": Way("volcano", (*_OF_PODS, "fixed_table"), "kubectl apply -f {0}"),
}

_EPILOG = """\
examples:
  hccl-kit launch hccl_2s_16p.json --to bash -- python -u train.py --epochs 3
  hccl-kit launch hccl_2s_16p.json --to slurm --partition npu --gres npu:8 -o jobs
  hccl-kit launch hccl_2s_16p.json --to ascendjob --image registry/train:1 --dry-run

Exit codes: 0 written, 2 not (a plan that this way cannot start, files that are there already).
"""


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    at = given.index("--") if "--" in given else len(given)
    options = _parser().parse(given[:at])
    command = tuple(given[at + 1 :])

    def program() -> int:
        if at < len(given) and not command:
            raise KitError("no command follows --", hint="leave -- out to take the default command")
        return _launch(options, command or default_command(complain))

    return run(program)


def _launch(options: argparse.Namespace, command: Sequence[str]) -> int:
    from hccl_kit.cli.output_files import OutputFile, check_folder, show_files, write_files  # noqa: PLC0415 - see main
    from hccl_kit.cli.ways import files_of, judged_plan, table_file  # noqa: PLC0415
    from hccl_kit.launch.secret_file import make_secret, secret_of  # noqa: PLC0415

    way = WAYS[options.to]
    wishes = _wishes(options, way)
    folder = Path(options.output_dir or (Path(options.table).parent if options.table != "-" else "."))
    check_folder(folder)
    table, file, doubt = table_file(options.table, options.product)
    plan, warnings = judged_plan(table, file, command, options.to)
    for warning in [*([doubt] if doubt else []), *warnings]:
        complain(warning)
    made = files_of(way.module, plan, file, wishes)
    files = [OutputFile(folder / name, text, mode) for name, text, mode in made]
    if way.module in ("bash", "slurm"):
        files.append(OutputFile(folder / file.name, file.text))
    is_linked = way.module in ("bash", "msrun") and len(plan.nodes) > 1
    secret = secret_of(files[0].path) if is_linked else None
    if options.dry_run:
        show_files(files, force=options.force)
        if secret and not secret.exists():
            print(f"would write: {secret} (a random secret)")
        return EXIT_OK
    said = write_files(files, force=options.force)
    if secret and make_secret(secret):
        said.append(f"wrote: {secret}")
    step = (len(plan.nodes) > 1 and way.of_several) or way.next_step
    print(*said, f"next: {step.format(*(shlex.quote(str(path)) for path in (files[0].path, secret)))}", sep="\n")
    return EXIT_OK


def _wishes(options: argparse.Namespace, way: Way) -> dict[str, Any]:
    """The options that were given, which must all be of this way; the table of any way is judged by a product."""
    all_options = {name for other in WAYS.values() for name in other.options}
    given = {name: value for name in all_options if (value := getattr(options, name)) is not None}
    if "product" not in way.options:
        given.pop("product", None)
    for name in sorted(given.keys() - set(way.options)):
        ways = ", ".join(other for other, row in WAYS.items() if name in row.options)
        raise KitError(f"--{name.replace('_', '-')} is for --to {ways}, not for --to {options.to}")
    return given


def _parser() -> Parser:
    parser = Parser(
        prog="hccl-kit launch",
        usage="hccl-kit launch TABLE --to WAY [options] [-- COMMAND ...]",
        description="Write what starts a command once for every rank of a table: a script or a manifest.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        takes_command=True,
    )
    parser.add_argument("table", metavar="TABLE", help='the rank table; "-" is standard input')
    parser.add_argument("--to", metavar="WAY", choices=list(WAYS), required=True, help=", ".join(WAYS))
    parser.add_argument(
        "--product",
        metavar="NAME",
        help="the product that the table is checked for (default: derived from its version);"
        " for ascendjob and volcano also the cards to ask for: 910 (default), a2, a3",
    )
    output = parser.add_argument_group("what is written")
    output.add_argument("-o", "--output-dir", metavar="DIR", help="where to write (default: the folder of the table)")
    output.add_argument("--force", action="store_true", help="overwrite files that hold something else")
    output.add_argument("--dry-run", action="store_true", help="print what would be written, write nothing")
    slurm = parser.add_argument_group("for slurm")
    slurm.add_argument("--job-name", metavar="NAME", help="what squeue shows")
    slurm.add_argument("--partition", metavar="NAME", help="where the job is queued")
    slurm.add_argument("--time", metavar="LIMIT", help="such as 12:00:00")
    slurm.add_argument("--gres", metavar="GRES", help="cards to ask for on each node, such as npu:8")
    pods = parser.add_argument_group("for ascendjob and volcano")
    pods.add_argument("--name", metavar="NAME", help="of the job")
    pods.add_argument("--image", metavar="IMAGE", help="of the containers; needed")
    pods.add_argument("--namespace", metavar="NAME", help="of Kubernetes (default: default)")
    pods.add_argument("--framework", choices=("mindspore", "pytorch"), help="ascendjob: default mindspore")
    pods.add_argument("--host-network", action="store_const", const=True, help="ascendjob: the network of the hosts")
    pods.add_argument(
        "--fixed-table", action="store_const", const=True, help="volcano: the ranks read TABLE, not the cluster's own"
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
