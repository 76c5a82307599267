"""Print the devices, mounts and variables that a container lacks for the ranks of its server.

Run it inside the container. --complete prints everything that a container needs, and can run
anywhere. Nothing is changed.

examples:
  hccl-kit container hccl_8p.json
  hccl-kit container hccl_8p.json --engine docker --complete
  hccl-kit container hccl_8p.json --engine k8s --server 10.0.0.1 > fragment.yaml

Exit codes: 0 nothing is missing; 1 something is missing; 2 the table cannot be used, or the server
is not known.
"""

from __future__ import annotations

import os
from pathlib import Path

import yaml

from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_FINDINGS, EXIT_OK, KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import listed
from hccl_kit.cli import program, say
from hccl_kit.cli.options import add_format
from hccl_kit.cli.tables import read_table
from hccl_kit.preflight.container import Needs, as_docker, as_json, as_pod, lacking, needs
from hccl_kit.preflight.probes.this_server import find_server
from hccl_kit.runtime.worker_env import SERVER
from hccl_kit.table.document import shown
from hccl_kit.table.model import RankTable, Server


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit container", doc=__doc__)
    parser.add_argument("table", metavar="TABLE", help='the rank table, or "-" for standard input')
    parser.add_argument(
        "--engine",
        choices=["docker", "k8s"],
        default="docker",
        help="docker: options of docker and podman; k8s: a fragment of a pod manifest (default: docker)",
    )
    parser.add_argument(
        "--server", metavar="ID", help=f"which server of the table this is (default: {SERVER}, else detected)"
    )
    parser.add_argument("--complete", action="store_true", help="also print what the container already has")
    add_format(parser, "the output")
    return parser


def _print(*, table: str, engine: str, server: str | None, complete: bool, form: str) -> int:
    whole = read_table(table)
    here = _server(whole, server or os.environ.get(SERVER))
    needed = needs([device.id for device in here.devices], whole.version)
    lacked = needed if complete else lacking(needed, Path("/"), os.environ)
    if form == "json":
        print(as_json(lacked, here.id))
    elif lacked.is_nothing:
        say(Message("cli.container.nothing", "nothing is missing"))
    else:
        print(_text(lacked, engine))
    return EXIT_OK if lacked.is_nothing or complete else EXIT_FINDINGS


def _text(needed: Needs, engine: str) -> str:
    if engine == "docker":
        return as_docker(needed)
    return str(yaml.safe_dump(as_pod(needed), sort_keys=False)).rstrip()


def _server(table: RankTable, wanted: str | None) -> Server:
    """The server that this container is on. Raises KitError if that is not known."""
    server = find_server(table, wanted)
    if server is None and len(table.servers) == 1:
        return table.servers[0]
    if server is None:
        known = listed(shown(server.id) for server in table.servers)
        raise KitError(
            "cli.container.machine-matches-no",
            "this machine matches no server of the table, or more than one: {known}",
            fix="name it with --server ID or {server}=ID",
            known=known,
            server=SERVER,
        )
    return server


main = program(make_parser, _print)
