"""Lets the servers of a job start together and agree on its result; launch scripts contain this program.

    rendezvous.py NODE ADDRESS PORT PORT_NAME TABLE_SHA256 TIMEOUT RUN MASTER_PORT SECRET_FILE SERVER ...

Node 0 listens on PORT of ADDRESS, and the others connect to it. Both sides prove that they know the secret of the job
(see `handshake`). When all nodes are ready, each prints `start RUN MASTER_PORT` with the values of node 0, and its
script starts the ranks. The script then reports on standard input: `done`, or `failed RANK CODE SECONDS` with the
seconds since the failure. Node 0 sends the first failure to all nodes: `over RANK CODE NODE`. A node that disconnects,
or is silent for SILENCE seconds, has failed with rank -1.

Exit codes: 0 all ranks succeeded, 1 a node failed, 2 the nodes could not start together. It needs Python 3.8 only, and
ends with the script that started it. `messages` checks every line before it is used.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

from hccl_kit.launch.payload.descriptors import allow_open_files
from hccl_kit.launch.payload.handshake import SecretError, read_secret
from hccl_kit.launch.payload.listener import MAX_UNKNOWN
from hccl_kit.launch.payload.messages import printable
from hccl_kit.launch.payload.node import Options, Stop, log
from hccl_kit.launch.payload.rendezvous_client import join
from hccl_kit.launch.payload.rendezvous_server import serve

OWN_FILES = 64
"""Open files of node 0 beside the connections: to a node, and to one that is not authenticated yet."""
PR_SET_PDEATHSIG = 1
"""Linux: the signal that this process gets when its parent dies."""


def main(argv: Sequence[str]) -> int:
    """Run the program, and return its exit code."""
    script = os.getppid()
    with suppress(OSError, AttributeError):  # at once, so that a restarted job does not connect to this process
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for deadly in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(deadly, signal.SIG_IGN)  # the script handles them, and reports the result here
    node, address, port, port_name, sha256, timeout, run, master_port, secret_file, *servers = argv
    options = Options(
        *(int(node), address, int(port), port_name, sha256, float(timeout), run, int(master_port), secret_file),
        servers=tuple(map(printable, servers)),
        script=script,
    )
    refused = "" if options.node else allow_open_files(2 * len(servers) + MAX_UNKNOWN + OWN_FILES)
    if refused:
        log(refused)
        return 2
    try:
        secret = read_secret(secret_file)
        asyncio.run(join(options, secret) if options.node else serve(options, secret))
    except SecretError as error:
        log(str(error))
        return 2
    except Stop as stop:
        if stop.text:
            log(stop.text)
        return stop.code
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
