"""The group on CPU: rendezvous and finalization with a TCPStore on rank 0."""

from __future__ import annotations

import socket
import sys
import time
from datetime import timedelta
from typing import Any

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.network import is_loopback
from hccl_kit.base.wording import listed, plural
from hccl_kit.runtime.worker_env import WorkerEnv

JOIN_TIMEOUT = 120
"""Seconds that a rank waits for the others to join, and at the end for them to finish."""
LOG_INTERVAL = 10
"""Seconds between two messages of a waiting rank."""
POLL = 0.02
"""Seconds between two queries of the store."""
JOINED, DONE = "hccl_kit.joined", "hccl_kit.done"
"""The keys of the store that count the ranks that have joined, and those that are done."""


def rendezvous(env: WorkerEnv) -> Any:
    """Form the group around a TCPStore on rank 0, which is returned.

    It takes 3 s, MindSpore's scheduler 10 to 14. The 3 s are MindSpore's: each rank writes its address into the store,
    then reads those of the others, and sleeps for 3 s if one is missing. All ranks but the last one do.
    `_init_with_store` is private: the public `init_process_group` accepts only "hccl". A test fails if a release moves
    it. The other ranks connect only when rank 0 listens: MindSpore would retry for 10 to 100 s.
    """
    from mindspore.communication import management
    from mindspore.mint.distributed import TCPStore

    if env.master_addr is None or env.master_port is None:
        raise KitError(
            "runtime.no-rendezvous",
            "no rendezvous address: MASTER_ADDR and MASTER_PORT are not set",
            fix="start the job with the script that hccl-gen writes, or with mpirun",
        )
    address = address_to_join(env, env.master_addr)
    if env.rank == 0:
        _assert_free(env.master_port)
    else:
        wait_until_listening(env, env.master_addr, env.master_port)
    limit = timedelta(seconds=JOIN_TIMEOUT)
    try:
        store = TCPStore(address, env.master_port, env.size, env.rank == 0, limit, wait_for_workers=False)
        wait_for_all_ranks(store, env)
        management._init_with_store(timeout=limit, world_size=env.size, rank=env.rank, store=store)
    except RuntimeError as error:
        first = str(error).strip().split("\n")[0]
        raise KitError(
            "runtime.not-joined",
            "rank {rank} of {size} could not join the group at {address}:{port}: {reason}",
            fix="check that every rank was started; each has its own log",
            rank=env.rank,
            size=env.size,
            address=env.master_addr,
            port=env.master_port,
            reason=first,
        ) from error
    return store


def address_to_join(env: WorkerEnv, host: str) -> str:
    """The IP address of `host`, since MindSpore accepts no names.

    Raises KitError if it is a loopback address that other hosts cannot reach: rank 0 listens on this address only, and
    some systems resolve their own name to 127.0.1.1.
    """
    if ":" in host:  # IPv6
        return host
    try:
        address = socket.gethostbyname(host)
    except (OSError, UnicodeError) as error:  # UnicodeError: an empty label, or one of more than 63 characters
        reason = error.strerror if isinstance(error, OSError) else "it is not a name of a host"
        raise KitError(
            "runtime.address-not-resolved",
            "MASTER_ADDR={host} cannot be resolved: {reason}",
            fix="export MASTER_ADDR=<an address of the host of rank 0> for all ranks",
            host=host,
            reason=reason,
        ) from error
    if env.rank == 0 and address != host and is_loopback(address) and env.local_size < env.size:
        raise KitError(
            "runtime.loopback",
            "MASTER_ADDR={host} is {address} on this host, where other hosts cannot reach rank 0",
            fix="export MASTER_ADDR=<an address of this host> for all ranks, or correct /etc/hosts",
            host=host,
            address=address,
        )
    return address


def wait_for_all_ranks(store: Any, env: WorkerEnv) -> None:
    """Return when every rank has joined; until then log which are missing, since MindSpore logs nothing.

    Raises RuntimeError, from MindSpore, 15 s after rank 0 has ended.
    """
    store.add(f"{JOINED}.{env.rank}", 1)
    joined = store.add(JOINED, 1)
    wait = _WaitLog(
        f"rank {env.rank} of {env.size}", hint=Message("runtime.timed-out.fix", "see the logs of those ranks")
    )
    while joined < env.size:
        if wait.is_due():
            missing = [rank for rank in range(env.size) if not store.add(f"{JOINED}.{rank}", 0)]
            wait.log(f"{plural('rank', len(missing))} {listed(missing)}")
        time.sleep(POLL)
        joined = store.add(JOINED, 0)


class _WaitLog:
    """Logs every LOG_INTERVAL seconds what `who` waits for, and raises KitError after JOIN_TIMEOUT seconds."""

    def __init__(self, who: str, *, hint: str) -> None:
        self.who, self.hint = who, hint
        self.began = self.logged = time.monotonic()

    def is_due(self) -> bool:
        return time.monotonic() > self.logged + LOG_INTERVAL

    def log(self, subject: str) -> None:
        self.logged = time.monotonic()
        waited = self.logged - self.began
        if waited > JOIN_TIMEOUT:
            raise KitError(
                "runtime.timed-out",
                "{who} timed out after {seconds:.0f} s waiting for {subject}",
                hint=self.hint,
                who=self.who,
                seconds=waited,
                subject=subject,
            )
        sys.stderr.write(f"{self.who} is waiting for {subject}, {waited:.0f} s so far\n")
        sys.stderr.flush()


def _assert_free(port: int) -> None:
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("", port))
    except OSError as error:
        raise KitError(
            "runtime.port-not-free",
            "port {port} on this host cannot be used for the rendezvous: {reason}",
            fix="is another job running? export MASTER_PORT=<a free port> for all ranks",
            port=port,
            reason=error.strerror,
        ) from error


def wait_until_listening(env: WorkerEnv, host: str, port: int) -> None:
    """Return when rank 0 listens. Raises KitError after JOIN_TIMEOUT seconds."""
    wait = _WaitLog(f"rank {env.rank} of {env.size}", hint="did rank 0 start? see its log")
    while True:
        try:
            socket.create_connection((host, port), timeout=1).close()
        except OSError:
            if wait.is_due():
                wait.log(f"rank 0 to listen on {host}:{port}")
            time.sleep(0.05)
        else:
            return


def finalize(store: Any, env: WorkerEnv) -> None:
    """Return when all ranks are done, which is counted in rank 0's store.

    A barrier is not enough: MindSpore's all-reduce returns on one rank while another still waits for its
    acknowledgement, and if the first ends then, the other fails after 30 s (in one of six runs).
    """
    end = time.monotonic() + JOIN_TIMEOUT
    try:
        done = store.add(DONE, 1)
        while done < env.size:
            if time.monotonic() > end:
                raise KitError(
                    "runtime.not-done",
                    "rank {rank} is done, but only {done} of {size} ranks are after {seconds} s",
                    fix="see the logs of the other ranks",
                    rank=env.rank,
                    done=done,
                    size=env.size,
                    seconds=JOIN_TIMEOUT,
                )
            time.sleep(POLL)
            done = store.add(DONE, 0)
    except RuntimeError:  # rank 0 has ended: all were done, or it failed and reports that itself
        return
    if env.rank == 0:
        time.sleep(10 * POLL)  # the others query a last time
