"""hccl_kit.runtime is imported before the environment is complete, so it must not import modules that read it."""

import os
import subprocess
import sys

PROGRAM = """
import sys
import hccl_kit.runtime
import hccl_kit.runtime.join, hccl_kit.runtime.mpi
print(*sorted({"mindspore", "mpi4py", "numpy"} & set(sys.modules)))
"""


def test_importing_the_package_loads_no_heavy_modules() -> None:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == ""
