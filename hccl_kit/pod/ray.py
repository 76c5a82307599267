"""The entry point of a RayJob: starts the program of a pod on all servers of a Ray cluster.

An actor on each server runs it there, with the number of the server as that of the pod. The servers are numbered in the
order of their addresses; the first whose ranks fail ends the others.

Exit code: that of the ranks; 1 a server was lost, 2 the servers did not come, 143 SIGTERM. The image needs Ray.
"""

from __future__ import annotations

import ipaddress
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import hccl_kit
from hccl_kit.pod.ranks import log, seconds
from hccl_kit.pod.settings import Settings

POLL = 0.5
"""Seconds between two looks; a signal is handled between them, and Ray kills a job 3 s after SIGTERM."""
GRACE = 20.0
"""Seconds in which ranks end and the last of their output arrives."""
TERMINATED = 128 + signal.SIGTERM


class StoppedError(Exception):
    """Ray ends the job."""


class LateError(Exception):
    """Servers have not come in time."""


def check(stopped: Sequence[int]) -> None:
    """Raises StoppedError after SIGTERM; its handler would raise inside Ray, which makes another error of it."""
    if stopped:
        raise StoppedError


def server_class() -> type:
    """The class of the actors. It is made here, so that Ray sends it to the servers, which do not have this module."""

    class Server:
        """An actor with all cards of a server, which runs one program there."""

        def __init__(self) -> None:
            self.process: Any = None
            self.stopped = False

        def address(self) -> str:
            """The address of this server for others."""
            import ray.util

            return str(ray.util.get_node_ip_address())

        def run(self, argv: Sequence[str], environ: Mapping[str, str]) -> int:
            """Run the program with `environ` added to the environment; returns its exit code (128 + signal)."""
            # Ray limits actors without CPUs to one thread; these ranks share the server with no other actor.
            inherited = {name: value for name, value in os.environ.items() if (name, value) != ("OMP_NUM_THREADS", "1")}
            self.process = subprocess.Popen(argv, env={**inherited, **environ}, stdin=subprocess.DEVNULL)
            if self.stopped:  # before there was a process to stop
                self.process.terminate()
            code = int(self.process.wait())
            return code if code >= 0 else 128 - code

        def stop(self) -> None:
            """End the program, which ends its ranks."""
            self.stopped = True
            if self.process is not None:
                self.process.terminate()

    return Server


def results(ray: Any, waited: Sequence[Any], limit: float, stopped: Sequence[int]) -> list[Any]:
    """What Ray has promised. Raises LateError if it is not there after `limit` seconds, StoppedError after SIGTERM."""
    end = time.monotonic() + limit
    left = [*waited]
    while left:
        check(stopped)
        if time.monotonic() >= end:
            raise LateError
        _, left = ray.wait(left, num_returns=len(left), timeout=POLL)
    return list(ray.get([*waited]))


def reserve(ray: Any, settings: Settings, limit: float, stopped: Sequence[int]) -> list[Any]:
    """An actor on each of as many servers; waits until they have joined."""
    from ray.util.placement_group import placement_group
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    cards = {settings.ray_resource: settings.cards}
    group = placement_group([cards] * settings.pods, strategy="STRICT_SPREAD")
    results(ray, [group.ready()], limit, stopped)
    actor = ray.remote(server_class())
    return [
        actor.options(
            num_cpus=0,
            resources=cards,
            max_concurrency=2,  # `stop` while `run` runs
            scheduling_strategy=PlacementGroupSchedulingStrategy(
                placement_group=group, placement_group_bundle_index=number
            ),
        ).remote()
        for number in range(settings.pods)
    ]


def in_order(addresses: Sequence[str]) -> list[int]:
    """The numbers of addresses in the order of the addresses."""
    return sorted(range(len(addresses)), key=lambda number: (int(ipaddress.ip_address(addresses[number])), number))


def first_failure(ray: Any, runs: Mapping[Any, str], stopped: Sequence[int]) -> int:
    """Wait for all runs, or for the first that fails; returns its exit code, after a message."""
    left = dict(runs)
    while left:
        check(stopped)
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
    log(f"error: {text}")
    return code


def run(ray: Any, settings: Settings, program: Sequence[str], stopped: Sequence[int]) -> int:
    """Run the job; returns its exit code. Raises StoppedError."""
    limit = seconds(os.environ, settings.timeout)
    try:
        servers = reserve(ray, settings, limit, stopped)
        addresses = results(ray, [server.address.remote() for server in servers], limit, stopped)
    except LateError:
        return failed(
            f"after {limit:.0f} s, {settings.pods} server(s) with {settings.cards} {settings.ray_resource} each have "
            "not joined the Ray cluster\n  fix: kubectl get pods, and check that the workers run",
            2,
        )
    except ray.exceptions.RayError as error:
        return failed(f"a server was lost before its ranks started: {type(error).__name__}", 1)
    order = in_order(addresses)
    runs: dict[Any, str] = {}
    for number, server in enumerate(order):
        environ = {settings.pod_index: str(number), settings.address: addresses[order[0]]}
        runs[servers[server].run.remote(program, environ)] = f"server {number} ({addresses[server]})"
    try:
        code = first_failure(ray, runs, stopped)
    except StoppedError:
        code = failed("ended by SIGTERM", TERMINATED)
    if code:
        with suppress(ray.exceptions.RayError):  # a server may be lost
            ray.get([server.stop.remote() for server in servers], timeout=GRACE)
        ray.wait([*runs], num_returns=len(runs), timeout=GRACE)
    return code


def main(settings: Settings, path: str) -> int:
    """Run the job whose settings are in the file `path`, here and on the servers; returns its exit code."""
    os.environ["RAY_DEDUP_LOGS"] = "0"  # lines of ranks that are alike are no duplicates
    import ray

    archive = str(Path(hccl_kit.__file__).parents[1])  # sys.path is no longer as it was: Ray adds to it
    start = ["-m", "hccl_kit.pod"] if settings.kit_version else [archive]
    program = [sys.executable, "-I", *start, path, *settings.command]
    ray.init(address="auto")  # never a cluster of its own
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))  # Ray has just set another
    try:
        return run(ray, settings, program, stopped)
    except StoppedError:
        return failed("ended by SIGTERM", TERMINATED)
