"""hccl-kit preflight --mpi under a real mpirun: every process plays a server with its own environment."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from hccl_kit.base.schemas import load
from tests.cli.test_preflight import HOST_SIDE, clean_environ
from tests.launch.test_mpirun_run import CHOICES
from tests.places import AS_ROOT
from tests.tables import text

pytestmark = pytest.mark.skipif(
    CHOICES == [None] or not find_spec("mpi4py"), reason="needs mpirun of Open MPI and the extra mpi"
)
AS_SERVER = """\
#!/bin/sh
# One process as a server: its id, and what $FOLDER/N.env sets.
export HCCL_KIT_SERVER="10.0.0.$((OMPI_COMM_WORLD_RANK + 1))" HCCL_HOST_SOCKET_PORT_RANGE=auto
[ -e "$FOLDER/$OMPI_COMM_WORLD_RANK.env" ] && . "$FOLDER/$OMPI_COMM_WORLD_RANK.env"
exec "$PYTHON" -m hccl_kit.cli.kit preflight "$@" --mpi
"""


@pytest.fixture(params=CHOICES, ids=str)
def mpirun(request: pytest.FixtureRequest) -> Path:
    chosen: Path = request.param
    return chosen


class Servers:
    """A table of two servers in a folder, and processes that play them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "t.json").write_text(text(2))
        self.wrapper = folder / "server.sh"
        self.wrapper.write_text(AS_SERVER)
        self.wrapper.chmod(0o755)

    def put(self, process: int, words: str) -> None:
        (self.folder / f"{process}.env").write_text(words)

    def look(self, mpirun: Path, *arguments: str, count: int = 2) -> subprocess.CompletedProcess[str]:
        start = [str(mpirun), *AS_ROOT, "--oversubscribe", "--bind-to", "none", "-n", str(count)]
        chosen = [*HOST_SIDE, "--ignore", "HK611"]  # all have the interfaces of this machine
        return subprocess.run(
            [*start, str(self.wrapper), "t.json", *chosen, *arguments],
            cwd=self.folder,
            env=clean_environ() | {"FOLDER": str(self.folder), "PYTHON": sys.executable},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )


@pytest.fixture
def servers(tmp_path: Path) -> Servers:
    return Servers(tmp_path)


def test_servers_that_are_identical_are_one_line(servers: Servers, mpirun: Path) -> None:
    done = servers.look(mpirun)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "2 of 2 servers answered: 0 errors, 0 differences"
    assert all(line.startswith("not checked on ") for line in done.stdout.splitlines()[:-1])


def test_only_differences_are_shown_and_all_processes_have_one_exit_code(servers: Servers, mpirun: Path) -> None:
    (servers.folder / "there").mkdir()
    (servers.folder / "there" / "t.json").write_text(text(2) + "\n")
    servers.put(1, f'export HCCL_BUFFSIZE=400 HCCL_INTRA_ROCE_ENABLE=0; cd "{servers.folder}/there"')
    done = servers.look(mpirun)
    assert done.returncode == 1
    assert "HK615 error: the table on 10.0.0.2 differs from the checked table\n" in done.stdout
    assert 'HK618 warning: HCCL_BUFFSIZE differs: not set on 10.0.0.1; "400" on 10.0.0.2\n' in done.stdout
    assert "HK607 error on 1 of 2 servers, 10.0.0.2: HCCL_INTRA_ROCE_ENABLE=0 and " in done.stdout
    assert done.stdout.count("servers answered:") == 1


def test_servers_without_a_process_or_a_readable_table_are_named(servers: Servers, mpirun: Path) -> None:
    done = servers.look(mpirun, count=1)
    assert done.returncode == 2
    assert "10.0.0.2 did not answer: no process of mpirun ran on this server\n" in done.stdout
    servers.put(1, "cd /")
    done = servers.look(mpirun, "--format", "json")
    assert done.returncode == 2
    document = json.loads(done.stdout)
    Draft202012Validator(load("preflight_report")).validate(document)
    assert [one["error"] for one in document["servers"]] == [
        None,
        "no process of mpirun ran on this server",
        "cannot read t.json: No such file or directory",
    ]


def test_two_processes_on_one_server_are_refused(servers: Servers, mpirun: Path) -> None:
    servers.put(1, "export HCCL_KIT_SERVER=10.0.0.1")
    done = servers.look(mpirun)
    assert (done.returncode, done.stdout) == (2, "")
    assert 'error: processes 0, 1 all check server "10.0.0.1"; one is enough' in done.stderr
    assert done.stderr.count("error:") == 1


def test_a_finding_on_all_servers_is_reported_once(servers: Servers, mpirun: Path) -> None:
    (servers.folder / "t.json").write_text(text(2).replace('"rank_id": "1"', '"rank_id": "0"'))
    done = servers.look(mpirun)
    assert done.returncode == 1
    assert done.stdout.count("HK201 error") == 1
    (servers.folder / "t.json").unlink()
    done = servers.look(mpirun)
    assert done.returncode == 2
    assert done.stderr.count("error: cannot read t.json") == 1


def test_the_error_of_a_table_is_reported_and_not_its_warnings(servers: Servers, mpirun: Path) -> None:
    (servers.folder / "there").mkdir()
    wrong = "\ufeff" + text(2).replace('"rank_id": "1"', '"rank_id": "0"')  # HK003 warns about the first character
    (servers.folder / "there" / "t.json").write_text(wrong)
    servers.put(1, f'cd "{servers.folder}/there"')
    done = servers.look(mpirun)
    assert done.returncode == 2
    assert "the table on this server has errors: HK201: " in done.stdout


def test_a_clock_that_is_off_is_reported(servers: Servers, mpirun: Path) -> None:
    (servers.folder / "clock").mkdir()
    late = "import time; now = time.time; time.time = lambda: now() + 40\n"
    (servers.folder / "clock" / "sitecustomize.py").write_text(late)
    servers.put(1, f'export PYTHONPATH="{servers.folder}/clock:$PYTHONPATH"')
    done = servers.look(mpirun)
    assert done.returncode == 0
    assert "HK619 warning: the clock of 10.0.0.2 is " in done.stdout
    assert " s ahead of the clock of this machine\n" in done.stdout
    assert "10.0.0.1" not in done.stdout


def test_the_site_rules_judge_every_process(servers: Servers, mpirun: Path) -> None:
    (servers.folder / "site.yaml").write_text("a2: {warning: {variables: {HCCL_BUFFSIZE: 200}}}\n")
    (servers.folder / ".hccl-kit.toml").write_text('site-rules = "site.yaml"\n')
    servers.put(1, "export HCCL_BUFFSIZE=400")
    done = servers.look(mpirun, "--product", "a2", "--select", "HK672")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-4:] == [
        "HK672 warning on 2 of 2 servers:",
        '    10.0.0.1: variables: HCCL_BUFFSIZE is absent; site.yaml:1:43 accepts "200"',
        '    10.0.0.2: variables: HCCL_BUFFSIZE is "400"; site.yaml:1:43 accepts "200"',
        "2 of 2 servers answered: 0 errors, 1 warning, 1 difference",
    ]
