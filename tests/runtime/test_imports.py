"""Modules of hccl_kit.runtime are imported before the environment is complete, so they load none that reads it."""

import os
import subprocess
import sys

PROGRAM = """
import sys
import hccl_kit.runtime.detect, hccl_kit.runtime.join, hccl_kit.runtime.mpi
print(*sorted({"mindspore", "mpi4py", "numpy"} & set(sys.modules)))
"""


def test_importing_its_modules_loads_no_heavy_ones() -> None:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == ""
