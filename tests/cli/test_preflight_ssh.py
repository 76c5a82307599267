"""hccl-kit preflight --all: over a fake ssh that plays servers with folders, and over real sshd in the lab."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from hccl_kit.base.schemas import load
from hccl_kit.remote.asking import TIMEOUT
from tests.cli.test_preflight import HOST_SIDE, clean_environ, preflight
from tests.lab.hosts import Hosts, hosts, needs_hosts
from tests.preflight.nodes import HERE, table_value
from tests.tables import ranks_value
from tests.waiting import PATIENCE, wait_until

FAKE_SSH = """\
#!/usr/bin/env bash
# In place of ssh: what $SERVERS/ADDRESS.env sets is the environment there; the last argument is the command.
address=${*: -2:1}
echo "$*" >>"$SERVERS/$address.log"
[ ! -e "$SERVERS/$address.down" ] || { echo "ssh: connect to host $address port 22: Connection refused" >&2; exit 255; }
unset HCCL_KIT_SERVER
[ ! -e "$SERVERS/$address.env" ] || . "$SERVERS/$address.env"
echo "Welcome to $address {"
eval "${*: -1}"
"""


LATE = """\
#!/bin/sh
# A Python whose clock is a day behind; its words are -I -c CODE ARGUMENT ...
code=$3
shift 3
exec {python} -I -c "import time; now = time.time; time.time = lambda: now() - 86400
$code" "$@"
"""


class Cluster:
    """This machine, and servers 10.0.0.2, 10.0.0.3, ... which a fake ssh plays."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder = folder
        self.table = folder / "t.json"
        made = table_value(count)
        self.table.write_text(json.dumps(made))
        self.ssh = folder / "fake-ssh"
        self.ssh.write_text(FAKE_SSH)
        self.ssh.chmod(0o755)
        self.variables = {"SERVERS": str(folder), "HCCL_KIT_SSH": f"{self.ssh} -p 22"}

    def put(self, server: str, text: str) -> None:
        (self.folder / f"{server}.env").write_text(text)

    def all(self, *arguments: str) -> tuple[int, str, str]:
        done = preflight(
            "t.json",
            "--all",
            "--python",
            sys.executable,
            *HOST_SIDE,
            *arguments,
            folder=self.folder,
            environ=self.variables,
        )
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path, 4)


NIC = "HK611"  # the fake servers all have the interfaces of this machine


def test_servers_that_are_identical_are_one_line(cluster: Cluster) -> None:
    code, out, err = cluster.all("--ignore", NIC)
    assert (code, err) == (0, ""), out
    assert out.splitlines()[-1] == "4 of 4 servers answered: 0 errors, 0 differences"
    assert all(line.startswith("not checked on ") for line in out.splitlines()[:-1])
    asked = (cluster.folder / "10.0.0.2.log").read_text()
    assert asked.startswith("-p 22 -T -o BatchMode=yes ")
    assert " -- 10.0.0.2 " in asked
    assert not (cluster.folder / f"{HERE}.log").exists(), "this server is asked without ssh"


def test_only_differences_are_shown(cluster: Cluster) -> None:
    cluster.put("10.0.0.3", "export HCCL_BUFFSIZE=400 CM_CHIEF_IP=10.0.0.1")
    code, out, _ = cluster.all("--ignore", NIC)
    assert code == 1
    assert "HK618 warning: HCCL_BUFFSIZE differs: not set on " in out
    assert '; "400" on 10.0.0.3\n' in out
    assert "HK607 error on 1 of 4 servers, 10.0.0.3: CM_CHIEF_IP with a rank table: " in out
    assert out.endswith("4 of 4 servers answered: 1 error, 1 difference\n")


def test_servers_without_the_table_are_named(cluster: Cluster) -> None:
    code, out, _ = cluster.all("--select", "HK661", "--path", "/not/copied/t.json")
    assert code == 0
    assert 'HK661 warning: there is no readable table at "/not/copied/t.json" on ' in out
    assert "10.0.0.[2-4]\n   = fix: copy it there\n" in out


def test_equal_findings_of_several_servers_are_merged(cluster: Cluster) -> None:
    for server in ("10.0.0.2", "10.0.0.3", "10.0.0.4"):
        cluster.put(server, "export MS_ROLE=MS_WORKER")
    code, out, _ = cluster.all("--ignore", NIC)
    assert code == 0
    assert "HK608 warning on 3 of 4 servers, 10.0.0.[2-4]: MS_ROLE of another launcher is set\n   = fix: unset" in out


