"""Nothing that lies in the current folder runs by mistake: no module of Python, and no program."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from hccl_kit.base.kit_program import START
from hccl_kit.base.own_program import own_program
from hccl_kit.launch.emitters import bash
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import plan
from hccl_kit.launch.spares import Spare
from hccl_kit.runtime.worker_env import DIAGNOSE
from hccl_kit.table import formats
from tests.launch.jobs import SCRIPT, TABLE, clean_environ
from tests.launch.nodes import table_of
from tests.launch.payload.test_ssh_start import ssh
from tests.places import ROOT
from tests.waiting import PATIENCE

__all__ = ["ssh"]

IDS = ("127.0.0.1", "127.0.0.2")
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


def run_on_two_servers(
    folder: Path, code: str, *options: str, spare: bool = False, environ: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a job whose ranks run `code`, with the modules of Python's own folder only."""
    made = plan(table_of(IDS), (sys.executable, "-I", "-c", code))
    text = formats.write(table_of(IDS))
    entry = json.dumps(json.loads(formats.write(table_of(("127.0.0.3",))))["server_list"][0])
    spares = [Spare("127.0.0.3", "127.0.0.3", entry)] if spare else []
    (folder / TABLE).write_text(text, encoding="utf-8")
    (folder / SCRIPT).write_text(bash.script(made, TableFile(TABLE, text), spares), encoding="utf-8")
    return subprocess.run(
        ["bash", SCRIPT, *options],
        cwd=folder,
        env=clean_environ({DIAGNOSE: "60", "PATH": os.defpath, "PYTHONPATH": "/nowhere:", **environ}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


def test_over_ssh_no_kit_of_the_current_folder_runs(tmp_path: Path, ssh: str) -> None:
    mark = plant(tmp_path)
    done = run_on_two_servers(tmp_path, "raise SystemExit(7)", "--ssh", environ={"HCCL_KIT_SSH": ssh})
    assert (done.returncode, mark.exists()) == (7, False), done.stderr
    assert "first fault: " in done.stderr.rpartition("\n\n")[2]


def test_the_preflight_of_a_script_does_not_run_a_kit_of_the_current_folder(tmp_path: Path) -> None:
    mark = plant(tmp_path)
    done = run_on_two_servers(tmp_path, "", "--preflight", "--server", IDS[0], spare=True, environ={})
    assert (done.returncode, mark.exists()) == (3, False)
    assert done.stderr.endswith(f"error: preflight finds errors on server {IDS[0]}\n")


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
