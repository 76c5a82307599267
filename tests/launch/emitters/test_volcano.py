"""The manifest of a Volcano job meets the requirements; its pods wait for the table and start the right ranks."""

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.launch.emitters import emit as emit_of
from hccl_kit.launch.emitters import manifest
from hccl_kit.launch.files import LaunchFile, TableFile
from hccl_kit.launch.plan import plan
from hccl_kit.runtime.detect import detect
from hccl_kit.runtime.worker_env import MISLEADING
from hccl_kit.table import formats
from hccl_kit.table.model import Device, RankTable, Server
from tests.launch.manifests import Cluster, documents_of, job_of, readable, table_in
from tests.launch.pods import SHOW, command, finish, printed, told
from tests.launch.ways import assert_golden, planned, servers

TWO = servers(range(2), range(2), ids=("10.0.0.1", "10.0.0.2"))
LARGE = servers(*[range(8)] * 1000, ids=[f"10.1.{number // 250}.{number % 250}" for number in range(1000)])
FOLDER = "user_serverid_devindex_config"
"""The folder of the table in a simulated pod."""


def emit(*words: str, table: RankTable = TWO, framework: str | None = None, **options: Any) -> tuple[LaunchFile, ...]:
    plan_, file = planned(table, *words, framework=framework)
    return emit_of(
        "volcano", plan_, file, **{"image": "registry/train:1", "name": "train", "product": "910", **options}
    )


@pytest.mark.parametrize("name", ["written", "fixed"])
def test_files_match_the_golden_files(name: str, request: pytest.FixtureRequest) -> None:
    files = emit("python", "train.py", "--lr", "0.1", fixed_table=name == "fixed")
    assert_golden(f"volcano/{name}", [*map(readable, files)], request)


def test_after_a_failure_volcano_starts_all_pods_again() -> None:
    """Its controller gives up when the number of failures is `maxRetry`."""
    for given, most in (("1", 2), ("1000", 1001)):
        documents = documents_of(emit(fixed_table=True, max_restarts=given))
        spec = job_of(documents)["spec"]
        assert (spec["maxRetry"], [policy["action"] for policy in spec["policies"]]) == (most, ["RestartJob"])
    once = emit(fixed_table=True)
    assert emit(fixed_table=True, max_restarts="0") == once
    assert "maxRetry" not in job_of(documents_of(once))["spec"]
    assert emit(max_restarts="0") == emit()


def test_max_restarts_needs_a_fixed_table() -> None:
    with pytest.raises(
        KitError, match="--max-restarts of --to volcano needs --fixed-table: the table that the cluster"
    ):
        emit(max_restarts="3")


def test_pods_of_a_super_pod_are_numbered_by_the_plugin_of_volcano() -> None:
    for product, plugins in (("a3", {"hcclrank": []}), ("a2", None)):
        files = emit(product=product)
        assert job_of(documents_of(files))["spec"].get("plugins") == plugins
        assert ("hcclrank (since August 2025)" in files[0].text) == bool(plugins)


def written(folder: Path, value: object) -> None:
    """Writes the table in place of the operator."""
    Cluster.write(folder / FOLDER, {"hccl.json": value if isinstance(value, str) else json.dumps(value)})


def by_the_operator(*cards: Sequence[int]) -> dict[str, Any]:
    """A table as the Ascend Operator writes it: pods on 10.0.0.1 and so on with these cards."""
    rank, listed = 0, []
    for number, own in enumerate(cards, start=1):
        devices = []
        for card in own:
            devices.append({"device_id": str(card), "device_ip": f"192.0.2.{rank}", "rank_id": str(rank)})
            rank += 1
        host = f"10.0.0.{number}"
        listed.append({"device": devices, "server_id": host, "host_ip": host, "container_ip": host})
    return {"status": "completed", "server_list": listed, "server_count": str(len(listed)), "version": "1.0"}


def fields(host: str, cards: Sequence[int] = ()) -> dict[str, str]:
    listed = ",".join(f"Ascend910-{card}" for card in cards)
    return {"status.hostIP": host, "metadata.annotations['huawei.com/Ascend910']": listed}


