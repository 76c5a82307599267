"""Read the logs of a failed job and report which rank failed first, who waited for it, and the fix.
If the logs do not show it, the most telling line is explained.

LOG is a file, a folder or an archive: logs of CANN (plogs, debug and run), output of launchers,
error_<rank>.json. Without LOG, it is hccl_logs/latest, the last run of hccl-kit here. Keep the logs
of each server in a folder of its own; the clocks of the servers may differ. A rank table among the
arguments says which rank ran where, and which ranks have no log.

examples:
  hccl-kit diagnose ~/ascend/log hccl_2s_16p.json
  hccl-kit diagnose hccl_logs/latest --format json
  hccl-kit diagnose job-logs.tar.gz --html report.html --mask
  hccl-kit diagnose hccl_2s_16p.json --ssh --remote-folder /data/job/ascend
  hccl-kit diagnose ~/ascend/log runs/mine --collect for-the-issue.tar.gz

HCCL_KIT_SSH replaces ssh, as in "ssh -F FILE".

Exit codes: 0 the first fault is named; 1 the logs do not show it; 2 nothing could be read.
"""

from __future__ import annotations

import getpass
import json
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.arguments import Parser
from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.colors import with_headings, with_labels
from hccl_kit.base.errors import EXIT_FINDINGS, EXIT_OK, KitError
from hccl_kit.base.message import Message
from hccl_kit.base.output_place import assert_free_files, assert_takes_file
from hccl_kit.base.paragraph import paragraph_width
from hccl_kit.base.progress import show_progress
from hccl_kit.base.terminal import clean, printable, wants_color
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import as_note, row
from hccl_kit.check.engine import check_text
from hccl_kit.cli import complain, program
from hccl_kit.cli.options import add_force, add_format, add_ssh_option, add_timeout, path_with
from hccl_kit.cli.output_files import OutputFile, write_files
from hccl_kit.cli.report import parts_of
from hccl_kit.cli.tables import needs_table
from hccl_kit.diagnosis.answer_text import as_page
from hccl_kit.diagnosis.collecting import collect
from hccl_kit.diagnosis.job import diagnosis_of
from hccl_kit.diagnosis.logs.remote import Host, Remote
from hccl_kit.diagnosis.logs.sources import listing
from hccl_kit.diagnosis.masking import Masker
from hccl_kit.diagnosis.most_telling import Telling
from hccl_kit.diagnosis.report.html import as_html
from hccl_kit.diagnosis.report.json_form import as_json
from hccl_kit.diagnosis.report.masked import masked
from hccl_kit.diagnosis.report.text import as_text
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis
from hccl_kit.launch.plan import address_of
from hccl_kit.remote.ssh import ssh_start
from hccl_kit.table.model import RankTable
from hccl_kit.table.reading import load
from hccl_kit.watch import run_folder


class DiagnoseRequest(NamedTuple):
    """The command line of hccl-kit diagnose."""

    logs: Sequence[str]
    form: str
    html: Path | None
    collect: Path | None
    force: bool
    mask: bool
    ssh: bool
    ssh_option: Sequence[str]
    remote_folder: str | None
    timeout: float


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit diagnose", doc=__doc__)
    parser.add_argument("logs", metavar="LOG", nargs="*", help="logs of the job, and optionally its rank table (TABLE)")
    add_format(parser)
    parser.add_argument(
        "--html",
        metavar="FILE",
        type=path_with(".html", "--html"),
        help="also write a page with graph and timeline to FILE, which ends in .html",
    )
    parser.add_argument(
        "--collect",
        metavar="FILE",
        type=path_with(".tar.gz", "--collect"),
        help="also write the logs, dmesg and `hccl-kit report`, all masked, to FILE, which ends in .tar.gz",
    )
    add_force(parser)
    parser.add_argument(
        "--mask",
        action="store_true",
        help="hide addresses, host names, users, folders, passwords and keys, for a public issue",
    )
    group = parser.add_argument_group("logs of the servers of TABLE")
    group.add_argument("--ssh", action="store_true", help="also read the logs of every server over ssh")
    add_ssh_option(group)
    group.add_argument(
        "--remote-folder",
        metavar="FOLDER",
        help="folder of the logs on the servers (default: ASCEND_PROCESS_LOG_PATH there, else ~/ascend/log)",
    )
    add_timeout(group, 600.0)
    return parser


