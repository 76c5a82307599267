"""A benchmark that never ends, and neither does its child process."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.row import Row


def rows(*, full: bool) -> Iterator[Row]:
    yield Row("before", "a peer", "ms", 1.0, 2.0)
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    part = Path(os.environ["ENDLESS"] + ".part")
    part.write_text(str(process.pid), encoding="utf-8")
    part.rename(os.environ["ENDLESS"])
    process.wait()
