"""Show what the ranks of a running or ended job do, which is slowest, and by how much.

RUN is the log folder of a run (default: hccl_logs/latest), or the folder of a training
(train.ckpt_save_dir). With a rank table among the arguments and --ssh, every server of the table
is asked what its ranks do; RUN is then the folder on the servers. Only files are read, so the job
is not disturbed; for --dump, its ranks write one. HCCL_KIT_SSH replaces ssh, as in "ssh -F FILE".

examples:
  hccl-kit watch
  hccl-kit watch --once --format json
  hccl-kit watch hccl_logs/latest --html run.html
  hccl-kit watch hccl_2s_16p.json --ssh
  hccl-kit watch --dump /tmp/pipe_

Exit codes: 0 no problem was found; 1 a problem was found, see the lines "problem:"; 2 no run was
found, or could not run; 130 ended by Ctrl-C.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.arguments import Parser
from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import EXIT_FINDINGS, EXIT_OK, KitError
from hccl_kit.base.extra import install_extra
from hccl_kit.base.message import Message
from hccl_kit.base.output_place import assert_free_files
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import as_note
from hccl_kit.cli import complain, program
from hccl_kit.cli.options import add_reach, add_timeout, number, path_with
from hccl_kit.cli.tables import needs_table, read_table
from hccl_kit.remote.probe import Reach
from hccl_kit.watch import live_dump, run_folder
from hccl_kit.watch.html import as_html
from hccl_kit.watch.json_form import as_json
from hccl_kit.watch.look import Folder, Source, states
from hccl_kit.watch.over_ssh import Servers
from hccl_kit.watch.text import as_line, as_problem, as_text
from hccl_kit.watch.view import WatchedJob, problems

LOCAL, REMOTE = 2.0, 10.0
"""Seconds between two reads of a folder or over ssh, unless --interval is given."""
LEAST = 0.2


class WatchRequest(NamedTuple):
    """The command line of hccl-kit watch."""

    run: Sequence[str]
    once: bool
    format: str
    dump: str | None
    interval: float | None
    html: Path | None
    force: bool
    ssh: bool
    ssh_option: Sequence[str]
    python: Sequence[str]
    timeout: float


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
        "--dump",
        metavar="STEM",
        help="once; ask the ranks of torch on this host for their collectives, by their pipes STEM<rank>.pipe",
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
        help="write the page to FILE, which ends in .html, after every read; in a browser it reloads itself",
    )
    group.add_argument("--force", action="store_true", help="overwrite a file that exists")
    group = parser.add_argument_group("several servers")
    group.add_argument("--ssh", action="store_true", help="ask every server of TABLE over ssh")
    add_reach(group)
    add_timeout(group, 30.0)
    return parser


def _interval(text: str) -> float:
    seconds = number(text)
    if not LEAST <= seconds <= 86400:
        raise KitError(
            "cli.watch.interval-must-86400",
            "--interval must be {least:g} to 86400 seconds, got {text!r}",
            least=LEAST,
            text=text[:40],
        )
    return seconds


def _watch(request: WatchRequest) -> int:
    if request.html:
        assert_free_files([request.html], "--html", force=request.force)
    source = _source(request)
    if request.once or request.dump is not None or request.format == "json":
        job = source.look()
        if request.dump is not None and isinstance(source, Folder):
            dumps = live_dump.notes(run_folder.attempt(source.path).folder, request.dump)
            job = job._replace(notes=(*job.notes, *dumps))
        _write_page(request.html, job)
    else:
        job = _follow(source, request.interval or (REMOTE if request.ssh else LOCAL), request.html)
    print(as_json(job) if request.format == "json" else as_text(job))
    return EXIT_OK if job.is_well else EXIT_FINDINGS


def _source(request: WatchRequest) -> Source:
    """The folder or the servers to read. Raises KitError if the arguments contradict each other."""
    tables = [name for name in request.run if name.endswith(".json") and not Path(name).is_dir()]
    runs = [name for name in request.run if name not in tables]
    if len(runs) > 1 or len(tables) > 1:
        raise KitError(
            "cli.watch.arguments-run-ssh",
            "{count} arguments; accepted: RUN, and with --ssh a rank table",
            count=len(request.run),
        )
    if not request.ssh:
        if tables or request.ssh_option or request.python:
            raise KitError(
                Message("cli.watch.needs-ssh", "{tables} needs --ssh", tables=tables[0])
                if tables
                else Message("cli.watch.only-with-ssh", "--ssh-option and --python need --ssh")
            )
        return Folder(run_folder.find(Path(runs[0]) if runs else None))
    if request.dump is not None:
        raise KitError(
            "cli.watch.dump-ssh", "--dump asks the ranks of this host", fix="run it on each server, without --ssh"
        )
    if not tables:
        raise needs_table("hccl-kit watch")
    given = Path(runs[0]) if runs else run_folder.DEFAULT
    here = run_folder.find(given) if given.is_dir() else given  # its name is the same on all servers of a start
    return Servers(
        read_table(tables[0]).servers,
        str(Path.cwd() / here),
        Reach.of(request.ssh_option, request.python, request.timeout),
    )


def _follow(source: Source, interval: float, html: Path | None) -> WatchedJob:
    """Show a job until it is over; returns its last state. A page that is not written again does not reload."""
    every = states(source, interval)
    job = first = next(every)  # raises before a screen is opened
    try:
        with _shown() as show:
            for job in chain([first], every):
                show(job)
                _write_page(html, job, again_in=interval)
    finally:
        _write_page(html, job)
    return job


def _write_page(path: Path | None, job: WatchedJob, *, again_in: float | None = None) -> None:
    if path is not None:
        write_atomically(path, as_html(job, again_in=again_in))


@contextmanager
def _shown() -> Iterator[Callable[[WatchedJob], None]]:
    """Yields a function that shows a job: in place on a terminal, otherwise as a line for each read."""
    if sys.stdout.isatty() and find_spec("rich"):
        from hccl_kit.watch.screen import screen  # noqa: PLC0415 - optional

        with screen() as show:
            yield show
    else:
        if sys.stdout.isatty():
            install = install_extra("watch")
            complain(
                Message("cli.watch.rich", "note: for a table that is refreshed in place: {install}", install=install)
            )
        yield _Lines().show


class _Lines:
    """Prints a line for each read, and one for each new problem or note."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.notes: tuple[str, ...] = ()

    def show(self, job: WatchedJob) -> None:
        clock = time.strftime("%T", time.localtime(job.time))
        print(clock, translated(as_line(job)), flush=True)
        # The rest of a problem changes all the time.
        kinds = {re.split(" since | for |:", problem)[0]: problem for problem in problems(job)}
        for kind, problem in kinds.items():
            if kind not in self.known:
                print(clock, translated(as_problem(problem)), flush=True)
        self.known = set(kinds)
        for note in job.notes:
            if note not in self.notes:
                print(clock, translated(as_note(note)), flush=True)
        self.notes = job.notes


main = program(make_parser, lambda **given: _watch(WatchRequest(**given)))