def _diagnose(request: DiagnoseRequest) -> int:
    if request.html:
        assert_takes_file(request.html, "--html")
    if request.collect:
        assert_free_files([request.collect], "--collect", force=request.force)
    table, logs = _table_and_logs(request.logs)
    remote = _remote(request, table)
    if not (logs or remote):
        logs = [run_folder.find(None)]
        complain(Message("cli.diagnose.last-run", "logs: {folder}, the last run here", folder=printable(str(logs[0]))))
    if request.collect:
        _collect(request.collect, logs, is_new=not request.force)
    with show_progress("reading logs") as progress:
        diagnosis, telling = diagnosis_of(logs, table, progress, remote)
    if request.mask:
        diagnosis = masked(diagnosis, [socket.gethostname()], _users_here())
    if request.html:
        _write_page(diagnosis, request.html, force=request.force)
    if request.form == "json":
        print(as_json(diagnosis))
    else:
        text = as_text(diagnosis)
        print(with_headings(text) if wants_color(sys.stdout) else text)
        if telling and not (request.mask or request.html):
            print(f"\n{_explained(telling)}")
    return EXIT_FINDINGS if diagnosis.first_fault is None else EXIT_OK


def _collect(path: Path, logs: Sequence[Path], *, is_new: bool) -> None:
    """Write the logs, the kernel's messages and the report of this machine, without what a stranger must not see."""
    given, notes = listing(logs)
    mask = Masker([socket.gethostname()], _users_here(), home=os.environ.get("HOME", ""))
    collected = collect(given, {"report.json": json.dumps(parts_of(None)[0], indent=2)}, mask)
    write_atomically(path, collected.data, mode=0o600, is_new=is_new)
    for note in [*notes, *collected.notes]:
        complain(as_note(note))
    complain(Message("cli.diagnose.wrote", "wrote: {file}; read it before you publish it", file=printable(str(path))))


def _explained(telling: Telling) -> str:
    """What the most telling line says."""
    page = clean(as_page(telling.explanation, paragraph_width()))
    place = Message("cli.diagnose.place", "the most telling line is in {file}:", file=printable(str(telling.file)))
    text = f"{translated(place)}\n{page}"
    return with_labels(text) if wants_color(sys.stdout) else text


def _table_and_logs(arguments: Sequence[str]) -> tuple[RankTable | None, list[Path]]:
    """The rank table among the arguments, and the others. Raises KitError if there are two tables."""
    tables = {name: table for name in arguments if (table := _table(name)) is not None}
    if len(tables) > 1:
        raise KitError("cli.diagnose.two-rank-tables", "two rank tables: {tables}; a job has one", tables=row(tables))
    return next(iter(tables.values()), None), [Path(name) for name in arguments if name not in tables]


def _remote(request: DiagnoseRequest, table: RankTable | None) -> Remote | None:
    """The servers of the table, if their logs are asked for. Raises KitError if there is no table."""
    if not request.ssh:
        if request.ssh_option or request.remote_folder:
            raise KitError("cli.diagnose.ssh-option-remote", "--ssh-option and --remote-folder need --ssh")
        return None
    if request.collect:
        raise KitError(
            "cli.diagnose.collect-ssh",
            "--collect gathers the logs of this machine, not those of --ssh",
            fix="on each server: hccl-kit diagnose LOG --collect FILE.tar.gz; diagnose reads the archives together",
        )
    if table is None:
        raise needs_table("hccl-kit diagnose")
    hosts = [Host(server.id, address_of(server)) for server in table.servers]
    return Remote(hosts, ssh_start(os.environ, request.ssh_option), request.remote_folder, request.timeout)


def _table(name: str) -> RankTable | None:
    """The rank table in a file; None if it is not one. Reports of ranks end in .json too."""
    path = Path(name)
    if path.suffix != ".json" or not path.is_file():
        return None
    return check_text(*load(name)).table


def _users_here() -> list[str]:
    """The names of the user of this machine, which logs may contain in any place."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without an entry, as in containers
        user = ""
    return [user, Path(os.environ.get("HOME", "")).name]


def _write_page(diagnosis: Diagnosis, path: Path, *, force: bool) -> None:
    for line in write_files([OutputFile(path, as_html(diagnosis))], force=force):
        complain(line)


main = program(make_parser, lambda **given: _diagnose(DiagnoseRequest(**given)))
