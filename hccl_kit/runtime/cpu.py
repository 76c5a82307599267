"""The group on CPU: a store that rank 0 holds, how all ranks meet there, and how they part."""

from __future__ import annotations

import socket
import sys
import time
from datetime import timedelta
from typing import Any

from hccl_kit.base.errors import KitError
from hccl_kit.base.network import is_loopback
from hccl_kit.base.wording import listed, plural
from hccl_kit.runtime.worker_env import WorkerEnv

JOIN_TIMEOUT = 120
"""Seconds that a rank waits for the others to appear, and at the end for them to be done."""
PATIENCE = 10
"""Seconds after which a rank that waits says for whom, again and again."""
POLL = 0.02
"""Seconds between two questions to another rank."""
HERE, DONE = "hccl_kit.here", "hccl_kit.done"
"""The keys of rank 0's store that count the ranks which have come, and those which are done."""


def meet(env: WorkerEnv) -> Any:
    """Form the group around a TCPStore on rank 0, which is returned.

    Measured at 3 s, where MindSpore's scheduler takes 10 to 14. These 3 s are MindSpore's: each rank writes its address
    into the store, then looks up those of the others, and where one is not there yet it sleeps for 3 s. All ranks but
    the last one do, however close together they come.
    `_init_with_store` is private: the public `init_process_group` takes only "hccl". A test fails when a release moves
    it. The others must not knock before rank 0 listens: MindSpore would retry for 10 to 100 s.
    """
    from mindspore.communication import management  # noqa: PLC0415
    from mindspore.mint.distributed import TCPStore  # noqa: PLC0415

    if env.master_addr is None or env.master_port is None:
        raise KitError(
            "no meeting point: MASTER_ADDR and MASTER_PORT are not set",
            hint="start the job with the script that hccl-gen writes, or with mpirun",
        )
    address = _address(env, env.master_addr)
    if env.rank == 0:
        _assert_free(env.master_port)
    else:
        _wait_until_listening(env, env.master_addr, env.master_port)
    limit = timedelta(seconds=JOIN_TIMEOUT)
    try:
        store = TCPStore(address, env.master_port, env.size, env.rank == 0, limit, wait_for_workers=False)
        _call_roll(store, env)
        management._init_with_store(timeout=limit, world_size=env.size, rank=env.rank, store=store)
    except RuntimeError as error:
        first = str(error).strip().split("\n")[0]
        raise KitError(
            f"rank {env.rank} of {env.size} found no group at {env.master_addr}:{env.master_port}: {first}",
            hint="see whether every rank was started; each has its own log",
        ) from error
    return store


def _address(env: WorkerEnv, host: str) -> str:
    """The address of a host, since MindSpore takes no names; KitError where no other host would find rank 0 there.

    Rank 0 listens on this address alone, and some systems tell a host by its own name to go to 127.0.1.1.
    """
    if ":" in host:  # IPv6
        return host
    try:
        address = socket.gethostbyname(host)
    except OSError as error:
        raise KitError(
            f"MASTER_ADDR={host} is the name of no host that this one knows: {error.strerror}",
            hint="export MASTER_ADDR=<an address of the host of rank 0> for all ranks",
        ) from error
    if env.rank == 0 and address != host and is_loopback(address) and env.local_size < env.size:
        raise KitError(
            f"MASTER_ADDR={host} is {address} on this host, where no other host finds rank 0",
            hint="export MASTER_ADDR=<an address of this host> for all ranks, or put the right one into /etc/hosts",
        )
    return address


def _call_roll(store: Any, env: WorkerEnv) -> None:
    """Return when every rank has come to the store; until then say who is missing. MindSpore itself waits in silence.

    RuntimeError, of MindSpore, 15 s after rank 0 has gone.
    """
    store.add(f"{HERE}.{env.rank}", 1)
    here = store.add(HERE, 1)
    clock = _Clock(f"rank {env.rank} of {env.size}", hint="the logs of those ranks say more")
    while here < env.size:
        if clock.is_time_to_say():
            missing = [rank for rank in range(env.size) if not store.add(f"{HERE}.{rank}", 0)]
            clock.say(f"{plural('rank', len(missing))} {listed(missing)}")
        time.sleep(POLL)
        here = store.add(HERE, 0)


class _Clock:
    """Says every PATIENCE seconds for whom `who` waits, and raises after JOIN_TIMEOUT seconds."""

    def __init__(self, who: str, *, hint: str) -> None:
        self.who, self.hint = who, hint
        self.began = self.said = time.monotonic()

    def is_time_to_say(self) -> bool:
        return time.monotonic() > self.said + PATIENCE

    def say(self, whom: str) -> None:
        self.said = time.monotonic()
        waited = self.said - self.began
        if waited > JOIN_TIMEOUT:
            raise KitError(f"{self.who} has waited {waited:.0f} s in vain for {whom}", hint=self.hint)
        sys.stderr.write(f"{self.who} waits for {whom}, {waited:.0f} s so far\n")
        sys.stderr.flush()


def _assert_free(port: int) -> None:
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("", port))
    except OSError as error:
        raise KitError(
            f"port {port} on this host cannot be used as meeting point: {error.strerror}",
            hint="is another job running? export MASTER_PORT=<a free port> for all ranks",
        ) from error


def _wait_until_listening(env: WorkerEnv, host: str, port: int) -> None:
    clock = _Clock(f"rank {env.rank} of {env.size}", hint="did rank 0 start? its log says more")
    while True:
        try:
            socket.create_connection((host, port), timeout=1).close()
        except OSError:
            if clock.is_time_to_say():
                clock.say(f"rank 0 to listen on {host}:{port}")
            time.sleep(0.05)
        else:
            return


def part(store: Any, env: WorkerEnv) -> None:
    """Count in rank 0's store who is done, and leave when all are.

    A barrier would not do: MindSpore's all-reduce returns on one rank while another still waits for its receipt, and
    where the first ends then, the other fails after 30 s (measured: one end in six).
    """
    end = time.monotonic() + JOIN_TIMEOUT
    try:
        done = store.add(DONE, 1)
        while done < env.size:
            if time.monotonic() > end:
                raise KitError(
                    f"rank {env.rank} is done, but only {done} of {env.size} ranks are after {JOIN_TIMEOUT} s",
                    hint="the logs of the other ranks say more",
                )
            time.sleep(POLL)
            done = store.add(DONE, 0)
    except RuntimeError:  # rank 0 has left, so all were done, or it failed and says so itself
        return
    if env.rank == 0:
        time.sleep(10 * POLL)  # the others ask a last time
