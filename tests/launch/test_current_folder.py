"""Nothing that lies in the current folder runs by mistake: no module of Python, and no program."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from hccl_kit.base.own_program import START, own_program
from tests.places import ROOT

MARK = "ran_here"
PLANTED = (
    "import os; open(os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + '/ran_here', 'a').write(__name__)\n"
)


def plant(folder: Path) -> Path:
    """A module of the kit in `folder` that leaves MARK there when it runs; returns the path of that."""
    for name in ("hccl_kit", "json", "torch"):
        (folder / name).mkdir()
        for file in ("__init__.py", "__main__.py"):
            (folder / name / file).write_text(PLANTED)
    return folder / MARK


@pytest.mark.parametrize("way", ["PYTHONPATH", "user site", "the running kit"])
def test_the_kit_is_found_wherever_it_is_installed(tmp_path: Path, way: str) -> None:
    """`-I` alone leaves out PYTHONPATH and the folder of the user."""
    bare = Path(os.path.realpath(sys.executable))  # without the virtual environment
    environ: Mapping[str, str] = {"PATH": os.defpath, "HOME": str(tmp_path)}
    if way == "PYTHONPATH":
        environ = {**environ, "PYTHONPATH": f":{ROOT}:"}
    elif way == "user site":
        site = subprocess.run(
            [bare, "-c", "import site; print(site.getusersitepackages())"],
            env=environ,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        Path(site).mkdir(parents=True)
        Path(site, "kit.pth").write_text(f"{ROOT}\n")
    command = [str(bare), *own_program("hccl_kit", "--version")[1:]]
    if way != "the running kit":
        command = [str(bare), "-I", "-c", START, "hccl_kit", "--version"]
    mark = plant(tmp_path)
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, mark.exists()) == (0, "", False)
    assert done.stdout.startswith("hccl-kit ")
