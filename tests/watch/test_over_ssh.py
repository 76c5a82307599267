"""A job of several servers that are queried over ssh: a fake one here, a real one in the lab."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.launch.plan import HOST_IP
from hccl_kit.remote.probe import Reach
from hccl_kit.table.model import Server
from hccl_kit.watch.json_form import as_json
from hccl_kit.watch.look import Folder
from hccl_kit.watch.over_ssh import Servers, joined
from hccl_kit.watch.view import WatchedJob, problems
from tests.lab.hosts import Hosts, hosts, needs_hosts
from tests.launch.jobs import clean_environ
from tests.places import ROOT
from tests.tables import value
from tests.watch.made import facts, run

FAKE_SSH = """\
#!/usr/bin/env bash
# In place of ssh: prints what $0.ADDRESS holds, after noting the command.
address=${*: -2:1}
echo "$*" >>"$0.log"
[ -e "$0.$address" ] || { echo "ssh: connect to host $address port 22: Connection refused" >&2; exit 255; }
echo "Welcome to $address {"
cat "$0.$address"
"""


def server(name: str, address: str) -> Server:
    return Server(name, (), {HOST_IP: address})


class Cluster:
    """Servers behind a fake ssh."""

    def __init__(self, folder: Path, count: int) -> None:
        self.ssh = folder / "ssh"
        self.ssh.write_text(FAKE_SSH)
        self.ssh.chmod(0o755)
        self.servers = [server(f"s{n}", f"10.0.0.{n}") for n in range(count)]
        self.source = Servers(self.servers, "/job/a b", Reach([str(self.ssh)], {}, 60))

    def put(self, number: int, text: str) -> None:
        (self.ssh.parent / f"ssh.10.0.0.{number}").write_text(text)


def part(folder: Path, ranks: list[int], **more: float) -> WatchedJob:
    """The response of a server with some of eight ranks."""
    folder.mkdir()
    for rank in ranks:
        facts(folder, rank, ranks=8, **more)  # type: ignore[arg-type]
    return Folder(folder).look()


def test_the_ranks_of_all_servers_are_one_job(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, 2)
    cluster.put(0, as_json(part(tmp_path / "a", [0, 1, 2, 3])))
    cluster.put(1, as_json(part(tmp_path / "b", [4, 5, 6, 7], compute=2.0)))
    job = cluster.source.look()
    assert [rank.rank for rank in job.ranks] == list(range(8))
    assert job.straggler is not None
    assert (job.straggler.lag.rank, job.straggler.others) == (4, 3), "half of the ranks are slow, no more"
    commands = (tmp_path / "ssh.log").read_text().splitlines()
    assert sum(line.endswith(" hccl_kit.watch.on_server '/job/a b'") for line in commands) == 2


def test_a_server_that_does_not_answer_is_named(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, 3)
    cluster.put(0, as_json(part(tmp_path / "a", [0, 1])))
    cluster.put(1, "\x1b[2Jnonsense")
    job = cluster.source.look()
    assert not job.is_well
    assert problems(job) == [
        "no answer from server s1: it printed '\\x1b[2Jnonsense'",
        "no answer from server s2: ssh: connect to host 10.0.0.2 port 22: Connection refused",
    ]


def test_if_no_server_answers_it_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KitError, match="no server answered; s0: ssh: connect to host"):
        Cluster(tmp_path, 2).source.look()


def test_an_address_that_ssh_would_parse_as_an_option_is_not_passed_to_it(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, 1)
    cluster.put(0, as_json(part(tmp_path / "a", [0])))
    cluster.source.servers = [*cluster.servers, server("evil", "-oProxyCommand=touch x")]
    assert cluster.source.look().lost == ("evil: not a valid address or host name for ssh",)


def test_on_a_shared_disk_the_latest_sign_of_life_is_used(tmp_path: Path) -> None:
    old, new = part(tmp_path / "a", [0, 1], age=30, step=40), part(tmp_path / "b", [0, 1], age=1, step=50)
    for order in ([old, new], [new, old]):
        assert [(rank.state, rank.step) for rank in joined("x", order, ()).ranks] == [("running", 50)] * 2


def test_an_earlier_start_on_some_servers_is_ignored(tmp_path: Path) -> None:
    before = part(tmp_path / "a", [0, 1])
    after = part(tmp_path / "b", [4, 5])._replace(restarts=2)
    assert [rank.rank for rank in joined("x", [before, after], ()).ranks] == [4, 5]


@pytest.fixture(scope="module")
def lab() -> Iterator[Hosts]:
    with hosts(3) as made:
        yield made


@needs_hosts
def test_real_servers_over_real_ssh(lab: Hosts, tmp_path: Path) -> None:
    """All of them share one disk, and one has no network."""
    run(tmp_path / "run", 4, slow=3, ended="done")
    made = value(2, 2)
    for server, address in zip(made["server_list"], lab.addresses[1:], strict=True):
        server["server_id"] = address
    (tmp_path / "t.json").write_text(json.dumps(made))
    environ = {**clean_environ({"PYTHONPATH": str(ROOT)}), "HCCL_KIT_SSH": f"ssh -F {lab.ssh_config}"}
    options = ["--ssh", "--once", "--timeout", "60", "--python", sys.executable, "--format", "json"]
    command = [sys.executable, "-m", "hccl_kit.cli.kit", "watch", "run", "t.json", *options]
    whole = lab.run(0, command, environ=environ, folder=tmp_path)
    seen = json.loads(whole.stdout)
    assert (whole.returncode, seen["straggler"]["rank"], len(seen["ranks"])) == (1, 3, 4), whole.stderr
    assert seen["lost"] == []
    lab.cut(2)
    try:
        half = lab.run(0, [*command, "--ssh-option", "ConnectTimeout=3"], environ=environ, folder=tmp_path)
    finally:
        lab.heal(2)
    assert [loss.split(":")[0] for loss in json.loads(half.stdout)["lost"]] == [lab.addresses[2]]
