"""The script of a service: the data parallel ranks of each host and their variables, as text and on real hosts."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.launch.emitters import vllm
from hccl_kit.launch.files import LaunchFile
from hccl_kit.launch.plan import plan
from hccl_kit.runtime.worker_env import MISLEADING
from hccl_kit.table.model import RankTable
from tests.lab.hosts import Hosts, hosts, needs_hosts
from tests.launch.jobs import clean_environ, finish
from tests.launch.ways import assert_golden, assert_shellcheck, fake, nasty, planned, run, servers, words, write

SERVE = ("vllm", "serve", "/models/m")
VLLM = f"""exec {sys.executable} -I -c '
import json, os, sys
with open(os.environ["OUT"], "w") as file:
    json.dump([sys.argv[1:], dict(os.environ)], file)
' "$@\""""
PLANS = {
    "one_server": servers((4, 5, 6, 7)),
    "two_servers": servers(range(8), range(8)),
    "unequal_servers": servers((0, 1), (0, 1, 2, 3), ids=("fd00::1", "192.0.2.9")),
}


def pods(*devices: tuple[int, ...], host: str = "192.0.2.1") -> RankTable:
    """Pods of one host, each with a separate server_id."""
    table = servers(*devices, ids=[f"10.244.0.{number + 1}" for number in range(len(devices))])
    return table._replace(servers=tuple(one._replace(extra={"host_ip": host}) for one in table.servers))


def emitted(table: RankTable, *command: str, **options: Any) -> tuple[LaunchFile, ...]:
    return vllm.emit(*planned(table, *(command or SERVE)), **options)


def refusal(table: RankTable, *command: str, **options: Any) -> KitError:
    with pytest.raises(KitError) as error:
        emitted(table, *command, **options)
    assert "\n" not in error.value.message
    return error.value


@pytest.mark.parametrize("name", PLANS)
def test_files_match_the_golden_files(name: str, request: pytest.FixtureRequest) -> None:
    options = {} if name == "one_server" else {"tensor_parallel_size": "2", "nic": "eth0"}
    assert_golden(f"vllm/{name}", emitted(PLANS[name], **options), request)


@pytest.mark.parametrize("name", PLANS)
def test_shellcheck_reports_nothing(name: str, tmp_path: Path) -> None:
    assert_shellcheck(write(tmp_path, emitted(PLANS[name], *SERVE, "a'; echo foo", "a\nb", "训练")))


def started(folder: Path, files: tuple[LaunchFile, ...], *arguments: str, **environ: str) -> tuple[list[str], Any]:
    """Arguments and environment of the program that the script executes."""
    fake(folder, "vllm", VLLM)
    done = run(write(folder, files), *arguments, environ={"OUT": str(folder / "out"), **environ})
    assert done.returncode == 0, done.stderr
    found: tuple[list[str], Any] = tuple(json.loads((folder / "out").read_text()))
    return found


@settings(max_examples=15, deadline=None)
@given(st.lists(nasty | words, max_size=20), st.lists(nasty | words, max_size=5))
def test_every_argument_arrives_unchanged(
    tmp_path_factory: pytest.TempPathFactory, baked: list[str], passed_on: list[str]
) -> None:
    files = emitted(servers((4, 5), ids=("127.0.0.1",)), *SERVE, *baked)
    argv, _ = started(tmp_path_factory.mktemp("job"), files, *passed_on)
    assert argv == [*SERVE[1:], *baked, "--tensor-parallel-size", "2", *passed_on]


def test_leftover_variables_do_not_reach_vllm(tmp_path: Path) -> None:
    left = dict.fromkeys((*MISLEADING, "RANK_TABLE_FILE", "RANK", "VLLM_DP_RANK", "VLLM_DP_MASTER_PORT"), "7")
    _, environ = started(tmp_path, emitted(servers((4, 5), ids=("127.0.0.1",))), **left)
    assert environ["ASCEND_RT_VISIBLE_DEVICES"] == "4,5"
    assert not (set(left) - {"ASCEND_RT_VISIBLE_DEVICES"}) & set(environ)
    assert not {"HCCL_IF_IP", "GLOO_SOCKET_IFNAME"} & set(environ)  # a loopback address


def test_a_job_number_sets_the_ports(tmp_path: Path) -> None:
    table = servers((0, 1), (0, 1))
    numbers = [("HCCL_IF_BASE_PORT", "65280"), ("MASTER_PORT", "65392")]
    file = planned(table)[1]
    script, text = vllm.emit(plan(table, [*SERVE, "--port=8001"], numbers), file)
    assert text.text.count("--data-parallel-rpc-port 65392") == 2
    assert text.text.count("  HCCL_IF_BASE_PORT=65280\n") == 2
    assert "port 8001" in text.text.splitlines()[0]
    assert 'export HCCL_IF_BASE_PORT="${HCCL_IF_BASE_PORT-65280}"' in script.text
    with pytest.raises(KitError, match=r"^with --job, two services of a host would both listen on port 8000$"):
        vllm.emit(plan(table, SERVE, numbers), file)
    with pytest.raises(KitError, match=r"^the API and the data parallel ranks would both use port 65392$"):
        vllm.emit(plan(table, [*SERVE, "--port", "65392"], numbers), file)