def test_a_pod_waits_for_the_table_and_starts_its_ranks(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, emit(*command(SHOW)))
    left_over = dict.fromkeys([*MISLEADING, "RANK_ID", "RANK_TABLE_FILE"], "7")
    pods = [
        cluster.start("worker", fields("10.0.0.1", (6, 7)), left_over),
        cluster.start("worker", fields("10.0.0.2", (1, 0)), left_over),
    ]
    with pytest.raises(Exception, match="timed out"):
        pods[0].wait(1.5)
    assert list(tmp_path.glob("*.json")) == []
    written(tmp_path, '{"status": "comple')  # the table may be read while the operator writes it
    with pytest.raises(Exception, match="timed out"):
        pods[1].wait(1.5)
    written(tmp_path, by_the_operator((7, 6), (0, 1)))
    for pod in pods:
        done = finish(pod)
        assert (done.returncode, printed(done), done.stderr) == (0, "", "")
    devices = {rank: (told(tmp_path, rank)["DEVICE_ID"], told(tmp_path, rank)["LOCAL_RANK"]) for rank in range(4)}
    assert devices == {0: ("1", "0"), 1: ("0", "1"), 2: ("0", "0"), 3: ("1", "1")}
    for rank in range(4):
        environ = told(tmp_path, rank)
        assert environ.keys() & set(MISLEADING) == set()
        found = detect(environ)
        env = found.env
        assert (found.launcher, env.rank, env.size, env.local_size) == ("script", rank, 4, 2)
        assert (env.master_addr, environ["HCCL_IF_IP"]) == ("10.0.0.1", f"10.0.0.{rank // 2 + 1}")
        assert env.table is not None
        assert not Path(env.table).is_symlink()
        assert json.loads(Path(env.table).read_text()) == by_the_operator((7, 6), (0, 1))
    assert len({told(tmp_path, rank)["MASTER_PORT"] for rank in range(4)}) == 1


def test_ranks_of_one_server_rendezvous_on_it(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, emit(*command(SHOW), table=servers((0,), ids=("10.0.0.1",))))
    cluster.mount("rings-config-train", "/user/serverid/devindex/config")
    written(tmp_path, by_the_operator((3,)))
    assert finish(cluster.start("worker", fields("10.0.0.1"))).returncode == 0
    assert told(tmp_path, 0)["MASTER_ADDR"] == "127.0.0.1"


def test_a_fixed_table_is_read_unchanged(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, emit(*command(SHOW), fixed_table=True))
    for host in ("10.0.0.1", "10.0.0.2"):
        done = finish(cluster.start("worker", fields(host, (0, 1))))
        assert (done.returncode, done.stderr) == (0, "")
    for worker in plan(TWO, ["true"]).workers:
        found = detect(told(tmp_path, worker.rank)).env
        assert (found.rank, found.device, found.local_rank, found.master_addr) == (
            worker.rank,
            worker.device,
            worker.local_rank,
            worker.master_addr,
        )


@pytest.mark.parametrize(
    ("value", "environ", "text"),
    [
        (
            {"status": "initializing"},
            {"HCCL_KIT_TABLE_TIMEOUT": "1"},
            "error: the rank table {table} is initializing after 1 s\n  fix: check that the Ascend Operator",
        ),
        ("{", {"HCCL_KIT_TABLE_TIMEOUT": "0"}, "error: the rank table {table} is not valid JSON after 0 s\n"),
        ("[]", {"HCCL_KIT_TABLE_TIMEOUT": "0"}, "error: the rank table {table} is of status None after 0 s\n"),
        ({"status": "completed"}, {"HCCL_KIT_TABLE_TIMEOUT": "soon"}, "error: HCCL_KIT_TABLE_TIMEOUT='soon' is not a "),
        ({"status": "completed", "rank_list": []}, {}, "error: {table} has no server_list; a pod reads tables of"),
        (
            by_the_operator((0, 1)) | {"server_list": [{"server_id": "10.0.0.1"}]},
            {},
            "error: the rank table {table} is not valid: KeyError 'device'\n",
        ),
        (by_the_operator((), (0, 1)), {}, "error: the rank table {table} has no card for this pod\n"),
    ],
    ids=str,
)
def test_a_table_that_does_not_match_the_pod_is_an_error(
    tmp_path: Path, value: object, environ: Mapping[str, str], text: str
) -> None:
    cluster = Cluster(tmp_path, emit(*command(SHOW)))
    cluster.mount("rings-config-train", "/user/serverid/devindex/config")
    written(tmp_path, value)
    done = finish(cluster.start("worker", fields("10.0.0.1", (0, 1)), environ))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(text.format(table=tmp_path / FOLDER / "hccl.json"))


