"""Show what the ranks of a running or ended job do, which is slowest, and by how much.

RUN is the log folder of a run (default: hccl_logs/latest), or the folder of a training
(train.ckpt_save_dir). With a rank table among the arguments and --ssh, every server of the table
is asked what its ranks do; RUN is then the folder on the servers. Only files are read, so the job
is not disturbed. HCCL_KIT_SSH replaces ssh, as in "ssh -F FILE".

examples:
  hccl-kit watch
  hccl-kit watch --once --format json
  hccl-kit watch hccl_logs/latest --serve
  hccl-kit watch hccl_2s_16p.json --ssh --html run.html

Exit codes: 0 no problem was found; 1 a problem was found, see the lines "problem:"; 2 no run was
found, or could not run; 130 ended by Ctrl-C.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_FINDINGS, EXIT_OK, KitError
from hccl_kit.cli import run
from hccl_kit.cli.options import add_remote, add_timeout, path_with
from hccl_kit.cli.output_files import check_file
from hccl_kit.cli.watch_steps import Source, follow, write_page
from hccl_kit.watch.view import Job

LOCAL, REMOTE = 2.0, 10.0
"""Seconds between two reads of a folder or over ssh, unless --interval is given."""
LEAST = 0.2


class WatchRequest(NamedTuple):
    """The command line of hccl-kit watch."""

    run: Sequence[str]
    once: bool
    format: str
    interval: float | None
    html: Path | None
    force: bool
    serve: int | None
    ssh: bool
    ssh_option: Sequence[str]
    remote: str | None
    timeout: float


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit code."""
    return run(lambda: _watch(WatchRequest(**vars(make_parser().parse(argv)))))


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit watch", doc=__doc__)
    parser.add_argument(
        "run", metavar="RUN", nargs="*", help="the folder of a run; with --ssh also a rank table (TABLE)"
    )
    parser.add_argument("--once", action="store_true", help="show the ranks once, then end")
    parser.add_argument(
        "--format",
        choices=["text", "json"],
        default="text",
        help="json prints the ranks once, as one line (default: text)",
    )
    parser.add_argument(
        "--interval",
        metavar="SECONDS",
        type=_interval,
        help=f"seconds between two reads (default: {LOCAL:g}, over ssh {REMOTE:g})",
    )
    group = parser.add_argument_group("a page with curves")
    group.add_argument(
        "--html",
        metavar="FILE",
        type=path_with(".html", "--html"),
        help="write the page to FILE, which ends in .html, after every read",
    )
    group.add_argument("--force", action="store_true", help="overwrite a file that exists")
    group.add_argument(
        "--serve",
        metavar="PORT",
        nargs="?",
        const=0,
        type=_port,
        help="serve the page on 127.0.0.1 and print its address (default of PORT: a free one)",
    )
    group = parser.add_argument_group("several servers")
    group.add_argument("--ssh", action="store_true", help="ask every server of TABLE over ssh")
    add_remote(group)
    add_timeout(group, 30.0)
    return parser


def _interval(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not LEAST <= number <= 86400:
        raise KitError(f"--interval must be {LEAST:g} to 86400 seconds, got {text[:40]!r}")
    return number


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 5 and int(text) <= 65535):
        raise KitError(f"--serve must be a port from 0 to 65535, got {text[:40]!r}", hint="name RUN before --serve")
    return int(text)


def _watch(request: WatchRequest) -> int:
    if request.html:
        check_file(request.html)
        if os.path.lexists(request.html) and not request.force:
            raise KitError(f"{request.html} exists", hint="--force overwrites it, or write to another file")
    if request.serve is not None and (request.once or request.format == "json"):
        raise KitError("--serve cannot be combined with --once or --format json")
    source = _source(request)
    if request.once or request.format == "json":
        found = source.look()
        write_page(request.html, found)
    else:
        interval = request.interval or (REMOTE if request.ssh else LOCAL)
        found = follow(source, interval, html=request.html, port=request.serve)
    _print(found, request)
    return EXIT_OK if found.is_well else EXIT_FINDINGS


def _source(request: WatchRequest) -> Source:
    """The folder or the servers to read. Raises KitError if the arguments contradict each other."""
    from hccl_kit.watch import run_folder  # noqa: PLC0415 - not for --help
    from hccl_kit.watch.look import Folder  # noqa: PLC0415

    tables = [name for name in request.run if name.endswith(".json") and not Path(name).is_dir()]
    runs = [name for name in request.run if name not in tables]
    if len(runs) > 1 or len(tables) > 1:
        raise KitError(f"{len(request.run)} arguments; accepted: RUN, and with --ssh a rank table")
    if not request.ssh:
        if tables or request.ssh_option or request.remote:
            raise KitError(f"{tables[0]} needs --ssh" if tables else "--ssh-option and --remote need --ssh")
        return Folder(run_folder.find(Path(runs[0]) if runs else None))
    if not tables:
        raise KitError("--ssh needs a rank table that lists the servers", hint="hccl-kit watch TABLE --ssh")
    from hccl_kit.cli.tables import read_table  # noqa: PLC0415 - only with --ssh
    from hccl_kit.launch.plan import address_of  # noqa: PLC0415
    from hccl_kit.preflight.over_ssh import program_there, ssh_command  # noqa: PLC0415
    from hccl_kit.watch.over_ssh import Server, Servers  # noqa: PLC0415

    given = Path(runs[0]) if runs else run_folder.DEFAULT
    here = run_folder.find(given) if given.is_dir() else given  # its name is the same on all servers of a start
    servers = [Server(one.id, address_of(one)) for one in read_table(tables[0]).servers]
    return Servers(
        servers,
        str(Path.cwd() / here),
        ssh=ssh_command(os.environ, request.ssh_option),
        program=program_there(request.remote),
        timeout=request.timeout,
    )


def _print(job: Job, request: WatchRequest) -> None:
    if request.format == "json":
        from hccl_kit.watch.json_form import as_json  # noqa: PLC0415 - only with --format json

        print(as_json(job))
        return
    from hccl_kit.watch.text import as_text  # noqa: PLC0415

    print(as_text(job))
