"""Starts the ranks of a Ray job: the entry point of the RayJob in whose manifest it is.

    python3 -Iu ray_start.py [COMMAND ...]

Its folder has the programs of a pod (`pod_start`, `pod_run`), on all servers, and ray.json: the values of Settings. An
actor on each server runs `pod_start` there, with the number of the server as that of the pod. The servers are numbered
in the order of their addresses; the first whose ranks fail ends the others.

Exit code: that of the ranks; 1 a server was lost, 2 the servers did not come, 143 SIGTERM. It needs Python 3.8 and Ray.

With arguments, it is the guard of that program: it runs COMMAND until its standard input is closed.
"""

from __future__ import annotations

import ipaddress
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

TIMEOUT = 1800
"""Seconds for all servers to join."""
POLL = 0.5
"""Seconds between two looks; a signal is handled between them, and Ray kills a job 3 s after SIGTERM."""
GRACE = 20.0
"""Seconds in which ranks end and the last of their output arrives."""


class Settings(NamedTuple):
    """The number of servers, the Ray resource of their cards and how many each has, the command of the ranks, and the
    variables for the number of a server and for the address of the first.
    """

    servers: int
    resource: str
    cards: int
    command: Sequence[str]
    pod_index: str
    address: str


class StoppedError(Exception):
    """Ray ends the job."""


class LateError(Exception):
    """Servers have not come in time."""


class Signals:
    """Whether Ray ends the job. A handler that raises would raise inside Ray, which makes another error of it."""

    def __init__(self) -> None:
        self.stopped = False

    def terminate(self, *_: object) -> None:
        """The handler of SIGTERM."""
        self.stopped = True

    def check(self) -> None:
        """Raises StoppedError after SIGTERM."""
        if self.stopped:
            raise StoppedError


class Server:
    """An actor with all cards of a server, which runs one program there.

    It uses nothing of this module, which is not on the other servers' paths.
    """

    def __init__(self) -> None:
        self.process: Any = None
        self.stopped = False

    def address(self) -> str:
        """The address of this server for others."""
        import ray.util  # noqa: PLC0415 - in an actor only

        return str(ray.util.get_node_ip_address())

    def run(self, argv: Sequence[str], environ: Mapping[str, str]) -> int:
        """Run the program with `environ` added to the environment; returns its exit code (128 + signal)."""
        # Ray limits actors without CPUs to one thread; these ranks share the server with no other actor.
        own = {name: value for name, value in os.environ.items() if (name, value) != ("OMP_NUM_THREADS", "1")}
        self.process = subprocess.Popen(argv, env={**own, **environ}, stdin=subprocess.PIPE)
        if self.stopped:  # before there was a process to stop
            self.process.stdin.close()
        code = int(self.process.wait())
        return code if code >= 0 else 128 - code

    def stop(self) -> None:
        """End the program, which ends its ranks, as the end of this process does: its guard reads the pipe."""
        self.stopped = True
        if self.process is not None:
            self.process.stdin.close()


def guard(command: Sequence[str]) -> int:
    """Run a program; SIGTERM ends it when standard input is closed. Returns its exit code (128 + signal).

    Ray kills an actor whose job has ended, and the children of the actor, but not theirs: the ranks would run on. So
    the program is run by a grandchild of the actor, in a session of its own.
    """
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
    os.setsid()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def watch() -> None:
        os.read(0, 1)  # nothing is ever written: this returns at the end
        process.terminate()

    threading.Thread(target=watch, daemon=True).start()
    code = process.wait()
    return code if code >= 0 else 128 - code


def results(ray: Any, waited: Sequence[Any], signals: Signals) -> list[Any]:
    """What Ray has promised. Raises LateError if it is not there after TIMEOUT, StoppedError after SIGTERM."""
    end = time.monotonic() + TIMEOUT
    left = [*waited]
    while left:
        signals.check()
        if time.monotonic() >= end:
            raise LateError
        _, left = ray.wait(left, num_returns=len(left), timeout=POLL)
    return list(ray.get([*waited]))


