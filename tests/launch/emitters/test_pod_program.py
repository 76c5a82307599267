"""Jobs whose controllers number the pods: common content of the manifests, errors, and the ranks that pods start."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from hccl_kit.base.errors import KitError
from hccl_kit.launch.emitters import emit as emit_of
from hccl_kit.launch.emitters import manifest
from hccl_kit.launch.emitters.kinds import KINDS as EVERY_KIND
from hccl_kit.launch.files import LaunchFile
from hccl_kit.launch.plan import plan
from hccl_kit.runtime.detect import detect
from hccl_kit.runtime.worker_env import MISLEADING, NAMES, THREADS, VISIBLE_DEVICES
from hccl_kit.table.model import RankTable
from tests.lab.hosts import hosts, needs_hosts
from tests.launch.controllers import INDEX, KINDS, PodFacts, address_of, pods_of
from tests.launch.jobs import finish as finish_on_host
from tests.launch.manifests import (
    Cluster,
    Value,
    command_of,
    documents_of,
    job_of,
    readable,
    settings_of,
    templates_in,
)
from tests.launch.pods import HOST, SHOW, command, finish, printed, told
from tests.launch.ways import assert_golden, planned, servers
from tests.launch.ways import large as large_table
from tests.places import ROOT

TWO = servers(range(2), range(2), ids=("10.0.0.1", "10.0.0.2"))
STARTS = ("jobset", "rayjob")
"""Kinds whose pods start the command, as those of all others do, and one whose entry point does."""
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {"framework": "mindspore"},
    "queued_on_hosts": {
        "framework": "pytorch",
        "host_network": True,
        "kueue_queue": "team-a",
        "resource": "huawei.com/Ascend910B4",
        "namespace": "training",
    },
    "in_a_super_pod": {"kueue_queue": "team-a", "kueue_topology": "required=hccl-kit/super-pod"},
    "fixed_table": {"fixed_table": True, "host_network": True},
    "written_table": {"table_map": "rings-config-train"},
}


def emit(
    kind: str, *argv: str, table: RankTable = TWO, framework: str | None = None, **options: Any
) -> tuple[LaunchFile, ...]:
    plan_, file = planned(table, *argv, framework=framework)
    return emit_of(kind, plan_, file, **{"image": "registry/train:1", "name": "train", **options})


def pods(documents: list[Value]) -> list[Value]:
    """The specs of the pods with cards."""
    return [
        template["spec"]
        for _, template in templates_in(documents).values()
        if "resources" in template["spec"]["containers"][0]
    ]


@pytest.mark.parametrize("name", ["plain", "queued_on_hosts"])
@pytest.mark.parametrize("kind", KINDS)
def test_files_match_the_golden_files(kind: str, name: str, request: pytest.FixtureRequest) -> None:
    files = emit(kind, "python", "train.py", "--lr", "0.1", "--name", "$(x) it's", **OPTIONS[name])
    assert_golden(f"{kind}/{name}", [*map(readable, files)], request)


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_pod_has_cards_mounts_and_a_server_to_itself(kind: str, name: str) -> None:
    documents = documents_of(emit(kind, **OPTIONS[name]))
    maps = {document["metadata"]["name"] for document in documents if document["kind"] == "ConfigMap"}
    namespace = OPTIONS[name].get("namespace", "default")
    assert {document["metadata"]["namespace"] for document in documents} == {namespace}
    labels = job_of(documents)["metadata"].get("labels", {})
    assert labels.get("kueue.x-k8s.io/queue-name") == OPTIONS[name].get("kueue_queue")
    cards = {OPTIONS[name].get("resource", "huawei.com/Ascend910"): 2}
    for pod in pods(documents):
        (container,) = pod["containers"]
        assert container["resources"] == {"requests": cards, "limits": cards}
        (apart,) = pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert apart == {
            "labelSelector": {"matchLabels": {"hccl-kit/job": "train"}},
            "topologyKey": "kubernetes.io/hostname",
        }
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        mounts = {mount["mountPath"]: volumes[mount["name"]] for mount in container["volumeMounts"]}
        assert mounts["/dev/shm"]["emptyDir"] == {"medium": "Memory"}
        assert mounts["/usr/local/Ascend/driver"]["hostPath"] == {"path": "/usr/local/Ascend/driver"}
        assert mounts["/hccl-kit"]["configMap"] == {"name": "train-start"}
        written = {OPTIONS[name].get("table_map")}
        found = {volume["configMap"]["name"] for volume in volumes.values() if "configMap" in volume}
        assert found - written <= maps
        fields = {
            row["name"]: row.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
            for row in container.get("env", ())
        }
        assert "ASCEND_VISIBLE_DEVICES" not in fields
        on_host = OPTIONS[name].get("host_network", False)
        assert pod.get("hostNetwork", False) == on_host
        assert (fields.get("HCCL_IF_IP") == "status.hostIP") == on_host
    placed = {"annotations": {"kueue.x-k8s.io/podset-required-topology": "hccl-kit/super-pod"}}
    for _, template in templates_in(documents).values():
        if "resources" in template["spec"]["containers"][0]:
            given = placed if name == "in_a_super_pod" else {}
            assert template["metadata"] == {"labels": {"hccl-kit/job": "train"}, **given}
        else:
            assert "metadata" not in template


@pytest.mark.parametrize(
    ("text", "annotation"),
    [
        ("preferred=rack", {"kueue.x-k8s.io/podset-preferred-topology": "rack"}),
        ("required=a.b/c.d_e", {"kueue.x-k8s.io/podset-required-topology": "a.b/c.d_e"}),
        ("unconstrained", {"kueue.x-k8s.io/podset-unconstrained-topology": "true"}),
    ],
)
def test_the_annotation_for_kueue_names_the_topology(text: str, annotation: dict[str, str]) -> None:
    documents = documents_of(emit("jobset", kueue_queue="team", kueue_topology=text))
    ((_, template),) = templates_in(documents).values()
    assert template["metadata"]["annotations"] == annotation


FIELD_OF_RESTARTS = {
    "jobset": lambda found: found["JobSet"]["spec"]["failurePolicy"]["maxRestarts"],
    "trainjob": lambda found: found["TrainingRuntime"]["spec"]["template"]["spec"]["failurePolicy"]["maxRestarts"],
    "rayjob": lambda found: found["RayJob"]["spec"]["backoffLimit"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_max_restarts_is_set_if_the_controller_can_restart_all_pods(kind: str) -> None:
    if kind not in FIELD_OF_RESTARTS:
        with pytest.raises(KitError, match=f"--max-restarts is not for --to {kind}: its controller starts single pods"):
            emit(kind, max_restarts="3")
        return
    documents = documents_of(emit(kind, max_restarts="3"))
    assert FIELD_OF_RESTARTS[kind]({document["kind"]: document for document in documents}) == 3


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl, which has Kustomize and the reader of YAML")
@pytest.mark.parametrize("kind", KINDS)
def test_kustomize_leaves_the_manifest_unchanged(kind: str, tmp_path: Path) -> None:
    argv = [
        "run",
        "",
        "y",
        "No",
        "~",
        "1e3",
        "0o17",
        "1_000",
        "2026-01-01",
        "a: b",
        "# a",
        "训练",
        "- a",
        "\ta\n",
    ]
    (file,) = emit(kind, *argv, kueue_queue="team", host_network=True)
    (tmp_path / file.name).write_text(file.text, encoding="utf-8")
    (tmp_path / "kustomization.yaml").write_text(f"resources: [{file.name}]\nlabels: [{{pairs: {{team: a}}}}]\n")
    done = subprocess.run(["kubectl", "kustomize", tmp_path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    found = [*yaml.safe_load_all(done.stdout)]
    for document in found:
        assert document["metadata"]["labels"].pop("team") == "a"
    wanted = documents_of([file])
    for document in (*found, *wanted):
        document["metadata"].setdefault("labels", {})
    assert {one["kind"]: one for one in found} == {one["kind"]: one for one in wanted}
    assert command_of(found) == argv


LONGEST = {kind: 63 - len(EVERY_KIND[kind].suffix(2)) for kind in KINDS}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kueue_topology": "unconstrained"}, "--kueue-topology needs --kueue-queue: only a job in a queue is placed"),
        ({"fixed_table": True}, "--fixed-table needs --host-network: a rank table has the addresses of hosts"),
        (
            {"fixed_table": True, "table_map": "a", "host_network": True},
            "--fixed-table and --table-map are mutually exclusive",
        ),
    ],
    ids=str,
)
def test_an_invalid_option_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(KitError, match=re.escape(message)) as caught:
        emit("jobset", **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_the_longest_name_gives_pods_whose_names_fit(kind: str) -> None:
    emit(kind, name="a" * LONGEST[kind])
    with pytest.raises(KitError, match=f"accepted: at most {LONGEST[kind]} characters"):
        emit(kind, name="a" * (LONGEST[kind] + 1))


@pytest.mark.parametrize("kind", STARTS)
def test_a_table_too_large_for_a_config_map_of_the_cluster_is_refused(kind: str) -> None:
    large = large_table(16384)
    (file,) = emit(kind, table=large)
    assert len(readable(file).text) < 100_000
    with pytest.raises(KitError, match="ConfigMap rings-config-train would have 1123078 bytes") as caught:
        emit(kind, table=large, table_map="rings-config-train")
    assert caught.value.hint == "leave out --table-map: pods are numbered, and ranks need no table"


def test_a_table_that_is_too_large_even_compressed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "MAX_MAP", 30_000)
    with pytest.raises(KitError, match=r"ConfigMap train-table would have [0-9]{5} bytes; Kubernetes accepts 30000"):
        emit("jobset", table=large_table(16384), fixed_table=True, host_network=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_number_sets_ports_and_timeouts(kind: str) -> None:
    made, file = planned(TWO)
    numbered = plan(TWO, made.command, [("HCCL_IF_BASE_PORT", "65280"), ("MASTER_PORT", "65392")])
    documents = documents_of(emit_of(kind, numbered, file, image="x"))
    for pod in pods(documents):
        assert {"name": "HCCL_IF_BASE_PORT", "value": "65280"} in pod["containers"][0]["env"]
        assert "MASTER_PORT" not in {row["name"] for row in pod["containers"][0]["env"]}
    assert settings_of(documents)["port"] == 65392


def by_the_cluster(cards: Mapping[str, Sequence[int]]) -> Value:
    """A table with these cards of hosts."""
    listed, rank = [], 0
    for host, own in cards.items():
        devices = [{"device_id": str(card), "rank_id": str(rank + i)} for i, card in enumerate(own)]
        listed.append({"server_id": host, "device": devices})
        rank += len(own)
    return {"status": "completed", "server_list": listed, "server_count": str(len(listed)), "version": "1.0"}


def started(cluster: Cluster, kind: str, environ: Mapping[str, str] | None = None) -> list[Any]:
    """Start all pods of a job on this host."""
    found = pods_of(kind, cluster.documents)
    return [cluster.start(pod.template, pod.fields, {**(environ or {}), **pod.environ}) for pod in found]


LEFT_OVER = dict.fromkeys([*MISLEADING, "RANK_ID", "RANK_TABLE_FILE", "DEVICE_ID"], "7")
"""Variables that may be set in an image, or by a controller that is unaware of cards."""


@pytest.mark.parametrize("kind", KINDS)
def test_every_pod_starts_a_rank_on_each_of_its_cards(kind: str, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, emit(kind, *command(SHOW), framework="pytorch"))
    for pod in started(cluster, kind, LEFT_OVER):
        done = finish(pod)
        assert (done.returncode, printed(done), done.stderr) == (0, "", "")
    settings = settings_of(cluster.documents)
    for rank in range(4):
        environ = told(tmp_path, rank)
        assert environ.keys() & set(MISLEADING) == set()
        found = detect(environ)
        env = found.env
        assert found.launcher == "script"
        assert (env.rank, env.size, env.local_rank, env.local_size, env.device) == (rank, 4, rank % 2, 2, rank % 2)
        assert (env.master_addr, env.master_port, env.table) == (address_of(kind, "train"), settings["port"], None)
        assert all(environ[name] == str(rank) for name in NAMES["rank"])
        assert environ["HCCL_KIT_RUN_ID"] == environ["TORCHELASTIC_RUN_ID"] == "train"
        assert (env.node, env.visible) == (rank // 2, "0,1")


def one_pod(folder: Path, environ: Mapping[str, str], framework: str) -> subprocess.CompletedProcess[str]:
    """Run the first pod of a JobSet whose image has these variables."""
    table = servers(range(2), ids=("10.0.0.1",))
    cluster = Cluster(folder, emit("jobset", *command(SHOW), table=table, framework=framework))
    (pod,) = pods_of("jobset", cluster.documents)[:1]
    return finish(cluster.start(pod.template, pod.fields, {**environ, **pod.environ}))


def test_visible_cards_of_an_image_must_be_all_cards_of_the_pod(tmp_path: Path) -> None:
    assert one_pod(tmp_path / "same", {VISIBLE_DEVICES: "0,1"}, "pytorch").returncode == 0
    done = one_pod(tmp_path / "other", {VISIBLE_DEVICES: "4,5"}, "pytorch")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"error: {VISIBLE_DEVICES}='4,5' in this pod; its cards are 0,1\n"
        f"  fix: remove {VISIBLE_DEVICES} from the image and the manifest, or set it to 0,1\n"
    )


def test_ranks_of_a_pod_share_its_cores(tmp_path: Path) -> None:
    share = str(max(1, len(os.sched_getaffinity(0)) // 2))
    done = one_pod(tmp_path, {THREADS: ""}, "pytorch")
    assert (done.returncode, printed(done), done.stderr) == (0, "", "")
    assert f", {THREADS}={share}, " in done.stdout
    assert [told(tmp_path, rank)[THREADS] for rank in range(2)] == [share, share]


def test_a_table_whose_cards_torch_would_take_in_another_order_is_refused(tmp_path: Path) -> None:
    crossed = servers((1, 0), (0, 1), ids=("10.0.0.1", "10.0.0.2"))
    with pytest.raises(KitError, match="has cards 1, 0 in the order of its ranks"):
        emit("pytorchjob", table=crossed, fixed_table=True, host_network=True)
    cluster = Cluster(tmp_path, emit("pytorchjob", *command(SHOW), table_map="written"))
    cluster.mount("written", "/user/serverid/devindex/config")
    table = by_the_cluster({"10.0.0.1": (6, 4), "10.0.0.2": (4, 5)})
    Cluster.write(tmp_path / "user_serverid_devindex_config", {"hccl.json": json.dumps(table)})
    for host, code in (("10.0.0.2", 0), ("10.0.0.1", 2)):
        pod = pods_of("pytorchjob", cluster.documents)[0]
        done = finish(cluster.start(pod.template, {**pod.fields, "status.hostIP": host}, pod.environ))
        assert done.returncode == code, done.stderr
    assert done.stderr.startswith("error: the rank table gives the ranks of this pod the cards 1, 0 in this order; ")
    assert [(told(tmp_path, rank)["NODE_RANK"], told(tmp_path, rank)["DEVICE_ID"]) for rank in (2, 3)] == [
        ("1", "0"),
        ("1", "1"),
    ]


@pytest.mark.parametrize("kind", STARTS)
def test_words_arrive_at_the_ranks_unchanged(kind: str, tmp_path: Path) -> None:
    given_words = ["", "a b", "$(id)", "$$(HOME)", "`id`", "it's", "\n", "--x=$HOME", "训练", "*"]
    program = "import json, os, sys; open(os.environ['RANK'], 'w').write(json.dumps(sys.argv[1:]))"
    cluster = Cluster(tmp_path, emit(kind, *command(program), *given_words, framework="pytorch"))
    for pod in started(cluster, kind):
        assert finish(pod).returncode == 0
    for rank in range(4):
        assert json.loads((tmp_path / str(rank)).read_text()) == given_words


@pytest.mark.parametrize("kind", STARTS)
def test_a_rank_that_fails_ends_its_pod_with_its_code(kind: str, tmp_path: Path) -> None:
    program = "import os, sys, time; sys.exit('no data') if os.environ['RANK'] == '1' else time.sleep(60)"
    cluster = Cluster(tmp_path, emit(kind, *command(program), framework="pytorch"))
    pod = pods_of(kind, cluster.documents)[0]
    done = finish(cluster.start(pod.template, pod.fields, pod.environ))
    assert done.returncode == 1
    assert f"error: rank 1 on device 1 of {HOST} failed with exit code 1\n" in done.stderr
    assert done.stderr.endswith("rank_1.log:\nno data\n")


@pytest.mark.parametrize("kind", STARTS)
def test_a_pod_waits_for_the_table_that_the_cluster_writes(kind: str, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, emit(kind, *command(SHOW), table_map="rings-config-train"))
    facts = [pod._replace(fields={**pod.fields, "status.hostIP": f"10.0.0.{9 - number}"})
             for number, pod in enumerate(pods_of(kind, cluster.documents))]  # fmt: skip
    running = [cluster.start(pod.template, pod.fields, pod.environ) for pod in facts]
    with pytest.raises(Exception, match="timed out"):
        running[0].wait(1.5)
    table = by_the_cluster({"10.0.0.8": (4, 5), "10.0.0.9": (6, 7)})
    Cluster.write(tmp_path / "user_serverid_devindex_config", {"hccl.json": json.dumps(table)})
    for pod in running:
        done = finish(pod)
        assert (done.returncode, done.stderr) == (0, "")
    for rank in range(4):
        env = detect(told(tmp_path, rank)).env
        assert (env.rank, env.device, env.master_addr) == (rank, rank % 2, "10.0.0.8")


@pytest.mark.parametrize("kind", KINDS)
def test_a_pod_without_its_controller_prints_an_error(kind: str, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, emit(kind, *command(SHOW), framework="pytorch"))
    pod = pods_of(kind, cluster.documents)[0]
    done = finish(cluster.start(pod.template, pod.fields, {**pod.environ, INDEX[kind]: "soon"}))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {INDEX[kind]}='soon' is not a number from 0; ")
    assert "\n  fix: " in done.stderr
    more = finish(cluster.start(pod.template, pod.fields, {**pod.environ, INDEX[kind]: "2"}))
    assert more.returncode == 2
    assert more.stderr.startswith(f"error: {INDEX[kind]}=2, and the manifest was written for 2 pod(s)\n  fix: ")


MEET = """
import os, socket, time
from pathlib import Path
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    with socket.create_server(("", place[1]), backlog=size) as server:
        for _ in range(size - 1):
            peer, _ = server.accept()
            Path("met_" + peer.recv(9).decode()).touch()
