"""Print the ports, interfaces and timeouts of a job as variables, or check those of its ranks.

Every job on a host gets ports of its own, by its number: outside the ports that the system gives
to outgoing connections, and below 65536. The interface is the one that has the server's address.
No rank is started, and no setting of a machine is changed. HCCL_KIT_SSH replaces ssh, as in
"ssh -F FILE".

examples:
  hccl-kit env hccl_2s_16p.json --job 1 --ssh
  eval "$(hccl-kit env hccl_8p.json --job 1 --format sh)"
  hccl-kit env hccl_8p.json --job 1 --check 4711 4712
  hccl-kit env hccl_8p.json --check ~/ascend/log env.txt

Exit codes: 0 printed, or with --check all as planned; 1 --check found a difference; 2 could not
run.
"""

from __future__ import annotations

from collections.abc import Sequence

from hccl_kit.base.arguments import Parser
from hccl_kit.cli import exit_code_of
from hccl_kit.cli.options import add_job, add_ssh_option, add_timeout, whole
from hccl_kit.runtime.worker_env import SERVER


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit code."""

    def program() -> int:
        given = vars(make_parser().parse(argv))
        from hccl_kit.cli.env_steps import EnvRequest, print_plan  # noqa: PLC0415 - --help does not load it

        return print_plan(EnvRequest(**given))

    return exit_code_of(program)


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit env", doc=__doc__)
    parser.add_argument("table", metavar="TABLE", help='the rank table, or "-" for standard input')
    add_job(parser, default=0)
    parser.add_argument(
        "--connect-timeout",
        metavar="SECONDS",
        type=whole("--connect-timeout"),
        help="HCCL_CONNECT_TIMEOUT, from 120 to 7200 (default: 120, on several servers 600)",
    )
    parser.add_argument(
        "--exec-timeout",
        metavar="SECONDS",
        type=whole("--exec-timeout"),
        help="HCCL_EXEC_TIMEOUT, longer than --connect-timeout; 0 is no limit (default: 1836, at least"
        " --connect-timeout + 120)",
    )
    parser.add_argument(
        "--server",
        metavar="ID",
        help=f"print only this server of the table (default: all; with --format sh this machine, see {SERVER})",
    )
    parser.add_argument(
        "--format", choices=["text", "json", "sh"], default="text", help="sh: lines for eval (default: text)"
    )
    parser.add_argument(
        "--check",
        metavar="SOURCE",
        nargs="+",
        help="compare with what ranks had: PIDs, files that `env` wrote, /proc/PID/environ, plogs or folders of them",
    )
    ssh = parser.add_argument_group("other servers")
    ssh.add_argument("--ssh", action="store_true", help="ask the other servers for their interfaces and ports")
    add_ssh_option(ssh)
    add_timeout(ssh, 60.0)
    return parser