@pytest.mark.long
def test_a_server_that_does_not_answer_is_named_and_the_others_are_reported(cluster: Cluster) -> None:
    (cluster.folder / "10.0.0.2.down").touch()
    cluster.put("10.0.0.3", "exec sleep 600")
    cluster.put("10.0.0.4", "export MS_ROLE=MS_WORKER")
    code, out, _ = cluster.all("--ignore", NIC, "--timeout", "6")
    assert code == 2
    assert "10.0.0.2 did not answer: ssh: connect to host 10.0.0.2 port 22: Connection refused\n" in out
    assert "10.0.0.3 did not answer: no answer in 6 s\n" in out
    assert "HK608 warning on 1 of 2 servers, 10.0.0.4: " in out


def test_an_interrupt_leaves_no_ssh_process(cluster: Cluster) -> None:
    cluster.put("10.0.0.2", f'echo $$ >"{cluster.folder}/pid"; exec sleep 600')
    command = [sys.executable, "-m", "hccl_kit.cli.kit", "preflight", "t.json", "--all", "--python", sys.executable]
    environ = clean_environ() | cluster.variables
    with subprocess.Popen(
        command, cwd=cluster.folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert wait_until(lambda: (cluster.folder / "pid").exists() and (cluster.folder / "pid").read_text() != "")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, "", "interrupted\n")
    started = int((cluster.folder / "pid").read_text())
    assert wait_until(lambda: not Path("/proc", str(started)).exists())


def test_a_server_without_python_is_named(cluster: Cluster) -> None:
    code, out, _ = cluster.all("--python", "10.0.0.3=/none/python3")
    assert code == 2
    assert "10.0.0.3 did not answer: " in out
    assert "/none/python3: " in out
    assert "3 of 4 servers answered" in out


def test_a_server_with_another_answer_is_named(cluster: Cluster) -> None:
    cluster.put("10.0.0.2", 'exec echo \'{"server": "10.0.0.3"}\'')
    cluster.put("10.0.0.3", "exec echo hello")
    cluster.put("10.0.0.4", "exec cat /dev/zero")
    code, out, _ = cluster.all()
    assert code == 2
    assert "10.0.0.2 did not answer: the answer does not match the schema: : 'machine' is a required property" in out
    assert "10.0.0.3 did not answer: it printed 'hello'" in out
    assert "10.0.0.4 did not answer: it printed more than 4194304 bytes" in out


def test_the_json_form_has_everything(cluster: Cluster) -> None:
    (cluster.folder / "10.0.0.2.down").touch()
    code, out, _ = cluster.all("--format", "json")
    document = json.loads(out)
    Draft202012Validator(load("preflight_report")).validate(document)
    assert (code, document["ok"]) == (2, False)
    assert [one["server"] for one in document["servers"]] == [HERE, "10.0.0.2", "10.0.0.3", "10.0.0.4"]
    assert [one["error"] is None for one in document["servers"]] == [True, False, True, True]
    digests = {one["facts"]["table"] for one in document["servers"] if one["error"] is None}
    assert digests == {document["table"]["sha256"]}


def test_a_clock_that_is_off_is_reported(cluster: Cluster) -> None:
    late = cluster.folder / "python3"
    late.write_text(LATE.format(python=sys.executable))
    late.chmod(0o755)
    code, out, _ = cluster.all("--ignore", NIC, "--python", f"10.0.0.4={late}")
    assert code == 0
    line = next(line for line in out.splitlines() if line.startswith("HK619 warning: the clock of 10.0.0.4 is "))
    seconds = float(line.removeprefix("HK619 warning: the clock of 10.0.0.4 is ").split()[0])
    assert line.endswith(" s behind the clock of this machine")
    # The transit time, at most the timeout, is subtracted from the difference.
    assert 86400 - TIMEOUT <= seconds <= 86400.1