def test_a_pod_on_a_server_outside_the_table_is_an_error(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, emit(*command(SHOW), fixed_table=True))
    done = finish(cluster.start("worker", fields("10.0.0.9")))
    assert done.returncode == 2
    assert done.stderr == (
        "error: this pod runs on 10.0.0.9, which is not a server of the rank table; it has 10.0.0.1, 10.0.0.2\n"
        "  fix: let the cluster write the table, or run the pods on its servers only (nodeSelector)\n"
    )


def test_a_pod_with_other_cards_is_an_error(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, emit(*command(SHOW), fixed_table=True))
    done = finish(cluster.start("worker", fields("10.0.0.1", (2, 3))))
    assert done.returncode == 2
    assert done.stderr.startswith(
        "error: the cluster gave this pod the cards Ascend910-2,Ascend910-3, the rank table has 0, 1\n"
    )


def test_a_fixed_table_without_server_addresses_is_refused() -> None:
    with pytest.raises(KitError, match='server "node1" has no address; a pod only knows the address of its host'):
        emit(table=servers((0,), (0,), ids=("10.0.0.1", "node1")), fixed_table=True)
    named = Server("node1", (Device(0, None, 0),), {"host_ip": "10.0.0.1"})
    emit(table=RankTable("1.0", "completed", (named,)), fixed_table=True)
    made, _ = planned(TWO)
    table = TableFile("t.json", '{"version": "2.0", "rank_list": []}')
    with pytest.raises(KitError, match=r'"t.json" has no server_list; a pod reads tables of versions 1.0 and 1.2'):
        emit_of("volcano", made, table, image="x", product="910", fixed_table=True)


def test_a_table_has_no_white_space_and_a_large_one_is_compressed() -> None:
    small, large = (documents_of(emit(table=table, fixed_table=True)) for table in (TWO, LARGE))
    assert '": ' not in small[1]["data"]["hccl.json"]
    assert "data" not in large[1]
    for documents, table in ((small, TWO), (large, LARGE)):
        assert table_in(documents[1]) == json.loads(formats.write(table))


def test_a_pod_reads_the_compressed_table(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, emit(*command(SHOW), table=LARGE, fixed_table=True))
    assert "kubectl apply" in emit(table=LARGE, fixed_table=True)[0].text
    host = LARGE.servers[-1].id
    done = finish(cluster.start("worker", fields(host, range(8))))
    assert (done.returncode, done.stderr) == (0, "")
    environ = told(tmp_path, 7999)
    assert detect(environ).env.rank == 7999
    assert Path(environ["RANK_TABLE_FILE"]).read_text() == manifest.compact(formats.write(LARGE))


@pytest.mark.parametrize(
    ("data", "state"),
    [
        (b"{}", "not valid gzip"),
        (gzip.compress(b"{"), "not valid JSON"),
        (gzip.compress(b"{}")[:12], "not valid JSON"),
        (gzip.compress(b" " * (50 << 20)), "larger than 40 MiB"),
    ],
    ids=["plain", "half", "cut", "large"],  # the bytes contain the time, so they differ between xdist workers
)
def test_a_damaged_compressed_table_is_an_error(tmp_path: Path, data: bytes, state: str) -> None:
    cluster = Cluster(tmp_path, emit(*command(SHOW), table=LARGE, fixed_table=True))
    place = cluster.mount("train-table", "/user/serverid/devindex/config") / "hccl.json.gz"
    place.write_bytes(data)
    done = finish(cluster.start("worker", fields("10.0.0.1"), {"HCCL_KIT_TABLE_TIMEOUT": "0"}))
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: the rank table {place} is {state} after 0 s\n")
