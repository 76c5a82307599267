"""Hosts over ssh, in a lab of network namespaces: a slow one, a disconnected one, one that loses its rank, and two on
a slow path.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hccl_kit
from tests.lab.hosts import Hosts, hosts, needs_hosts
from tests.places import ROOT
from tests.selftest.jobs import PATIENCE, PROGRAM, report
from tests.waiting import wait_until

pytestmark = [needs_hosts, pytest.mark.train, pytest.mark.long]


@pytest.fixture(scope="module")
def lab() -> Iterator[Hosts]:
    with hosts(3) as made:
        yield made


def table(lab: Hosts, folder: Path, count: int = 1) -> Path:
    made = [
        hccl_kit.generate(address, [(card, f"192.168.{100 + card}.{number + 1}") for card in range(count)])
        for number, address in enumerate(lab.addresses)
    ]
    path = folder / "job.json"
    path.write_text(hccl_kit.to_text(hccl_kit.merge(made)))
    return path


def start(lab: Hosts, file: Path, *options: str) -> subprocess.Popen[str]:
    words = [*PROGRAM, str(file), "--ssh", "--quick", "--format", "json", *options]
    return lab.start(0, words, environ={**os.environ, "PYTHONPATH": str(ROOT)})


def measured(process: subprocess.Popen[str]) -> Any:
    out, err = process.communicate(timeout=PATIENCE)
    return report(subprocess.CompletedProcess(process.args, process.returncode, out, err))


def blamed(document: Any) -> list[tuple[str, list[int]]]:
    return [(fault["kind"], fault["ranks"]) for fault in document["faults"]]


def test_a_healthy_cluster_has_no_fault_and_ranks_listen_on_the_address_of_their_host_only(
    lab: Hosts, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    process = start(lab, table(lab, tmp_path, 2), "--backend", "gloo")
    seen: set[str] = set()

    def look() -> None:
        while process.poll() is None:
            done = lab.run(1, ["ss", "-ltnpH"])
            seen.update(line.split()[3] for line in done.stdout.splitlines() if "python" in line)
            time.sleep(0.2)

    watcher = threading.Thread(target=look)
    watcher.start()
    document = measured(process)
    watcher.join()
    assert {place.rpartition(":")[0] for place in seen} <= {lab.addresses[1]}
    assert blamed(document) == []
    home = {card["rank"]: card["server"] for card in document["cards"]}
    assert home == {rank: lab.addresses[rank // 2] for rank in range(6)}
    assert [link["ranks"] for link in document["links"]] == [
        [0, 1], [0, 2], [0, 4], [1, 3], [1, 5], [2, 3], [2, 4], [3, 5], [4, 5],
    ]  # fmt: skip


def test_a_slow_path_between_two_groups_of_hosts_is_named(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with hosts(4) as four, four.uplink([2, 3], 20):
        document = measured(start(four, table(four, tmp_path), "--backend", "gloo"))
    assert blamed(document) == [("slow-uplink", [0, 1, 2, 3])]
    assert [split["halves"][0] for split in document["splits"]] == [
        [four.addresses[0], four.addresses[1]],
        [four.addresses[0], four.addresses[2]],
    ]


def test_a_host_slowed_by_its_cable_is_named(lab: Hosts, tmp_path: Path) -> None:
    pytest.importorskip("mindspore")
    lab.slow(1, 20)
    try:
        document = measured(start(lab, table(lab, tmp_path), "--backend", "mindspore"))
    finally:
        lab.full_speed(1)
    assert blamed(document) == [("slow-port", [1])]
    (fault,) = document["faults"]
    assert fault["message"].startswith(f"server {lab.addresses[1]} (rank 1) is slow with all 2 partners")


def test_a_slow_cable_is_attributed_to_the_server(lab: Hosts, tmp_path: Path) -> None:
    """Both cards of a host share its cable."""
    pytest.importorskip("torch")
    lab.slow(2, 20)
    try:
        document = measured(start(lab, table(lab, tmp_path, 2), "--backend", "gloo"))
    finally:
        lab.full_speed(2)
    assert blamed(document) == [("slow-port", [4, 5])]


def test_a_host_without_network_is_named(lab: Hosts, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    lab.cut(2)
    try:
        document = measured(start(lab, table(lab, tmp_path), "--backend", "gloo"))
    finally:
        lab.heal(2)
    assert blamed(document) == [("lost", [2])]
    assert document["lost"][0]["how"] == "unreachable"
    assert [link["ranks"] for link in document["links"]] == [[0, 1]]


def test_a_killed_rank_on_another_host_is_named(lab: Hosts, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    process = start(lab, table(lab, tmp_path), "--backend", "gloo")
    assert wait_until(lambda: bool(workers(lab, 1)) or process.poll() is not None, PATIENCE)
    time.sleep(1)
    os.kill(workers(lab, 1)[0], signal.SIGKILL)
    assert blamed(measured(process)) == [("lost", [1])]
    assert wait_until(lambda: not workers(lab, 1), 10)


def test_no_process_is_left_if_the_program_is_killed(lab: Hosts, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    process = start(lab, table(lab, tmp_path), "--backend", "gloo")
    assert wait_until(lambda: all(workers(lab, index) for index in range(3)) or process.poll() is not None, PATIENCE)
    process.kill()
    process.communicate(timeout=60)
    assert wait_until(lambda: not any(workers(lab, index) for index in range(3)), 20)


def workers(lab: Hosts, index: int) -> list[int]:
    """The ranks on a host."""
    found = []
    for pid in lab.processes(index):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        except OSError:  # it has ended
            continue
        if "hccl_kit.selftest.ranks.worker" in words:
            found.append(pid)
    return found
