"""A rank of the jobs of spare_hosts.py: steps of all-reduces over sockets, and a checkpoint of rank 0 now and then.

The parameters depend on the numbers of steps and ranks alone, so a job that goes on from a checkpoint must end with
those of an undisturbed one. Each rank notes where it runs, and with which rank table.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
from pathlib import Path

from benchmarks.real_faults_program import Group
from hccl_kit import Heartbeat, WorkerEnv

PARAMETERS = 256
"""Size of the parameters in bytes."""
INTERVAL = 5
"""Steps between two checkpoints."""


def main() -> None:
    """Take STEPS steps; what is shared by all hosts is in the folder SHARED."""
    env = WorkerEnv.from_environ(os.environ)
    shared, steps = Path(os.environ["SHARED"]), int(os.environ["STEPS"])
    attempt = int(os.environ.get("HCCL_KIT_RESTART", "0"))
    table = Path(os.environ["RANK_TABLE_FILE"]).read_bytes()
    where = {"host": socket.gethostname(), "device": env.device, "sha256": hashlib.sha256(table).hexdigest()}
    _write(shared / f"where_{attempt}_{env.rank}", json.dumps(where).encode())
    heartbeat = Heartbeat.from_environ(os.environ)
    group = Group(env)
    parameters, first = bytes(PARAMETERS), 0
    checkpoint = shared / "checkpoint"
    if attempt and checkpoint.exists():
        first, parameters = int.from_bytes(checkpoint.read_bytes()[:4], "big"), checkpoint.read_bytes()[4:]
    for step in range(first, steps):
        time.sleep(0.05)
        seed = hashlib.sha256(b"%d %d " % (env.rank, step) + parameters).digest()
        gradients = seed * (PARAMETERS // len(seed))
        total = group.all_reduce(gradients, is_hub=env.rank == 0)
        parameters = bytes((one + other) & 255 for one, other in zip(parameters, total, strict=True))
        if env.rank == 0 and step % INTERVAL == INTERVAL - 1:
            _write(checkpoint, (step + 1).to_bytes(4, "big") + parameters)
        heartbeat.beat(step + 1)
    _write(shared / f"result_{env.rank}", parameters)


def _write(path: Path, data: bytes) -> None:
    """A whole file or none."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_bytes(data)
    part.rename(path)


if __name__ == "__main__":
    main()
