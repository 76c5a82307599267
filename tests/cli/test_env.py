"""hccl-kit env as a user runs it: text, JSON and lines for a shell; --check of ranks; other servers over ssh."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from hccl_kit.base.schemas import load
from hccl_kit.cli.env import as_sh
from hccl_kit.launch.hccl_variables import Variable
from hccl_kit.launch.job_ports import job_ports
from hccl_kit.table import formats
from tests.cli.test_preflight import FAMILIES
from tests.lab.hosts import Hosts, hosts, needs_hosts
from tests.launch.nodes import table_of
from tests.launch.test_hccl_variables import of_interface
from tests.launch.ways import servers
from tests.places import ROOT
from tests.preflight.nodes import HERE
from tests.program import kit
from tests.waiting import wait_until

NOTHING: Mapping[str, str] = {}
KIT = [sys.executable, "-m", "hccl_kit.cli.kit", "env"]


def environ_of(more: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FAMILIES)}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


def env(folder: Path, *arguments: str, environ: Mapping[str, str] = NOTHING) -> subprocess.CompletedProcess[str]:
    return kit("env", *arguments, cwd=folder, environ=environ_of(environ))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "one.json").write_text(formats.write(servers([0, 1], ids=[HERE])))
    (tmp_path / "two.json").write_text(formats.write(table_of(["198.51.100.1", "198.51.100.2"])))
    return tmp_path


def test_each_variable_has_its_reason(folder: Path) -> None:
    done = env(folder, "two.json", "--job", "1")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "job 1 of at most 8 on a host: ports 65280 to 65407"
    variables = [number for number, line in enumerate(lines) if line.startswith("  ") and "=" in line.split()[0]]
    assert len(variables) == 13
    assert all(lines[number + 1].startswith("      ") for number in variables)
    assert "  HCCL_IF_IP=198.51.100.2" in lines


def test_json_output_is_valid_by_its_schema(folder: Path) -> None:
    validator = Draft202012Validator(load("env"))
    (folder / "bad.txt").write_text("HCCL_CONNECT_TIMEOUT=1\n")
    for arguments in (["one.json"], ["two.json"], ["one.json", "--check", "bad.txt"]):
        done = env(folder, *arguments, "--format", "json")
        validator.validate(json.loads(done.stdout))
    assert done.returncode == 1
    assert {one["source"] for one in json.loads(done.stdout)["differences"]} == {"bad.txt"}


def test_a_shell_that_sources_the_lines_passes_the_check(folder: Path) -> None:
    evaluated = f'eval "$({" ".join(KIT)} one.json --job 2 --format sh)" && env >env.txt && echo "$HCCL_SOCKET_IFNAME"'
    done = subprocess.run(
        ["bash", "-euc", evaluated], cwd=folder, env=environ_of({}), capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("=")
    checked = env(folder, "one.json", "--job", "2", "--check", "env.txt")
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "1 environment: as planned\n", "")
    checked = env(folder, "one.json", "--job", "1", "--check", "env.txt")
    assert checked.returncode == 1
    assert "overlap with those of job 2" in checked.stdout


def test_a_rank_in_two_environments_is_found_and_a_value_that_hccl_may_accept_is_a_warning(folder: Path) -> None:
    planned = env(folder, "one.json", "--format", "sh").stdout
    for name in "ab":
        (folder / f"{name}.txt").write_text(f"{planned}export RANK_ID=0\nexport HCCL_OP_EXPANSION_MODE=NEW\n")
    alone = env(folder, "one.json", "--check", "a.txt")
    warning, last = alone.stdout.splitlines()
    assert warning.startswith('warning: a.txt: HCCL_OP_EXPANSION_MODE="NEW"; accepted: AI_CPU or ')
    assert (alone.returncode, last) == (0, "1 environment: as planned")
    both = env(folder, "one.json", "--check", "a.txt", "b.txt")
    assert (both.returncode, both.stdout.splitlines()[0]) == (
        1,
        'all ranks: RANK_ID="0" in a.txt, b.txt; each rank is one process',
    )


def test_an_empty_source_as_of_an_unset_variable_is_not_the_current_folder(folder: Path) -> None:
    done = env(folder, "one.json", "--check", "")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "error: --check: '' is not a path or process id\n")


def test_running_ranks_and_logs_are_compared(folder: Path) -> None:
    plan = json.loads(env(folder, "one.json", "--format", "json").stdout)
    values = {one["name"]: one["value"] for one in plan["variables"]}
    log = folder / "run" / "plog" / "plog-7_20260302100000000.log"
    log.parent.mkdir(parents=True)
    log.write_text(
        "[INFO] HCCL(7,python):2026-03-02-10:00:00.000.001 [env.cc:1] [7]"
        "HCCL_CONNECT_TIMEOUT set by environment to [130]s\n"
    )
    with subprocess.Popen(["sleep", "60"], env={"PATH": os.environ["PATH"], **values}) as rank:
        try:
            assert wait_until(lambda: b"HCCL_" in Path(f"/proc/{rank.pid}/environ").read_bytes())
            done = env(folder, "one.json", "--check", str(rank.pid), "run")
        finally:
            rank.kill()
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        'run/plog/plog-7_20260302100000000.log: HCCL_CONNECT_TIMEOUT="130"; planned: 600',
        f'all ranks: HCCL_CONNECT_TIMEOUT differs: "600" (process {rank.pid}), "130" ({log.relative_to(folder)})',
    ]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["one.json", "--job", "8"], "error: job 8 of 8 on a host; accepted: 0 to 7"),
        (["one.json", "--job", "x"], "error: --job must be a whole number from 0 on, got 'x'"),
        (["one.json", "--jobs-per-host", "65"], "error: 65 jobs on a host (--jobs-per-host); accepted: 1 to 64"),
        (["one.json", "--connect-timeout", "60"], "error: --connect-timeout is 60; accepted: 120 to 7200 seconds"),
        (["two.json", "--format", "sh"], "error: this machine is not in the table"),
        (["two.json", "--server", "a"], 'error: the table has no server "a"; it has "198.51.100.1", "198.51.100.2"'),
        (["one.json", "--check", "none"], "error: cannot read none: No such file or directory"),
    ],
)
def test_an_invalid_argument_is_one_line(arguments: list[str], error: str, folder: Path) -> None:
    done = env(folder, *arguments)
    assert (done.returncode, done.stdout, done.stderr.splitlines()[0]) == (2, "", error)


def test_control_characters_do_not_reach_the_terminal(folder: Path) -> None:
    (folder / "e\x1b[2J.txt").write_bytes(b"HCCL_CONNECT_TIMEOUT=\x1b[31m1\x07\n")
    done = env(folder, "one.json", "--check", "e\x1b[2J.txt")
    assert "accepted: 120 to 7200" in done.stdout
    assert not set(done.stdout) & {"\x1b", "\x07"}


def test_an_interface_name_is_quoted_for_the_shell() -> None:
    """Linux allows any character except a slash and white space."""
    (line,) = as_sh([Variable("HCCL_SOCKET_IFNAME", "=a;`id`$(id)'", "")])
    printed = subprocess.run(
        ["bash", "-c", f'{line}\nprintf %s "$HCCL_SOCKET_IFNAME"'], capture_output=True, text=True, check=True
    )
    assert (printed.stdout, printed.stderr) == ("=a;`id`$(id)'", "")


@pytest.fixture(scope="module")
def lab() -> Iterator[Hosts]:
    with hosts(2) as made:
        yield made


@needs_hosts
def test_every_server_is_queried_over_ssh(lab: Hosts, tmp_path: Path) -> None:
    """The ephemeral range of the second host includes the highest ports, so the job uses others."""
    (tmp_path / "two.json").write_text(formats.write(table_of(lab.addresses)))
    sysctl = ["sh", "-c", "echo 32768 65535 >/proc/sys/net/ipv4/ip_local_port_range"]
    assert lab.run(1, sysctl).returncode == 0
    command = [*KIT, "two.json", "--ssh", "--format", "json"]
    done = lab.run(0, command, environ=environ_of({}), folder=tmp_path)
    assert (done.returncode, done.stderr.strip()) == (0, "")
    found = json.loads(done.stdout)
    assert found["ephemeral"] == [[32768, 60999], [32768, 65535]]
    assert not found["ephemeral_assumed"]
    assert found["ports"][1] < 32768
    for server, address in zip(found["servers"], lab.addresses, strict=True):
        told = {one["name"]: one["value"] for one in server["variables"]}
        assert (server["note"], told) == (None, {"HCCL_IF_IP": address, **of_interface("eth0")})


@needs_hosts
def test_a_server_that_does_not_answer_is_a_warning(lab: Hosts, tmp_path: Path) -> None:
    (tmp_path / "two.json").write_text(formats.write(table_of([lab.addresses[0], "192.0.2.9"])))
    command = [*KIT, "two.json", "--ssh", "--ssh-option", "ConnectTimeout=1", "--timeout", "3"]
    done = lab.run(0, command, environ=environ_of({}), folder=tmp_path)
    assert done.returncode == 0
    assert "warning: server 192.0.2.9 was not queried: " in done.stderr
    assert f"ports {job_ports(0).first} to " in done.stdout
