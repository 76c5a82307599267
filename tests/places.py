"""Folders that tests read."""

from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
FAKES = TESTS / "fakes" / "bin"
FILES_OF_MPIRUN = "PRTE_MCA_prte_tmpdir_base"
"""The variable with the folder of Open MPI 5 for the files of a job; each test run has a new one."""
