"""The program of a rank: load a framework, then run the commands of the selftest until it ends.

    python -m hccl_kit.selftest.ranks.worker BACKEND

It has the environment of a worker, and the socket of the agent that started it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hccl_kit.runtime.worker_env import WorkerEnv
from hccl_kit.selftest.protocol import ADDRESS, SOCKET, Fields
from hccl_kit.selftest.ranks.channel import Channel

if TYPE_CHECKING:
    from hccl_kit.selftest.ranks.work import Backend

_DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG"""


def main(backend: str, environ: Mapping[str, str]) -> None:
    """Runs until the agent ends."""
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)  # a stopped rank cannot see the end of its agent
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the agent ends all ranks
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # mpirun ends all ranks if one dies; so that one is seen to die first
    rank = int(environ["OMPI_COMM_WORLD_RANK"]) if backend == "mpi" else WorkerEnv.from_environ(environ).rank
    channel = Channel(environ[SOCKET], rank)
    framework = _load(backend, channel, environ)
    channel.send(event="ready", skipped=framework.skipped)
    for command in channel.commands():
        if rank not in command["to"]:
            continue
        fields = _obeyed(command, framework, channel)
        channel.forget()  # before the others learn that this step is over, and put something for the next
        channel.send(event="result", step=command["step"], **fields)


def _load(name: str, channel: Channel, environ: Mapping[str, str]) -> Backend:
    """The framework, imported only here: the machine that starts the selftest may have none."""
    if name == "mpi":
        from hccl_kit.selftest.ranks.mpi import Mpi4py  # noqa: PLC0415

        channel.send(event="loaded")
        return Mpi4py()
    if name != "mindspore":
        from hccl_kit.selftest.ranks.torch_ranks import load  # noqa: PLC0415

        channel.send(event="loaded")
        return load(name, channel, WorkerEnv.from_environ(environ).local_rank, environ[ADDRESS])
    from hccl_kit.selftest.ranks.mindspore_cpu import MindSporeCpu  # noqa: PLC0415

    channel.send(event="loaded")
    return MindSporeCpu(channel, WorkerEnv.from_environ(environ))


def _obeyed(command: Fields, framework: Backend, channel: Channel) -> dict[str, object]:
    """The fields of a result. A problem is reported and not raised: the next step may do without the lost partner."""
    from hccl_kit.selftest.ranks import measure  # noqa: PLC0415 - numpy

    timings: list[dict[str, object]] = []
    values: tuple[float, ...] = ()
    problem = ""
    try:
        if command["do"] == "compute":
            values = measure.arithmetic(framework.product(), framework.copy(), command["seconds"])
        else:
            ranks = next(group for group in command["groups"] if channel.rank in group)
            group = framework.group(ranks, command["step"], command["timeout"])
            seat = measure.Seat(group, ranks.index(channel.rank), len(ranks))
            timed = measure.collectives(
                seat, command["operator"], command["sizes"], command["seconds"], command["limit"]
            )
            timings += (timing._asdict() for timing in timed)
            group.close()
    except Exception as error:  # frameworks raise anything
        lines = str(error).strip().splitlines()
        problem = lines[0][:300] if lines else type(error).__name__
    return {"timings": timings, "values": values, "problem": problem}


if __name__ == "__main__":
    main(sys.argv[1], os.environ)
