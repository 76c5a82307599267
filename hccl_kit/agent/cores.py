"""The cores that this process may use."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

CGROUP = "/sys/fs/cgroup"


def threads(ranks: int, environ: Mapping[str, str]) -> int:
    """The threads of each of `ranks` on this host: the cores that this process may use, shared, at least 1.

    Cores are those of its affinity, or fewer if its cgroup or Slurm limits them.
    """
    cores = len(os.sched_getaffinity(0))
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):  # cgroup 2 and 1
        try:
            quota, period = " ".join(_text(os.path.join(CGROUP, name)) for name in names).split()
            cores = min(cores, int(quota) // int(period)) if int(quota) > 0 else cores
        except (OSError, ValueError, ZeroDivisionError):  # not this version, or "max": no limit
            continue
    of_slurm = environ.get("SLURM_CPUS_ON_NODE", "")
    if re.fullmatch("[0-9]{1,6}", of_slurm, re.ASCII):
        cores = min(cores, int(of_slurm))
    return max(1, cores // ranks)


def _text(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read(100)
