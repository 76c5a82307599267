"""Programs that answer on hosts without this package, and without any other."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from hccl_kit.cli import spares
from hccl_kit.preflight import all_servers
from hccl_kit.remote.probe import Host, Probe, Reach
from hccl_kit.selftest import session
from hccl_kit.watch import over_ssh
from tests.test_architecture import imports_of

PROBES = (
    (["preflight.on_server"], all_servers.PACKAGES),
    (["watch.on_server"], over_ssh.PACKAGES),
    (["discovery.on_server"], spares.PACKAGES),
    (["selftest.agent", "selftest.ranks.worker"], session.PACKAGES),
)
FAKE_SSH = '#!/bin/sh\nfor command; do :; done\nTMPDIR="$0.tmp" exec sh -c "$command"\n'


def needed(modules: Sequence[str]) -> "set[str]":
    """The modules, what they import, their packages, and what these import."""
    found, new = set[str](), set(modules)
    while new:
        found |= new
        new = {other for each in new for other in (*imports_of(each), each.rpartition(".")[0]) if other} - found
    return found


def test_each_program_is_sent_with_all_that_it_imports() -> None:
    for modules, packages in PROBES:
        assert {name.split(".")[0] for name in needed(modules)} == set(packages), modules


@pytest.fixture
def reach(tmp_path: Path) -> Reach:
    """A host with a Python that has the standard library only."""
    (tmp_path / "ssh.tmp").mkdir()
    for name, text in (("ssh", FAKE_SSH), ("python", f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    return Reach([str(tmp_path / "ssh")], {"": str(tmp_path / "python")}, 300)


def test_nothing_is_needed_there_and_nothing_is_left_there(reach: Reach, tmp_path: Path) -> None:
    table = {"version": "1.0", "status": "completed", "server_count": "1"}
    device = {"device_id": "0", "device_ip": "192.168.1.1", "rank_id": "0"}
    table["server_list"] = [{"server_id": "10.0.0.1", "device": [device]}]  # type: ignore[assignment]
    probe = Probe("preflight.on_server", all_servers.PACKAGES)
    host = Host("10.0.0.1", "10.0.0.1", ("server", "10.0.0.1", "910"))
    (reply,) = probe.ask(reach, [host], json.dumps(table).encode())
    answer = json.loads(reply.document())
    assert (answer["server"], answer["error"], reply.stderr) == ("10.0.0.1", None, "")
    assert "HK620" in {finding["rule"] for finding in answer["findings"]} | set(answer["checked"])
    assert list((tmp_path / "ssh.tmp").iterdir()) == []


def test_the_error_of_the_program_is_the_reason(reach: Reach, tmp_path: Path) -> None:
    (reply,) = Probe("watch.on_server", over_ssh.PACKAGES).ask(reach, [Host("n", "n", (str(tmp_path / "none"),))])
    assert reply.error == f"error: {tmp_path}/none is not a folder"


def test_a_python_that_is_too_old_is_named(reach: Reach, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hccl_kit.remote.probe.MINOR", 99)
    (reply,) = Probe("watch.on_server", ("base",)).ask(reach, [Host("n", "n", ())])
    version = ".".join(map(str, sys.version_info[:2]))
    assert reply.error is not None
    assert f" is Python {version}; accepted: 3.99 and later; --python HOST=PATH names another" in reply.error
