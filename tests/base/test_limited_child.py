"""A child ends at its limits, and with its parent."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hccl_kit.base.limited_child import Limits, limited_program, why_ended
from tests.launch.jobs import clean_environ
from tests.places import ROOT
from tests.waiting import wait_until

LIMITS = Limits(memory=1 << 28, seconds=1)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("while True: pass", "reading it takes more than 1 s"),
        ("bytearray(1 << 28)", "reading it fails"),
        ("import os; os.abort()", "reading it ends with SIGABRT"),
    ],
)
def test_a_child_ends_at_its_limits(program: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "read_x.py").write_text(program)
    environ = clean_environ({"PYTHONPATH": f"{ROOT}:{tmp_path}"})
    done = subprocess.run(limited_program(LIMITS, "read_x"), env=environ, stderr=subprocess.DEVNULL, check=False)
    assert why_ended(done.returncode, LIMITS) == why


def test_a_child_ends_with_its_parent(tmp_path: Path) -> None:
    (tmp_path / "sleeping.py").write_text("import time\ntime.sleep(600)\n")
    start = (
        "import subprocess\nfrom hccl_kit.base.limited_child import Limits, limited_program\n"
        "subprocess.run(limited_program(Limits(1 << 28, 9), 'sleeping'))"
    )
    environ = clean_environ({"PYTHONPATH": f"{ROOT}:{tmp_path}"})
    with subprocess.Popen([sys.executable, "-c", start], env=environ) as parent:
        children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
        assert wait_until(children.read_text)
        child = Path(f"/proc/{children.read_text().strip()}/exe")
        parent.send_signal(signal.SIGKILL)
    assert wait_until(lambda: not child.exists())