else:
    end = time.monotonic() + 150
    while True:
        try:
            with socket.create_connection(place, 30) as link:
                link.sendall(str(rank).encode())
            break
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
"""


@needs_hosts
@pytest.mark.parametrize("kind", KINDS)
def test_ranks_of_all_pods_rendezvous_at_the_name_of_pod_0(kind: str, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, emit(kind, *command(MEET), framework="pytorch"))
    with hosts(2) as lab:
        lab.add_name(0, address_of(kind, "train"))
        facts: list[PodFacts] = pods_of(kind, cluster.documents)
        running = []
        for number, pod in enumerate(facts):
            argv, environ = cluster.pod(pod.template, pod.fields, pod.environ)
            running.append(lab.start(number, argv, environ=environ, folder=tmp_path))
        for process in running:
            done = finish_on_host(process)
            assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(path.name for path in tmp_path.glob("met_*")) == ["met_1", "met_2", "met_3"]


@needs_hosts
@pytest.mark.parametrize("kind", STARTS)
def test_pod_0_also_runs_the_scheduler_of_mindspore(kind: str, tmp_path: Path) -> None:
    program = (
        "import os, json, sys; name = os.environ.get('MS_NODE_ID', 'scheduler');"
        "open(name + '.json', 'x').write(json.dumps(dict(os.environ)))"
    )
    cluster = Cluster(tmp_path, emit(kind, *command(program), framework="mindspore"))
    with hosts(2) as lab:
        first = lab.addresses[0]
        running = []
        for number, pod in reversed([*enumerate(pods_of(kind, cluster.documents))]):
            argv, environ = cluster.pod(pod.template, pod.fields, {**LEFT_OVER, **pod.environ})
            running.append(lab.start(number, argv, environ=environ, folder=tmp_path))
        lab.add_name(0, address_of(kind, "train"))  # the pods wait for the table
        for process in running:
            done = finish_on_host(process)
            assert done.returncode == 0, done.stdout + done.stderr
    told_ = {path.stem: json.loads(path.read_text()) for path in tmp_path.glob("*.json")}
    assert sorted(told_) == ["0", "1", "2", "3", "scheduler"]
    for name, environ in told_.items():
        assert environ["MS_ROLE"] == ("MS_SCHED" if name == "scheduler" else "MS_WORKER")
        assert (environ["MS_SCHED_HOST"], environ["MS_WORKER_NUM"], environ["RANK_SIZE"]) == (first, "4", "4")
        assert "RANK_TABLE_FILE" not in environ
        assert environ["MS_SCHED_PORT"].isdecimal()
        if name != "scheduler":
            env = detect(environ).env
            assert (env.rank, env.size, env.device) == (int(name), 4, int(name) % 2)


@needs_hosts
@pytest.mark.train
@pytest.mark.long
def test_mindspore_ranks_of_two_pods_connect_without_a_table(tmp_path: Path) -> None:
    pytest.importorskip("mindspore")
    program = (
        "import mindspore; from mindspore.communication import get_group_size, get_rank, init; "
        "mindspore.set_device('CPU'); init(); print('rank', get_rank(), 'of', get_group_size())"
    )
    argv = [sys.executable, "-u", "-c", program]
    cluster = Cluster(tmp_path, emit("jobset", *argv))
    with hosts(2) as lab:
        lab.add_name(0, address_of("jobset", "train"))
        running = []
        for number, pod in enumerate(pods_of("jobset", cluster.documents)):
            line, environ = cluster.pod(pod.template, pod.fields, {"PYTHONPATH": str(ROOT), **pod.environ})
            running.append(lab.start(number, line, environ=environ, folder=tmp_path))
        outputs = [finish_on_host(process) for process in running]
    for done in outputs:
        assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall("rank [0-9] of 4", "".join(done.stdout for done in outputs))
    assert sorted(found) == [f"rank {rank} of 4" for rank in range(4)]
