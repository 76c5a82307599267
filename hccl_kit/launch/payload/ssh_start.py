"""Starts a launch script on all servers over ssh; launch scripts of several servers contain this program for --ssh.

    ssh_start.py SCRIPT TABLE PREFLIGHT PASSED ASKED SERVERS SPARES OPTIONS SERVER ... ADDRESS ... SPARE ...
                 ADDRESS ... ENTRY ... OPTION ... ARGUMENT ...

PASSED and ASKED are the names of variables for the servers, separated by blanks; the user asked for the latter.
SERVERS, SPARES and OPTIONS are the numbers of what follows.

The script must have the same path on every server, and starts in the same folder as here. The output of the servers is
printed line by line, prefixed with the server's name except for the first server. Each server gets heartbeats on
standard input and ends with this program, however that ends. Messages between servers go through this program too
(`relay`), so no port is open and no secret is needed. At the end, logs that are not in this folder are fetched into it.

If a server is lost or fails its preflight, a spare takes its place (`membership`): all servers end, the new rank table
is made and checked, and all start again with its digest. A server that cannot be reached may still run for some
seconds, until it misses the heartbeats; so nothing starts before that time is over, lest two ranks write a checkpoint.

HCCL_KIT_SSH replaces `ssh`, for example "ssh -F FILE -p 2222". It needs Python 3.8 only.

Exit codes: that of the job, 2 if a server does not answer, 3 if preflight finds errors on one; for these, no spare is
left.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hccl_kit.agent.run_folder import LOGS, UnsafeError, name_of_run, new_run, trusted_logs
from hccl_kit.launch.payload.descriptors import allow_open_files, watch_children_by_descriptor
from hccl_kit.launch.payload.diagnose_logs import diagnose
from hccl_kit.launch.payload.fetch_logs import MARK, fetch_all
from hccl_kit.launch.payload.membership import Membership, NoSpareError, Spare
from hccl_kit.launch.payload.messages import printable
from hccl_kit.launch.payload.ssh_command import ADDRESS, SSH, Node, Variables, remote_command, write
from hccl_kit.launch.payload.ssh_job import Job

DESCRIPTORS, OWN_DESCRIPTORS = 4, 64
"""Open files for each server (three pipes, and one by which its end is noticed), and others."""
FENCE = 11.0
"""Seconds after which a lost server has no ranks: it ends them 8 s after its last heartbeat, if need be by SIGKILL."""


class Request(NamedTuple):
    """The command line: the job, its spare servers, and the options and arguments of the launch script."""

    script: str
    table: Path
    has_preflight: bool
    variables: Variables
    nodes: tuple[Node, ...]
    spares: tuple[Spare, ...]
    options: tuple[str, ...]
    arguments: tuple[str, ...]

    @classmethod
    def parse(cls, argv: Sequence[str]) -> Request:
        """The request in the words that the launch script gives."""
        words, counts = list(argv[8:]), [int(text) for text in argv[5:8]]

        def take(count: int) -> list[str]:
            taken, words[:count] = words[:count], []
            return taken

        names, addresses = take(counts[0]), take(counts[0])
        spares, spare_addresses, entries = take(counts[1]), take(counts[1]), take(counts[1])
        options = take(counts[2])
        return cls(
            *(argv[0], Path(argv[1]), argv[2] == "1"),
            variables=Variables.select(os.environ, argv[3].split(), argv[4].split()),
            nodes=tuple(map(Node, names, addresses)),
            spares=tuple(map(Spare, map(Node, spares, spare_addresses), entries)),
            options=tuple(options),
            arguments=tuple(words),
        )


def main(argv: Sequence[str]) -> int:
    """Run the program, and return its exit code."""
    request = Request.parse(argv)
    for node in (*request.nodes, *(spare.node for spare in request.spares)):
        if not ADDRESS.fullmatch(node.address):
            write(2, f"error: server {node.name!r} has no address for ssh: {node.address!r}\n".encode())
            write(2, b'  fix: add "host_ip", an address of that host, to it in the table\n')
            return 2
    refused = allow_open_files(len(request.nodes) * DESCRIPTORS + OWN_DESCRIPTORS)
    if refused:
        write(2, f"{refused}\n".encode())
        return 2
    folder = Path(os.environ.get("PWD") or Path.cwd())  # with symbolic links, as the user entered it
    try:
        shlex.split(os.environ.get(SSH, ""))
    except ValueError as error:
        write(2, f"error: {SSH} is {os.environ[SSH]!r}: {error}\n".encode())
        return 2
    sys.unraisablehook = lambda _: None  # asyncio complains about the pipes of a killed ssh
    try:
        logs = new_run(trusted_logs(folder / LOGS, lambda text: write(2, f"note: {text}\n".encode())), name_of_run())
        (logs / MARK).touch()
        membership = Membership(request.nodes, request.spares, request.table, logs.parent)
        code, is_interrupted = asyncio.run(start(request, membership, str(folder), logs.name))
        try:
            fetch_all(membership.nodes, logs)
            unmark(logs)
        except KeyboardInterrupt:
            unmark(logs)
            write(2, b"interrupted; the missing logs are on their servers\n")
            os._exit(code)  # without waiting for transfers
        if code and not is_interrupted:
            with suppress(KeyboardInterrupt):
                diagnose(logs)
    except UnsafeError as error:
        write(2, f"error: {error}\n".encode())
        return 2
    except OSError as error:
        write(2, f"error: {error.filename or 'ssh'}: {error.strerror}\n".encode())
        return 2
    return code


def unmark(logs: Path) -> None:
    """Remove MARK, unless the user has removed the folder."""
    with suppress(OSError):
        (logs / MARK).unlink()


async def start(request: Request, membership: Membership, folder: str, run: str) -> tuple[int, bool]:
    """Run the job in an event loop, again with spares while servers are lost; returns the exit code, and whether a
    signal to this program ended the job.
    """
    watch_children_by_descriptor()
    starts = 0
    fit: set[Node] = set()
    while True:
        nodes = membership.nodes
        job = Job(nodes, has_names="--prefix" in request.options, variables=request.variables)
        commands = [
            remote_command(
                request.script,
                folder,
                node,
                run,
                [
                    *request.options,
                    *membership.options,
                    *(["--attempt", str(starts)] if starts else []),
                    *(["--preflight"] if request.has_preflight and node not in fit else []),
                    "--",
                    *request.arguments,
                ],
                variables=request.variables,
            )
            for node in nodes
        ]
        code = await job.run(commands)
        starts += job.relay.starts
        fit |= {nodes[number] for number in job.relay.came}
        out = job.lost | job.unfit
        if not (code and out and request.spares) or job.signaled.is_set():
            return code, job.is_interrupted
        try:
            lines = await membership.replace(out, job.signaled)
        except NoSpareError as why:
            write(2, f"giving up: {printable(str(why), 500)}\n".encode())
            return code, False
        if job.signaled.is_set():
            return job.signal_code, True
        pause = max(0.0, job.lost_at + FENCE - time.monotonic()) if job.lost_with_ranks else 0.0
        lines.append(f"restarting in {pause:.0f} s" + (", when no rank is left on a lost server" if pause else ""))
        write(2, "".join(f"{printable(line, 500)}\n" for line in lines).encode())
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(job.signaled.wait(), pause + 0.1)  # a signal may have come meanwhile
        if job.signaled.is_set():
            return job.signal_code, True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