def test_a_hostile_table_executes_no_command(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, 3)
    made = table_value(3)
    made["server_list"][1]["server_id"] = "-oProxyCommand=touch x"
    made["server_list"][2]["server_id"] = "$(touch y);'"
    made["server_list"][2]["host_ip"] = "10.0.0.3"
    nasty = tmp_path / "a'; touch z #"
    nasty.mkdir()
    (nasty / "t.json").write_text(json.dumps(made))
    done = preflight(
        str(nasty / "t.json"),
        "--all",
        "--python",
        sys.executable,
        *HOST_SIDE,
        folder=tmp_path,
        environ=cluster.variables,
    )
    assert done.returncode == 2
    assert '"-oProxyCommand=touch x" did not answer: not a valid address or host name' in done.stdout
    assert "2 of 3 servers answered" in done.stdout, done.stdout
    assert not [name for name in "xyz" if (tmp_path / name).exists() or (nasty / name).exists()]


def test_the_site_rules_judge_every_server(cluster: Cluster) -> None:
    (cluster.folder / "site.yaml").write_text(
        "a2:\n  error: {cards: {count: 0}}\n  warning: {variables: {HCCL_BUFFSIZE: [200, 300]}}\n"
    )
    (cluster.folder / ".hccl-kit.toml").write_text('site-rules = "site.yaml"\n')
    for server, size in (("10.0.0.2", 200), ("10.0.0.3", 300), ("10.0.0.4", 400)):
        cluster.put(server, f"export HCCL_BUFFSIZE={size}")
    code, out, err = cluster.all("--product", "a2", "--select", "HK672", "--ignore", "HK60,HK61")
    assert (code, err) == (0, ""), out
    assert out.splitlines() == [
        "HK672 warning on 2 of 4 servers:",
        f'    {HERE}: variables: HCCL_BUFFSIZE is absent; site.yaml:3:40 accepts "200" or "300"',
        '    10.0.0.4: variables: HCCL_BUFFSIZE is "400"; site.yaml:3:40 accepts "200" or "300"',
        "4 of 4 servers answered: 0 errors, 1 warning, 0 differences",
    ]
    assert cluster.all("--product", "a2", "--select", "HK672", "--ignore", "HK60,HK61", "--strict")[0] == 1
    _, out, _ = cluster.all("--product", "a3", "--select", "HK672", "--ignore", "HK60,HK61")
    assert f"not checked on {HERE},10.0.0.[2-4]: HK672 (the site rules have no machines of product a3)\n" in out


def test_a_table_without_hosts_starts_no_ssh(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(ranks_value(2)))
    done = preflight("t.json", "--all", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "version 2.0 tables do not name hosts" in done.stderr


@pytest.fixture(scope="module")
def lab() -> Iterator[Hosts]:
    with hosts(3) as made:
        yield made


THERE = """\
#!/bin/sh
# Python on a host of the lab; node2 has another table at the same path.
if [ "$(hostname)" = node2 ]; then
    exec unshare --mount sh -c 'mount --bind {folder}/changed.json {folder}/t.json && exec "$@"' sh {python} "$@"
fi
exec {python} "$@"
"""


@needs_hosts
@pytest.mark.long
def test_three_real_hosts_with_a_different_table_and_a_network_failure(lab: Hosts, tmp_path: Path) -> None:
    made = table_value(3)
    for server, address in zip(made["server_list"], lab.addresses, strict=True):
        server["server_id"] = address
    (tmp_path / "t.json").write_text(json.dumps(made))
    (tmp_path / "changed.json").write_text(json.dumps(made, indent=2))
    there = tmp_path / "python3"
    there.write_text(THERE.format(folder=tmp_path, python=sys.executable))
    there.chmod(0o755)
    options = ["--all", "--python", str(there), *HOST_SIDE, "--ignore", "HK618"]
    command = [sys.executable, "-m", "hccl_kit", "preflight", "t.json", *options]
    environ = clean_environ()
    done = lab.run(0, command, environ=environ, folder=tmp_path)
    assert (done.returncode, done.stderr) == (1, ""), done.stdout
    first, second, third = lab.addresses
    assert f"HK615 error: the table on {second} differs from the checked table\n" in done.stdout
    assert done.stdout.endswith("3 of 3 servers answered: 0 errors, 1 difference\n")
    lab.cut(2)
    try:
        done = lab.run(0, [*command, "--timeout", "20"], environ=environ, folder=tmp_path)
    finally:
        lab.heal(2)
    assert done.returncode == 2
    assert f"{third} did not answer: " in done.stdout
    assert "2 of 3 servers answered: " in done.stdout
    assert first not in done.stdout
