"""The lab: hosts with names and addresses, ssh between them, cables, and nothing left at the end."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.hosts import NETNS, Hosts, hosts, needs_hosts
from tests.places import ROOT
from tests.waiting import wait_until

pytestmark = needs_hosts


@pytest.fixture(scope="module")
def lab() -> Iterator[Hosts]:
    with hosts(2) as made:
        yield made


def test_a_host_has_its_own_name_and_address(lab: Hosts) -> None:
    for index, (name, address) in enumerate(zip(lab.names, lab.addresses, strict=True)):
        done = lab.run(index, ["sh", "-c", "hostname && hostname -I"])
        assert done.stdout.split() == [name, address]


@pytest.mark.parametrize("other", ["names", "addresses"])
def test_hosts_reach_each_other_by_plain_ssh(lab: Hosts, other: str) -> None:
    done = lab.run(0, ["ssh", getattr(lab, other)[1], "hostname; hostname -I"])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [lab.names[1], lab.addresses[1]]


def test_hosts_are_reached_from_outside(lab: Hosts) -> None:
    assert subprocess.check_output(["ssh", "-F", lab.ssh_config, "node2", "hostname"]) == b"node2\n"


def test_a_host_name_is_only_set_inside_the_host(lab: Hosts) -> None:
    before = Path("/etc/hostname").read_text(), subprocess.check_output(["hostname"])
    lab.run(1, ["true"])
    assert (Path("/etc/hostname").read_text(), subprocess.check_output(["hostname"])) == before


def test_a_cable_can_be_cut_and_restored(lab: Hosts) -> None:
    knock = ["timeout", "1", "bash", "-c", f": </dev/tcp/{lab.addresses[1]}/22"]
    assert lab.run(0, knock).returncode == 0
    lab.cut(1)
    assert lab.run(0, knock).returncode != 0
    lab.heal(1)
    assert lab.run(0, ["timeout", "5", *knock[2:]]).returncode == 0


def test_a_host_can_be_slowed(lab: Hosts) -> None:
    """4 MB at 40 Mbit/s take 0.8 s."""
    sent = f"head -c 4000000 /dev/zero | ssh {lab.addresses[1]} 'cat >/dev/null'"
    lab.slow(0, 40)
    began = time.monotonic()
    assert lab.run(0, ["sh", "-c", sent]).returncode == 0
    assert time.monotonic() - began > 0.6
    lab.slow(0, 10_000)


def test_two_labs_are_isolated(lab: Hosts) -> None:
    with hosts(1) as other:
        assert not set(other.addresses) & set(lab.addresses)
        assert other.run(0, ["hostname", "-I"]).stdout.split() == list(other.addresses)
    assert lab.run(0, ["ssh", "node2", "hostname"]).stdout == "node2\n"


def test_nothing_is_left_after_a_failure() -> None:
    with pytest.raises(KeyboardInterrupt), hosts(2) as made:
        children = [made.start(0, ["sleep", "60"]), made.start(1, ["ssh", "node1", "sleep 60"])]
        assert wait_until(lambda: all(child.pid in made.processes(i) for i, child in enumerate(children)))
        raise KeyboardInterrupt
    assert all(child.wait(5) != 0 for child in children)  # 255 is an ssh whose sshd ended first
    for child in children:
        child.communicate()
    for command in (["netns", "list"], ["-o", "link"], ["-o", "addr"]):
        assert made.tag not in subprocess.check_output(["ip", *command], text=True)
    assert not list(NETNS.glob(f"{made.tag}*"))
    assert not made.folder.exists()
    assert str(made.folder) not in subprocess.check_output(["ps", "-e", "-o", "args"], text=True)


def test_the_lab_of_a_killed_process_is_removed() -> None:
    program = (
        "import os, signal\nfrom tests.lab.hosts import hosts\n"
        "with hosts(1) as lab:\n    print(lab.tag, lab.folder, flush=True)\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = ROOT
    command = [sys.executable, "-c", program]
    killed = subprocess.run(command, check=False, cwd=root, capture_output=True, text=True)
    tag, folder = killed.stdout.split()
    assert tag in subprocess.check_output(["ip", "netns", "list"], text=True)
    with hosts(1):
        assert tag not in subprocess.check_output(["ip", "netns", "list"], text=True)
        assert not Path(folder).exists()
