"""Measure all pairs of ranks of a table and the collectives; name what is slow, wrong or dead.

examples:
  hccl-kit selftest hccl_8p.json --quick
  hccl-kit selftest hccl_8p.json --backend hccl
  hccl-kit selftest hccl_2s_16p.json --ssh --format json > good.json
  hccl-kit selftest hccl_2s_16p.json --ssh --baseline good.json --svg pairs.svg
  salloc --nodes=2 hccl-kit selftest hccl_2s_16p.json --slurm
  hccl-kit selftest hccl_8p.json --hccl-test all_reduce=all_reduce.log

The ranks run on the CPUs of the table's servers and use their host network, or with --backend hccl
on their cards. --hccl-test reads the output of hccl_test. HCCL_KIT_SSH replaces ssh, as in
"ssh -F FILE".

Exit codes: 0 nothing is bad; 1 something is bad, see the last lines; 2 could not run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.arguments import Parser, a_path
from hccl_kit.base.bounded_file import read_text
from hccl_kit.base.errors import EXIT_FINDINGS, EXIT_OK, KitError
from hccl_kit.base.frameworks import PYTORCH
from hccl_kit.base.output_place import assert_free_files
from hccl_kit.base.terminal import wants_color
from hccl_kit.base.wording import row
from hccl_kit.cli import complain, program, say
from hccl_kit.cli.options import add_force, add_format, add_reach, number, path_with
from hccl_kit.cli.output_files import OutputFile, write_files
from hccl_kit.cli.tables import read_table
from hccl_kit.launch.passed_on import select
from hccl_kit.launch.plan import LaunchPlan, plan
from hccl_kit.launch.way import by_srun, by_ssh
from hccl_kit.remote.program import python_of, pythons
from hccl_kit.selftest.evidence import SLOW, weigh
from hccl_kit.selftest.hccl_test import collectives_of, read_rows
from hccl_kit.selftest.json_form import as_json, assert_comparable, read_baseline
from hccl_kit.selftest.measured import OPERATORS, Measured, Operator
from hccl_kit.selftest.run import FULL, QUICK, measure, on_cards
from hccl_kit.selftest.session import (
    BACKENDS,
    ON_CARDS,
    SHARES_FATE,
    agent_probe,
    backend_here,
    cards_of,
    local_command,
    server,
    session,
)
from hccl_kit.selftest.svg import as_svg
from hccl_kit.selftest.text import as_text
from hccl_kit.selftest.verdict import judge

_MAX_OUTPUT = 8 << 20
"""Maximum size in bytes of an output of hccl_test."""


class SelftestRequest(NamedTuple):
    """The command line of hccl-kit selftest; a field for each option. `backend` is None to take what is installed."""

    table: str
    backend: str | None
    quick: bool
    baseline: Path | None
    slow: float
    hccl_test: Sequence[tuple[Operator, Path]] | None
    form: str
    svg: Path | None
    force: bool
    ssh: bool
    slurm: bool
    ssh_option: Sequence[str]
    python: Sequence[str]


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit selftest", doc=__doc__)
    parser.add_argument("table", metavar="TABLE", help='the rank table, or "-" for standard input')
    parser.add_argument(
        "--backend",
        choices=[*BACKENDS],
        help="what moves the data; nccl and hccl: between cards (default: the first for CPUs that is installed)",
    )
    parser.add_argument("--quick", action="store_true", help="measure fewer sizes and rounds")
    parser.add_argument(
        "--baseline", metavar="FILE", type=a_path, help="the JSON report of an earlier run to compare with"
    )
    parser.add_argument(
        "--slow",
        metavar="FRACTION",
        type=_fraction,
        default=SLOW,
        help=f"a result below this fraction of its reference is slow (default: {SLOW})",
    )
    parser.add_argument(
        "--hccl-test",
        metavar="OPERATOR=FILE",
        type=_output_of_hccl_test,
        action="append",
        help="measure nothing; check FILE, the output of hccl_test for this operator",
    )
    group = parser.add_argument_group("the report")
    add_format(group)
    group.add_argument("--svg", metavar="FILE", type=path_with(".svg", "--svg"), help="also draw the matrix of pairs")
    add_force(group)
    group = parser.add_argument_group("several servers")
    how = group.add_mutually_exclusive_group()
    how.add_argument("--ssh", action="store_true", help="start the ranks on every server over ssh")
    how.add_argument("--slurm", action="store_true", help="start the ranks with srun, inside an allocation")
    add_reach(group, "the path of the one here")
    return parser


def _fraction(text: str) -> float:
    fraction = number(text)
    if not 0 < fraction < 1:
        raise KitError("cli.selftest.slow-must-between", "--slow must be between 0 and 1, got {text}", text=text[:40])
    return fraction


def _output_of_hccl_test(text: str) -> tuple[Operator, Path]:
    operator, _, path = text.partition("=")
    if operator not in OPERATORS or not path:
        raise KitError(
            "cli.selftest.hccl-test-not",
            "--hccl-test {text!r} is not OPERATOR=FILE; operators: {operators}",
            text=text[:80],
            operators=row(OPERATORS),
        )
    return operator, Path(path)


def _selftest(request: SelftestRequest) -> int:
    if request.svg:
        assert_free_files([request.svg], "--svg", force=request.force)  # before a minute of work
    job = plan(read_table(request.table), ["hccl-kit"], framework=PYTORCH if request.backend in ON_CARDS else None)
    baseline = read_baseline(request.baseline) if request.baseline else None
    if request.hccl_test:
        (output, *more) = request.hccl_test
        if more:
            raise KitError(
                "cli.selftest.hccl-test-can",
                "--hccl-test can be given only once",
                fix="check the outputs one after the other",
            )
        measured = _read(job, *output)
        _assert_comparable(request, measured, baseline)
    else:
        _assert_can_start(job, request)
        measured = _measure(job, request, baseline)
    return _report(request, measured, baseline)


def _assert_comparable(request: SelftestRequest, measured: Measured, baseline: Measured | None) -> None:
    if baseline:
        assert_comparable(measured, baseline, str(request.baseline))


def _read(job: LaunchPlan, operator: Operator, path: Path) -> Measured:
    rows = read_rows(read_text(path, _MAX_OUTPUT), str(path))
    return Measured("hccl_test", tuple(cards_of(job)), collectives_of(rows, operator, job.size))


def _assert_can_start(job: LaunchPlan, request: SelftestRequest) -> None:
    several = len(job.nodes) > 1
    if request.ssh_option and not request.ssh:
        raise KitError("cli.selftest.only-with-ssh", "--ssh-option needs --ssh")
    if request.python and not (request.ssh or request.slurm):
        raise KitError("cli.selftest.only-elsewhere", "--python needs --ssh or --slurm")
    if several and not (request.ssh or request.slurm):
        raise KitError(
            "cli.selftest.table-servers-program",
            "the table has {count} servers, and this program would start ranks on this one only",
            fix="--ssh or --slurm starts them on every server",
            count=len(job.nodes),
        )
    if several and request.backend == "mpi":
        raise KitError(
            "cli.selftest.backend-mpi-measures",
            "--backend mpi measures one server; accepted for several: gloo, nccl, hccl, mindspore",
            fix="hccl-kit split TABLE writes a table for each server",
        )


def _measure(job: LaunchPlan, request: SelftestRequest, baseline: Measured | None) -> Measured:
    backend = request.backend or backend_here()
    nothing = Measured(backend, tuple(cards_of(job)))
    _assert_comparable(request, nothing, baseline)
    environ, _ = select(os.environ, ()) if request.ssh else ({}, [])
    started = _commands(job, request)
    agents = [
        server(node, backend, command, environ, payload)
        for node, (command, payload) in zip(job.nodes, started, strict=True)
    ]
    effort = QUICK if request.quick else FULL
    effort = on_cards(effort) if backend in ON_CARDS else effort
    with session(agents, shares_fate=backend in SHARES_FATE) as running:
        return measure(running, effort, nothing, baseline=baseline, slow=request.slow, note=_note)


def _commands(job: LaunchPlan, request: SelftestRequest) -> list[tuple[tuple[str, ...], bytes]]:
    """The command that starts the agent of each server, and what it reads first."""
    if not (request.ssh or request.slurm):
        return [(local_command(), b"") for _ in job.nodes]
    probe, given = agent_probe(), dict(pythons(request.python))
    given.setdefault("", sys.executable)  # the framework is where it is here
    reach = by_ssh(job.nodes, os.environ, request.ssh_option) if request.ssh else by_srun(job.nodes, os.environ)
    agents = [(node, probe.command(python_of(given, node.id, node.address))) for node in job.nodes]
    return [(tuple(reach(node, agent)), probe.archive) for node, agent in agents]


def _note(text: str) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        complain(text)


def _report(request: SelftestRequest, measured: Measured, baseline: Measured | None) -> int:
    weighed = weigh(judge(measured, baseline, slow=request.slow), measured, baseline, slow=request.slow)
    if request.form == "json":
        print(as_json(measured, weighed, table=request.table, slow=request.slow))
    else:
        print(as_text(measured, weighed, table=request.table, color=wants_color(sys.stdout)))
    if request.svg:
        drawing = as_svg(measured, weighed.faults, table=request.table, slow=request.slow)
        lines = write_files([OutputFile(request.svg, drawing)], force=request.force)
        if request.form == "text":
            say(*lines)
    return EXIT_FINDINGS if weighed.faults else EXIT_OK


main = program(make_parser, lambda **given: _selftest(SelftestRequest(**given)))
