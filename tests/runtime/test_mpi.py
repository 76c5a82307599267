"""The sum over ranks, under a real mpirun."""

import subprocess
import sys

import pytest

from tests.places import AS_ROOT, MPIRUN

SUM = """
import numpy as np
from mpi4py import MPI
from hccl_kit.runtime import mpi
rank = MPI.COMM_WORLD.Get_rank()
for count in (0, 1, mpi.PIECE, 2 * mpi.PIECE + 3):
    given = [np.arange(size, dtype=np.float32).reshape(1, size) + rank for size in (1, count, 3)]
    sums = [np.empty_like(one) for one in given]
    mpi.sum_over_ranks(given, sums)
    for one in sums:
        np.testing.assert_array_equal(one[0], 2 * np.arange(one.size, dtype=np.float32) + 1)
print("equal")
"""


@pytest.mark.skipif(not MPIRUN.exists(), reason="needs the extra mpi, which brings mpirun")
def test_all_pieces_of_all_arrays_are_summed() -> None:
    command = [str(MPIRUN), "-n", "2", "--oversubscribe", *AS_ROOT, sys.executable, "-c", SUM]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.stdout == "equal\nequal\n", done.stderr
