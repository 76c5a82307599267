"""hccl-kit snapshot and compare as a user runs them; a fake ssh plays the servers of a table."""

import json
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from hccl_kit.base.schemas import mismatch
from tests import program
from tests.cli.test_preflight import clean_environ
from tests.cli.test_preflight_ssh import Cluster
from tests.places import FAKES
from tests.snapshot.recordings import member


def kit(*words: str, folder: Path, **variables: str) -> CompletedProcess[str]:
    return program.kit(*words, cwd=folder, environ=clean_environ(), variables=variables)


def changed(value: dict[str, Any], section: str, **facts: Any) -> dict[str, Any]:
    """The snapshot with other facts of this machine."""
    machine = value["servers"]["this machine"]
    return {**value, "servers": {"this machine": {**machine, section: {**machine[section], **facts}}}}


def test_a_snapshot_is_masked_and_not_overwritten(tmp_path: Path) -> None:
    private = {"HCCL_IF_IP": "10.0.0.7", "MASTER_ADDR": "node7.example.com", "HCCL_API_TOKEN": "abc"}
    done = kit("snapshot", "-o", "a.json", folder=tmp_path, **private)
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "",
        "wrote: a.json\nnext: hccl-kit compare a.json OTHER\n",
    )
    text = (tmp_path / "a.json").read_text()
    assert mismatch(json.loads(text), "snapshot") is None
    assert not [value for value in private.values() if value in text]
    again = kit("snapshot", "-o", "a.json", folder=tmp_path)
    assert again.returncode == 2
    assert "--force overwrites it" in again.stderr
    assert (tmp_path / "a.json").read_text() == text


def test_what_changed_since_yesterday_is_said(tmp_path: Path) -> None:
    (tmp_path / "w.ckpt").write_text("weights")
    value = json.loads(kit("snapshot", "--weights", "w.ckpt", folder=tmp_path, HCCL_BUFFSIZE="200").stdout)
    value = changed(value, "cards", **{"0": {"chip": "910B3", "health": "OK"}})
    value = changed(value, "packages", attrs="23.2.0")
    (tmp_path / "yesterday.json").write_text(json.dumps(value))
    assert kit("compare", "yesterday.json", "yesterday.json", folder=tmp_path).returncode == 0
    (tmp_path / "w.ckpt").write_text("others")
    today = json.loads(kit("snapshot", "--weights", "w.ckpt", folder=tmp_path, HCCL_BUFFSIZE="400").stdout)
    today = changed(today, "cards", **{"0": {"chip": "910B3", "health": "Alarm"}})
    today = changed(changed(today, "packages", attrs="23.2.1"), "versions", driver="25.2.0")
    (tmp_path / "today.json").write_text(json.dumps(today))
    done = kit("compare", "yesterday.json", "today.json", folder=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert [line.partition(":")[0] for line in done.stdout.splitlines()[:6]] == [
        "version of driver",
        "health of card 0",
        "HCCL_BUFFSIZE",
        "weights w.ckpt",
        "package attrs",
        "5 differences",
    ]
    rows = json.loads(kit("compare", "yesterday.json", "today.json", "--format", "json", folder=tmp_path).stdout)
    assert rows["differences"][0] == {
        "section": "versions",
        "name": "driver",
        "values": {"yesterday.json": "not installed", "today.json": "25.2.0"},
        "places": [],
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "x.json is not JSON"),
        ("[1]", "x.json is not a snapshot: the whole: "),
        ("[" * 100_000, "x.json is not JSON"),
        (
            '{"version": 2, "servers": {}, "silent": {}, "table": null, "weights": {}}',
            "x.json is not a snapshot: version",
        ),
        ('{"version": 1, "servers": {"\\u001b[2J": 1}, "silent": {}, "table": null, "weights": {}}', "servers/"),
        ('{"version": 1, "servers": {}, "silent": {}, "table": null, "weights": {}}', "x.json has 0 servers"),
    ],
)
def test_what_is_not_a_snapshot_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "x.json").write_text(text)
    done = kit("compare", "x.json", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert expected in done.stderr
    assert "\033" not in done.stderr


def test_all_servers_of_a_table_are_compared(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, 4)
    (tmp_path / "cann").mkdir()
    (tmp_path / "cann" / "version.cfg").write_text("toolkit_running_version=[7.5.0.1.129:8.0.RC3]\n")
    cluster.put("10.0.0.3", f"export ASCEND_HOME_PATH={tmp_path}/cann HCCL_BUFFSIZE=400 MASTER_ADDR=10.0.0.2")
    ssh = ("--table", "t.json", "--ssh", "--python", sys.executable)
    done = kit("snapshot", *ssh, "-o", "all.json", folder=tmp_path, **cluster.variables)
    assert (done.returncode, done.stderr) == (0, "wrote: all.json\nnext: hccl-kit compare all.json\n")
    assert "10.0.0." not in (tmp_path / "all.json").read_text()
    done = kit("compare", "all.json", folder=tmp_path)
    assert done.returncode == 1
    assert done.stdout.splitlines()[:2] == [
        "version of cann: not installed (3 of 4 servers); 8.0.RC3 (server 2)",
        "ASCEND_HOME_PATH: absent (3 of 4 servers); /" + done.stdout.splitlines()[1].partition("; /")[2],
    ]
    assert "HCCL_BUFFSIZE: absent (3 of 4 servers); 400 (server 2)\n" in done.stdout
    (tmp_path / "10.0.0.4.down").touch()
    done = kit("snapshot", *ssh, "-o", "all.json", "--force", folder=tmp_path, **cluster.variables)
    assert done.returncode == 2
    assert "server 3 did not answer: ssh: connect to host <address " in done.stderr
    assert kit("compare", "all.json", folder=tmp_path).returncode == 2


def test_a_machine_alone_and_a_table_without_ssh(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(kit("snapshot", folder=tmp_path).stdout)
    done = kit("compare", "a.json", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "a.json has 1 server," in done.stderr
    assert "--ssh needs --table" in kit("snapshot", "--ssh", folder=tmp_path).stderr


def test_what_the_tools_print_is_recorded(tmp_path: Path) -> None:
    path = f"{FAKES}:/usr/bin:/bin"
    done = kit("snapshot", "--raw", "a.tar.gz", "-o", "a.json", folder=tmp_path, PATH=path)
    assert (done.returncode, done.stdout) == (0, "")
    assert "wrote: a.tar.gz; read it before you publish it\n" in done.stderr
    assert (tmp_path / "a.tar.gz").stat().st_mode & 0o77 == 0
    archive = (tmp_path / "a.tar.gz").read_bytes()
    assert member(archive, "snapshot.json") == json.loads((tmp_path / "a.json").read_text())
    (query, *_) = member(archive, "recording.json")["queries"]
    assert query["command"] == ["npu-smi", "info"]
    assert query["output"].startswith("dcmi module initialize failed")
    again = kit("snapshot", "--raw", "a.tar.gz", folder=tmp_path)
    assert (again.returncode, again.stdout) == (2, "")
    assert (tmp_path / "a.tar.gz").read_bytes() == archive
    assert "does not end in .tar.gz" in kit("snapshot", "--raw", "a.json", folder=tmp_path).stderr
