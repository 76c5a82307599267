"""How many threads a rank has."""

import os

from hccl_kit.agent.cores import threads


def test_ranks_share_the_cores_of_this_process() -> None:
    cores = len(os.sched_getaffinity(0))
    assert threads(1, {}) <= cores
    assert threads(10**6, {}) == 1
    assert threads(1, {"SLURM_CPUS_ON_NODE": "1"}) == 1
    assert threads(1, {"SLURM_CPUS_ON_NODE": "x"}) == threads(1, {})
