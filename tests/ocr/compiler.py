"""Skips tests that need a C++ compiler, which scripts/test.sh installs if possible."""

import os
from shutil import which

import pytest

from hccl_kit.ocr.cpu.library import COMPILERS

NEEDS_COMPILER = pytest.mark.skipif(
    not os.environ.get("CXX") and not any(map(which, COMPILERS)), reason="there is no C++ compiler"
)