def reserve(ray: Any, settings: Settings, signals: Signals) -> list[Any]:
    """An actor on each of as many servers; waits until they have joined."""
    from ray.util.placement_group import placement_group  # noqa: PLC0415 - Ray is not where this is tested
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy  # noqa: PLC0415

    cards = {settings.resource: settings.cards}
    group = placement_group([cards] * settings.servers, strategy="STRICT_SPREAD")
    results(ray, [group.ready()], signals)
    actor = ray.remote(Server)
    return [
        actor.options(
            num_cpus=0,
            resources=cards,
            max_concurrency=2,  # `stop` while `run` runs
            scheduling_strategy=PlacementGroupSchedulingStrategy(
                placement_group=group, placement_group_bundle_index=number
            ),
        ).remote()
        for number in range(settings.servers)
    ]


def in_order(addresses: Sequence[str]) -> list[int]:
    """The numbers of addresses in the order of the addresses."""
    return sorted(range(len(addresses)), key=lambda number: (int(ipaddress.ip_address(addresses[number])), number))


def first_failure(ray: Any, runs: Mapping[Any, str], signals: Signals) -> int:
    """Wait for all runs, or for the first that fails; returns its exit code, after a message."""
    left = dict(runs)
    while left:
        signals.check()
        done, _ = ray.wait([*left], num_returns=1, timeout=POLL)
        for run in done:
            where = left.pop(run)
            try:
                code = int(ray.get(run))
            except ray.exceptions.RayError as error:
                return failed(f"{where} was lost: {type(error).__name__}", 1)
            if code:
                return failed(f"the ranks of {where} failed with exit code {code}", code)
    return 0


def failed(text: str, code: int) -> int:
    """Report an error; returns the exit code."""
    os.write(2, f"error: {text}\n".encode(errors="replace"))
    return code


def run(ray: Any, settings: Settings, place: Path, signals: Signals) -> int:
    """Run the job; returns its exit code."""
    try:
        servers = reserve(ray, settings, signals)
        addresses = results(ray, [server.address.remote() for server in servers], signals)
    except LateError:
        return failed(
            f"after {TIMEOUT} s, {settings.servers} server(s) with {settings.cards} {settings.resource} each have not "
            "joined the Ray cluster\n  fix: kubectl get pods, and check that the workers run",
            2,
        )
    except ray.exceptions.RayError as error:
        return failed(f"a server was lost before its ranks started: {type(error).__name__}", 1)
    order = in_order(addresses)
    program = [sys.executable, "-Iu", str(place.with_name("start.py")), *settings.command]
    argv = [sys.executable, "-Iu", str(place), *program]
    runs: dict[Any, str] = {}
    for number, server in enumerate(order):
        environ = {settings.pod_index: str(number), settings.address: addresses[order[0]]}
        runs[servers[server].run.remote(argv, environ)] = f"server {number} ({addresses[server]})"
    try:
        code = first_failure(ray, runs, signals)
    except StoppedError:
        code = failed("ended by SIGTERM", 143)
    if code:
        with suppress(ray.exceptions.RayError):  # a server may be lost
            ray.get([server.stop.remote() for server in servers], timeout=GRACE)
        ray.wait([*runs], num_returns=len(runs), timeout=GRACE)
    return code


def main(command: Sequence[str]) -> int:
    """Run the program, and return its exit code."""
    if command:
        return guard(command)
    os.environ["RAY_DEDUP_LOGS"] = "0"  # lines of ranks that are alike are no duplicates
    import ray  # noqa: PLC0415 - it reads the variable

    place = Path(__file__)
    settings = Settings(**json.loads(place.with_name("ray.json").read_text(encoding="utf-8")))
    ray.init(address="auto")  # never a cluster of its own
    signals = Signals()
    signal.signal(signal.SIGTERM, signals.terminate)  # Ray has just set another
    try:
        return run(ray, settings, place, signals)
    except StoppedError:
        return failed("ended by SIGTERM", 143)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
