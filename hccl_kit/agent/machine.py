"""What this server says about its cores, NUMA nodes and cards."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from typing import NamedTuple

CGROUP = "sys/fs/cgroup"
PATIENCE = 5.0
"""Seconds in which npu-smi answers, unless it hangs in the driver."""
MOST = 1 << 16
"""Bytes of its answer that are read; the topology of 64 cards has 40 KiB."""
_QUERY = ("npu-smi", "info", "-t", "topo")
_ROW = re.compile(r"\s*(?:NPU|Phy-ID)([0-9]{1,4})\s.*\s([0-9]{1,4}(?:[-,][0-9]{1,4}){0,255})\s*", re.ASCII)


class Machine(NamedTuple):
    """The cores that this process may use: all, by NUMA node, and with the other threads of the same core.

    `cards` are those in /dev. `near` are the cores near a card, of this process or not, by npu-smi.
    """

    allowed: frozenset[int]
    nodes: tuple[frozenset[int], ...]
    threads: Mapping[int, frozenset[int]]
    cards: frozenset[int]
    near: Mapping[int, frozenset[int]]


def this_machine(environ: Mapping[str, str], root: str = "/") -> Machine:
    """The facts of this machine; those that it does not tell are empty. `environ` is for npu-smi."""
    allowed = frozenset(os.sched_getaffinity(0))
    system = os.path.join(root, "sys/devices/system")
    nodes = [
        cores_in(_text(os.path.join(system, "node", f"node{number}", "cpulist"))) & allowed
        for number in _numbers(os.path.join(system, "node"), "node")
    ]
    threads = {
        core: cores_in(_text(os.path.join(system, "cpu", f"cpu{core}", "topology", "thread_siblings_list"))) & allowed
        for core in allowed
    }
    return Machine(
        allowed,
        tuple(cores for cores in nodes if cores) or (allowed,),
        {core: siblings for core, siblings in threads.items() if siblings},
        frozenset(_numbers(os.path.join(root, "dev"), "davinci")),
        near_cards(_answer(environ)),
    )


def threads(ranks: int, environ: Mapping[str, str], root: str = "/") -> int:
    """The threads of each of `ranks` on this host: the cores that this process may use, shared, at least 1.

    Cores are those of its affinity, or fewer if its cgroup or Slurm limits them.
    """
    cores = len(os.sched_getaffinity(0))
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):  # cgroup 2 and 1
        words = " ".join(_text(os.path.join(root, CGROUP, name)) for name in names).split()
        quota, period = map(int, words) if re.fullmatch("[0-9]+ [1-9][0-9]*", " ".join(words), re.ASCII) else (0, 1)
        cores = min(cores, quota // period) if quota else cores  # not this version, "max" or -1: no limit
    of_slurm = environ.get("SLURM_CPUS_ON_NODE", "")
    if re.fullmatch("[0-9]{1,6}", of_slurm, re.ASCII):
        cores = min(cores, int(of_slurm))
    return max(1, cores // ranks)


def near_cards(answer: str) -> dict[int, frozenset[int]]:
    """The cores near each card, from the column "CPU Affinity" of `npu-smi info -t topo`; {} without it.

    The rows are named NPU0, NPU1, ..., on Atlas A3 Phy-ID0, ... Source: npu-smi of the driver as published by
    hicann/driver, 2026-07-21.
    """
    rows = map(_ROW.fullmatch, answer.splitlines())
    return {int(row[1]): cores_in(row[2]) for row in rows if row}


def cores_in(text: str) -> frozenset[int]:
    """The cores of a list such as `0-3,8`; what is not a list has none. Linux counts at most 8,192."""
    cores: set[int] = set()
    for part in re.findall(r"[0-9-]+", text, re.ASCII):
        match = re.fullmatch("([0-9]{1,4})(?:-([0-9]{1,4}))?", part, re.ASCII)
        if match:
            cores.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return frozenset(cores)


def _numbers(folder: str, name: str) -> list[int]:
    """The numbers of the files NAME0, NAME1, ... in a folder, ascending."""
    try:
        matches = [re.fullmatch(f"{name}([0-9]{{1,5}})", entry, re.ASCII) for entry in os.listdir(folder)]
    except OSError:
        return []
    return sorted(int(match[1]) for match in matches if match)


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read(MOST)
    except OSError:
        return ""


def _answer(environ: Mapping[str, str]) -> str:
    """What npu-smi prints; "" if it is not installed; what it has printed so far if it hangs."""
    with tempfile.TemporaryFile() as file:
        try:
            process = subprocess.Popen(
                _QUERY, env=dict(environ), stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.DEVNULL
            )
        except OSError:
            return ""
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.returncode = -signal.SIGKILL  # not waited for: it may hang in the driver for ever
        file.seek(0)
        return file.read(MOST).decode(errors="replace")