def test_pods_of_one_host_are_one_server_for_hccl(tmp_path: Path) -> None:
    files = emitted(pods((0, 1), (2, 3), host="127.0.0.2"), nic="lo")
    argv, environ = started(tmp_path, files, HCCL_KIT_SERVER="10.244.0.2")
    assert environ["ASCEND_RT_VISIBLE_DEVICES"] == "2,3"
    assert argv[-2:] == ["--data-parallel-start-rank", "1"]
    text = emitted(pods((0, 1), (2, 3)))[1].text
    assert text.count("HCCL_IF_IP=192.0.2.1\n") == 2
    assert "pods of one host" in text
    error = refusal(pods((0, 1), (1, 2)))
    assert error.message == 'servers "10.244.0.1" and "10.244.0.2" are pods of 192.0.2.1, and both have card 1'


@pytest.mark.parametrize(
    "command",
    [
        ("python", "train.py"),
        ("vllm", "bench"),
        ("serve",),
        ("vllm",),
        ("numactl", "vllm-serve"),
    ],
)
def test_another_command_is_refused(command: tuple[str, ...]) -> None:
    assert refusal(servers((0, 1)), *command).message.endswith("; accepted: vllm serve MODEL [OPTION ...]")


@pytest.mark.parametrize(
    "option",
    ["--data-parallel-size=4", "--data_parallel_size", "-dp", "-dpr", "--headless", "-tp", "--data-parallel-rpc-port"],
)
def test_an_option_of_the_plan_in_the_command_is_refused(option: str) -> None:
    assert refusal(servers((0, 1)), *SERVE, option, "4").message.endswith("which the plan sets; leave it out")


@pytest.mark.parametrize(
    "option", ["--pipeline-parallel-size", "-pp", "--data-parallel-hybrid-lb", "--nnodes=2", "--data-parallel-rank"]
)
def test_another_kind_of_deployment_is_refused(option: str) -> None:
    error = refusal(servers((0, 1)), *SERVE, option, "2")
    assert error.message.endswith("; a plan has tensor and data parallel ranks, with one API server")
    assert error.hint == "write the commands of this deployment by hand, with the variables of the plan"


@pytest.mark.parametrize("size", ["3", "16"])
def test_a_tensor_parallel_size_that_does_not_divide_the_cards_is_refused(size: str) -> None:
    assert f"--tensor-parallel-size {size} does not" in refusal(servers(range(8)), tensor_parallel_size=size).message


@pytest.mark.parametrize("port", ["0", "65536", "http", "", "８０"])
def test_a_port_that_is_not_valid_is_refused(port: str) -> None:
    assert refusal(servers((0,)), *SERVE, "--port", port).message.endswith("; accepted: 1 to 65535")


def test_a_server_without_an_address_is_refused() -> None:
    error = refusal(servers((0,), (0,), ids=("192.0.2.1", "node2")))
    assert error.message == 'server "node2" has no address, which HCCL and vLLM need'


def test_a_host_outside_the_plan_and_an_unknown_server_are_refused(tmp_path: Path) -> None:
    made = write(tmp_path, emitted(servers((0,), (0,), ids=("192.0.2.250", "192.0.2.251"))))
    done = run(made)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: this host matches 0 servers of the table; it has ")
    assert "\n  the table has 192.0.2.250, 192.0.2.251\n  fix: export HCCL_KIT_SERVER=ID" in done.stderr
    done = run(made, environ={"HCCL_KIT_SERVER": "x[$(id)]"})
    assert done.stderr.startswith("error: this host matches 0 servers of the table; it has x[$(id)]\n")
    done = run(made, environ={"HCCL_KIT_SERVER": "192.0.2.250"})
    assert done.stderr.startswith("error: no interface of this host has 192.0.2.250\n")


@pytest.fixture
def lab() -> Iterator[Hosts]:
    with hosts(2) as made:
        yield made


@needs_hosts
def test_each_host_starts_its_ranks(lab: Hosts, tmp_path: Path) -> None:
    """With the interface that has the address of the host; all hosts except the first are headless."""
    fake(tmp_path, "vllm", VLLM)
    script = write(tmp_path, emitted(servers(range(4), range(4), ids=lab.addresses), tensor_parallel_size="2"))
    found = []
    for host in range(2):
        environ = {**clean_environ(), "OUT": str(tmp_path / "out")}
        environ["PATH"] = f"{tmp_path / 'bin'}:{environ['PATH']}"
        done = finish(lab.start(host, ["bash", str(script), "--seed", "1"], environ=environ, folder=tmp_path))
        assert done.returncode == 0, done.stderr
        found.append(json.loads((tmp_path / "out").read_text()))
    first = lab.addresses[0]
    assert [" ".join(argv) for argv, _ in found] == [
        f"serve /models/m --tensor-parallel-size 2 --data-parallel-size 4 --data-parallel-size-local 2"
        f" --data-parallel-address {first} --data-parallel-rpc-port {port_of(script)}{more} --seed 1"
        for more in ("", " --headless --data-parallel-start-rank 2")
    ]
    for (_, environ), address in zip(found, lab.addresses, strict=True):
        names = {environ[one] for one in ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME")}
        shown = finish(lab.start(0, ["ip", "-o", "addr", "show", "to", lab.addresses[0]])).stdout
        assert (environ["HCCL_IF_IP"], len(names)) == (address, 1)
        assert names.pop() in shown


def port_of(script: Path) -> str:
    return script.read_text().split("--data-parallel-rpc-port ")[1].split()[0].rstrip(")")
