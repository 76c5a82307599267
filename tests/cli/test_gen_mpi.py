"""hccl-gen under a real mpirun: every process plays a server with its own fake hccn_tool."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_gen import NOTHING, make_checkout
from tests.places import AS_ROOT, FAKES, ROOT

HERE = Path(sys.executable).parent
MPIRUN = [str(HERE / "mpirun"), *AS_ROOT, "--oversubscribe", "--bind-to", "none"]
pytestmark = pytest.mark.skipif(
    not Path(MPIRUN[0]).exists() or not find_spec("mpi4py"), reason="needs the extra mpi, which brings mpirun"
)

AS_SERVER = """\
#!/bin/sh
# One process as a server: its own cards, its own id, and what $FOLDER/N/env adds.
here="$FOLDER/$OMPI_COMM_WORLD_RANK"
export FAKE_HCCN="$here" FAKE_NPU_SMI="$here"
[ -e "$here/env" ] && . "$here/env"
exec "$PYTHON" -m hccl_kit.cli.gen --server_ip "$(cat "$here/id")" "$@"
"""


class Servers:
    """Servers as folders, each with the id and the eight cards of a server."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder = folder
        self.count = count
        self.work = folder / "work"
        self.work.mkdir()
        self.wrapper = folder / "server.sh"
        self.wrapper.write_text(AS_SERVER)
        self.wrapper.chmod(0o755)
        for server in range(count):
            (folder / str(server)).mkdir()
            self.put(server, "id", f"10.0.0.{20 - server}")
            for card in range(8):
                address = f"10.{card % 4}.{card // 4}.{server + 1}"
                self.put(server, f"ipv4.{card}", f"ipaddr:{address}\nnetmask:255.255.0.0\n")

    def put(self, server: int, name: str, text: str) -> None:
        (self.folder / str(server) / name).write_text(text)

    def gen(self, *arguments: str, variables: Mapping[str, str] = NOTHING) -> subprocess.CompletedProcess[str]:
        environ = {key: value for key, value in os.environ.items() if not key.startswith(("HCCL_", "ASCEND_"))}
        environ |= {"FOLDER": str(self.folder), "PYTHON": sys.executable, "PYTHONPATH": str(ROOT), **variables}
        environ["PATH"] = f"{FAKES}{os.pathsep}{environ['PATH']}"
        return subprocess.run(
            [*MPIRUN, "-n", str(self.count), str(self.wrapper), "--mpi", *arguments],
            cwd=self.work,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def written(self) -> list[str]:
        return sorted(path.name for path in self.work.iterdir())

    def table(self, name: str) -> Any:
        return json.loads((self.work / name).read_text())


def refused(done: subprocess.CompletedProcess[str], servers: Servers) -> str:
    """The error of a run, which is printed once; the run must not have written any file."""
    assert (done.returncode, servers.written()) == (2, []), done.stdout + done.stderr
    assert done.stderr.count("error:") == 1, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.parametrize("count", [2, 3])
def test_all_servers_are_queried_and_one_table_is_written(tmp_path: Path, count: int) -> None:
    servers = Servers(tmp_path, count)
    done = servers.gen("--device_num", "[0,8)")
    assert (done.returncode, done.stderr) == (0, "")
    name = f"hccl_{count}s_{8 * count}p.json"
    assert servers.written() == [f"ascend{8 * count}p.sh", name]
    listed = servers.table(name)["server_list"]
    assert [server["server_id"] for server in listed] == [f"10.0.0.{20 - s}" for s in range(count)]
    assert [
        (device["rank_id"], device["device_id"], device["device_ip"])
        for server in listed
        for device in server["device"]
    ] == [(str(8 * s + c), str(c), f"10.{c % 4}.{c // 4}.{s + 1}") for s in range(count) for c in range(8)]
    assert done.stdout.splitlines()[:3] == [
        f"servers: {count}, one process on each",
        f"addresses: {FAKES / 'hccn_tool'}",
        f"wrote: {name}",
    ]
    assert done.stdout.count("wrote:") == 2


def test_one_process_is_one_server_with_its_script(tmp_path: Path) -> None:
    servers = Servers(tmp_path, 1)
    done = servers.gen("--device_num", "[0,8)")
    assert (done.returncode, servers.written()) == (0, ["ascend8p.sh", "hccl_8p_01234567_10.0.0.20.json"])


def test_super_pods_come_from_npu_smi_of_every_server(tmp_path: Path) -> None:
    servers = Servers(tmp_path, 3)
    for s in range(3):
        for card in range(8):
            rows = f"SDID : {(s % 2) << 22 | card}\nSuper Pod ID : {s // 2}\n"
            servers.put(s, f"spod.{card // 2}.{card % 2}", rows)
    done = servers.gen("--device_num", "[0,8)", "--product", "a3")
    assert (done.returncode, servers.written()) == (0, ["ascend24p.sh", "hccl_3s_24p.json"]), done.stderr
    table = servers.table("hccl_3s_24p.json")
    assert table["super_pod_list"] == [
        {"super_pod_id": "0", "server_list": [{"server_id": "10.0.0.20"}, {"server_id": "10.0.0.19"}]},
        {"super_pod_id": "1", "server_list": [{"server_id": "10.0.0.18"}]},
    ]
    assert table["server_list"][1]["device"][3]["super_device_id"] == str(1 << 22 | 3)


def test_vnic_addresses_are_refused_for_several_super_pods(tmp_path: Path) -> None:
    servers = Servers(tmp_path, 2)
    for s in range(2):
        for card in range(8):
            (tmp_path / str(s) / f"ipv4.{card}").unlink()
            servers.put(s, f"vnic.{card}", f"vnic ipaddr: 192.{s}.2.{card}\nvnic netmask: 255.0.0.0\n")
            servers.put(s, f"spod.{card // 2}.{card % 2}", f"SDID : {s << 22 | card}\nSuper Pod ID : 0\n")
    done = servers.gen("--device_num", "[0,8)", "--product", "a3", "--dry-run")
    assert done.returncode == 0, done.stderr
    for card in range(8):
        servers.put(1, f"spod.{card // 2}.{card % 2}", f"SDID : {card}\nSuper Pod ID : 1\n")
    text = refused(servers.gen("--device_num", "[0,8)", "--product", "a3"), servers)
    assert "servers outside one super pod connect over RoCE" in text
    assert "10.0.0.19, card 7" in text


def test_errors_of_all_servers_are_reported_once(tmp_path: Path) -> None:
    servers = Servers(tmp_path, 3)
    (tmp_path / "0" / "ipv4.7").unlink()
    (tmp_path / "2" / "ipv4.1").unlink()
    (tmp_path / "2" / "ipv4.3").unlink()
    text = refused(servers.gen("--device_num", "[0,8)"), servers)
    assert text.startswith("error: 2 of 3 servers failed:\n    process 0 on ")
    assert "        card 7: Get ipconf failed, because no ip was preset there!\n    process 2 on " in text
    assert "        card 1: Get ipconf failed" in text
    assert "        card 3: Get ipconf failed" in text
    assert text.count("--hccn-conf FILE") == 2  # two hints, because they name different cards


@pytest.mark.long
def test_a_silent_server_does_not_delay_the_others(tmp_path: Path) -> None:
    servers = Servers(tmp_path, 2)
    servers.put(1, "hang", "")
    text = refused(servers.gen("--device_num", "0"), servers)
    assert "error: 1 of 2 servers failed:\n    process 1 on" in text
    assert "card 0: no answer in 10 s" in text


def test_a_warning_about_the_default_command_is_printed_once(tmp_path: Path) -> None:
    servers = Servers(tmp_path, 2)
    make_checkout(servers.work)
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(
        "import importlib.util as util\nfind = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'mindspore' else find(name, *rest)\n"
    )
    done = servers.gen("--device_num", "[0,8)", variables={"PYTHONPATH": f"{hidden}{os.pathsep}{ROOT}"})
    assert (done.returncode, done.stderr.count("warning: the default command")) == (0, 1), done.stderr


def test_two_processes_on_one_server_are_refused(tmp_path: Path) -> None:
    servers = Servers(tmp_path, 3)
    servers.put(2, "id", "10.0.0.20")
    text = refused(servers.gen("--device_num", "[0,8)"), servers)
    assert "every process must run on another server; these run on the same one:\n    10.0.0.20: processes 0, 2" in text
    assert "fix: start one process per server: mpirun --map-by ppr:1:node" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--device_num", "[0,8]"), "HK401"),
        (("--device_num", "[0,8)", "--simulate"), "--mpi and --simulate are mutually exclusive"),
        (("--device_num", "[0,8)", "--"), "no command follows --"),
        (("--device_num", "[0,8)", "-o", "/dev/null/new"), "-o: cannot write into /dev/null: Not a directory"),
    ],
)
def test_an_invalid_option_is_reported_once(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    servers = Servers(tmp_path, 2)
    assert message in refused(servers.gen(*arguments), servers)


def test_addresses_that_break_a_rule_are_refused(tmp_path: Path) -> None:
    servers = Servers(tmp_path, 2)
    servers.put(1, "ipv4.3", "ipaddr:10.0.0.1\n")
    assert refused(servers.gen("--device_num", "[0,8)"), servers).startswith("error: HK302")


def test_missing_mpi4py_is_one_clear_message(tmp_path: Path) -> None:
    (tmp_path / "empty" / "mpi4py").mkdir(parents=True)
    (tmp_path / "empty" / "mpi4py" / "__init__.py").write_text("")
    servers = Servers(tmp_path, 2)
    done = servers.gen("--device_num", "[0,8)", variables={"PYTHONPATH": f"{tmp_path / 'empty'}{os.pathsep}{ROOT}"})
    assert (done.returncode, servers.written()) == (2, [])
    assert "Traceback" not in done.stderr
    assert "error: --mpi needs mpi4py, which cannot be loaded on " in done.stderr


def test_an_exception_on_one_server_ends_all_processes(tmp_path: Path) -> None:
    servers = Servers(tmp_path, 2)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text(
        "from hccl_kit.discovery import hccn_tool\nhccn_tool.cards = lambda *given, **named: 1 / 0\n"
    )
    servers.put(1, "env", f'export PYTHONPATH="{broken}:$PYTHONPATH"\n')
    done = servers.gen("--device_num", "[0,8)")
    assert (done.returncode, servers.written()) == (70, []), done.stderr
    assert "ZeroDivisionError" in done.stderr
