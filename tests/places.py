"""Folders that tests read."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
FAKES = TESTS / "fakes" / "bin"
MPIRUN = Path(sys.executable).parent / "mpirun"
"""That of the extra mpi."""
AS_ROOT = ["--allow-run-as-root"] if os.geteuid() == 0 else []
"""Options that mpirun of Open MPI needs here."""
FILES_OF_MPIRUN = "PRTE_MCA_prte_tmpdir_base"
"""The variable with the folder of Open MPI 5 for the files of a job; each test run has a new one."""


def shipped_configs() -> list[Path]:
    """The configurations of the project, without those that a user keeps beside them in the checkout."""
    if not (ROOT / ".git").exists():
        return sorted((ROOT / "configs").rglob("*.yaml"))
    command = ["git", "ls-files", "-z", "--", "configs/**.yaml"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted(ROOT / name for name in names.split("\0") if name)
