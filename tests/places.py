"""Folders that tests read."""

from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
FAKES = TESTS / "fakes" / "bin"
FILES_OF_MPIRUN = "PRTE_MCA_prte_tmpdir_base"
"""The variable with the folder where Open MPI 5 keeps the files of a job, a new one for each run of the tests."""
