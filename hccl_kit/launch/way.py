"""How the servers of a plan are reached from here: over ssh, or by srun as nodes of an allocation of Slurm."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from hccl_kit.base import hostlist
from hccl_kit.base.errors import KitError, ParseError
from hccl_kit.base.message import Message
from hccl_kit.base.network import ip_of
from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import counted, listed
from hccl_kit.launch.plan import Node
from hccl_kit.launch.spares import Spare
from hccl_kit.remote.ssh import over_ssh, refusal, ssh_start

MARK = "hccl-kit-node"
"""The first word of the line in which a node answers."""
ASK = f'echo "{MARK} $SLURMD_NODENAME $(uname -n) $(uname -n | cut -d . -f 1) $(hostname -I)" | head -c 4000; echo'
PATIENCE = 120.0
"""Seconds in which all nodes must answer."""
OF_A_STEP = (
    *("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NTASKS", "SLURM_NPROCS"),
    *("SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE", "SLURM_STEP_NODELIST"),
)
"""Variables that tell a command, and what it starts, that it is the only task."""
_STEP = ("--overlap", "--cpu-bind=none", "--mpi=none", "--export=ALL", "--unbuffered", "--quiet")
"""How steps run beside each other; all variables are passed on, whatever sbatch --export has."""


Names = Mapping[str, frozenset[str]]
"""Node -> its host names and addresses."""
Reach = Callable[[Node | Spare, Sequence[str]], Sequence[str]]
"""Makes the words that run a command on a server."""


class Way(NamedTuple):
    """How servers are reached, and the Python there; `pythons` are from `remote.program.pythons`."""

    reach: Reach
    pythons: Mapping[str, str] = {}


def by_ssh(servers: Sequence[Node | Spare], environ: Mapping[str, str], options: Sequence[str] = ()) -> Reach:
    """Over ssh, with these options of ssh. Raises KitError if one of `servers` has no address."""
    for server in servers:
        if why := refusal(server.address):
            raise KitError(
                "run.no-address",
                "server {server} has no address for ssh: {address!r} is {why}",
                fix='add "host_ip", an address of that host, to it in the table',
                server=server.id,
                address=server.address,
                why=why,
            )
    start = ssh_start(environ, options)
    return lambda server, words: over_ssh(start, server.address, words)


def by_srun(servers: Sequence[Node | Spare], environ: Mapping[str, str]) -> Reach:
    """By srun. Raises KitError if one of `servers` is not exactly one node of the allocation."""
    nodes = matched(servers, nodes_of(environ))
    return lambda server, words: over_srun(nodes[server.id], words)


def nodes_of(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The nodes of the allocation that this program runs in. Raises KitError if it runs in none."""
    text = environ.get("SLURM_JOB_NODELIST", "")
    if not text:
        raise KitError(
            "launch.no-allocation",
            "--slurm works inside an allocation of Slurm, and SLURM_JOB_NODELIST is not set",
            fix="start it in a script for sbatch, or with: salloc --nodes=2 hccl-kit ... --slurm",
        )
    try:
        return hostlist.expand(text)
    except ParseError as error:
        raise KitError(
            "launch.node-list", "SLURM_JOB_NODELIST={text!r}: {reason}", text=text[:80], reason=error.message
        ) from error


def over_srun(node: str, command: Sequence[str]) -> tuple[str, ...]:
    """The command that runs `command` on a node, as a step of its own, without the variables OF_A_STEP.

    Raises KitError if srun is not on PATH.
    """
    task = ("env", *(f"--unset={name}" for name in OF_A_STEP), *command)
    return (_srun(), "--nodes=1", "--ntasks=1", f"--nodelist={node}", *_STEP, *task)


def ask(nodes: Sequence[str]) -> Names:
    """The host names and addresses of nodes, which they are asked in one step. Raises KitError if one has none."""
    count = len(nodes)
    tasks = (f"--nodes={count}", f"--ntasks={count}", "--ntasks-per-node=1", f"--nodelist={','.join(nodes)}")
    try:
        done = subprocess.run(
            [_srun(), *tasks, *_STEP, "sh", "-c", ASK],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired as error:
        raise KitError("launch.nodes-silent", "the nodes do not answer in {seconds:g} s", seconds=PATIENCE) from error
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith(f"{MARK} ")]
    known = {row[1]: frozenset(row[2:]) for row in rows if len(row) > 2}
    if missing := [node for node in nodes if node not in known]:
        raise KitError(
            "launch.node-silent",
            "node {node} does not answer; srun ended with exit code {code}",
            node=printable(missing[0][:80]),
            code=done.returncode,
        )
    return known


def matched(
    servers: Sequence[Node | Spare], nodes: Sequence[str], ask: Callable[[Sequence[str]], Names] = ask
) -> dict[str, str]:
    """The node of each server by the server's id: by its name in Slurm, else by the names and addresses that it has.

    Raises KitError if a server is not exactly one node.
    """
    spelled = {server.id: (server.id, server.address) for server in servers}
    known_as = {id_: {*names, *(str(ip_of(name) or name) for name in names)} for id_, names in spelled.items()}
    matches = {id_: [node for node in nodes if node in names] for id_, names in known_as.items()}
    answers = {} if all(matches.values()) else ask(nodes)
    for id_, names in known_as.items():
        matches[id_] = matches[id_] or [node for node in nodes if names & answers[node]]
        if len(matches[id_]) != 1:
            raise KitError(
                "launch.node-of-server",
                "server {server!r} matches {nodes} of this allocation by name or address: {known}",
                fix="request its node: --nodelist=NAME,...",
                server=id_,
                nodes=counted(len(matches[id_]), "node") if matches[id_] else Message("launch.no-node", "no node"),
                known=listed((f"{node} ({', '.join(sorted(answers.get(node, ())))})" for node in nodes), 4),
            )
    of_server = {id_: node for id_, (node,) in matches.items()}
    for id_, node in of_server.items():
        if other := next((name for name, of_other in of_server.items() if of_other == node and name != id_), None):
            raise KitError(
                "launch.node-of-two",
                "servers {server!r} and {other!r} of the table are both node {node}",
                fix="give each server the name or an address of its own host",
                server=id_,
                other=other,
                node=node,
            )
    return of_server


def _srun() -> str:
    path = shutil.which("srun")
    if path is None:
        raise KitError("launch.no-srun", "srun is not on PATH", fix="start it where Slurm is installed, or use --ssh")
    return path
