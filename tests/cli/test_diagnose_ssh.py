"""hccl-kit diagnose --ssh over real sshd in the lab: a host that answers, and one without a network."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.hosts import Hosts, hosts, needs_hosts
from tests.launch.jobs import clean_environ
from tests.places import ROOT
from tests.tables import value

PLOG = """\
[INFO] HCCL({pid},python3):2025-11-20-21:35:40.300.000 [topoinfo_detect.cc:208] [{pid}][HCCL_TRACE]SetupAgent \
rankNum[4], rank[{rank}], rootInfo identifier[{server}%eth0_60000_0_1763674540000000], server[{server}%eth0], \
logicDevId[{rank}], phydevId[{rank}], deviceIp[192.168.100.{rank}]
"""
TAKEN = """\
[ERROR] HCCL({pid},python3):2025-11-20-21:35:51.500.000 [hccl_socket.cc:106] [{pid}][HcclSocket][Listen] \
socket type[1], listen on ip[192.168.100.1] and specific port[16666] fail.
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Hosts]:
    with hosts(3) as made:
        yield made


@needs_hosts
def test_logs_come_from_the_servers_of_the_table(lab: Hosts, tmp_path: Path) -> None:
    made = value(2, 2)
    for server, address in zip(made["server_list"], lab.addresses[1:], strict=True):
        server["server_id"] = address
    (tmp_path / "t.json").write_text(json.dumps(made))
    folder = tmp_path / "ascend" / "debug" / "plog"
    folder.mkdir(parents=True)
    for rank in range(2):
        text = PLOG + (TAKEN if rank == 1 else "")
        filled = text.format(pid=70 + rank, rank=rank, server=lab.addresses[1])
        (folder / f"plog-{70 + rank}_20251120213540000.log").write_text(filled)
    environ = {**clean_environ({"PYTHONPATH": str(ROOT)}), "HCCL_KIT_SSH": f"ssh -F {lab.ssh_config}"}
    options = ["--ssh", "--remote-folder", str(tmp_path / "ascend"), "--timeout", "20", "--format", "json"]
    lab.cut(2)
    try:
        done = lab.run(
            0,
            [sys.executable, "-m", "hccl_kit.cli.kit", "diagnose", "t.json", *options],
            environ=environ,
            folder=tmp_path,
        )
    finally:
        lab.heal(2)
    found = json.loads(done.stdout)
    # The only root error is the answer; that the logs of half of the ranks are missing keeps it from being certain.
    assert (done.returncode, found["certainty"]) == (0, "likely"), done.stderr
    assert any("missing" in text for text in found["contradicts"])
    assert [(one["rank"], one["server"]) for one in found["suspects"]] == [(1, lab.addresses[1])]
    assert found["silent_ranks"] == [2, 3]
    assert any(lab.addresses[2] in note for note in found["notes"])
