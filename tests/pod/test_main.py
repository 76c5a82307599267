"""The program of a pod, from a manifest: its logs, the version of the image, its network, and as process 1."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hccl_kit import __version__
from hccl_kit.launch.emitters import emit
from hccl_kit.runtime.worker_env import LOG_DIR, PLOGS
from tests.agent.test_standalone import interpreters
from tests.lab.hosts import needs_hosts
from tests.launch.controllers import pods_of
from tests.launch.manifests import Cluster
from tests.launch.pods import HOST, SHOW, command, finish, printed, told
from tests.launch.ways import planned, servers
from tests.waiting import wait_until


def cluster(folder: Path, program: str, **options: Any) -> Cluster:
    plan, table = planned(servers(range(2)), *command(program), framework="pytorch")
    return Cluster(folder, emit("jobset", plan, table, **{"image": "x", "name": "train", **options}))


def start(pods: Cluster, **environ: str) -> subprocess.Popen[str]:
    (pod,) = pods_of("jobset", pods.documents)
    return pods.start(pod.template, pod.fields, {**environ, **pod.environ})


@pytest.mark.parametrize("python", interpreters())
def test_the_image_needs_an_old_python_only(tmp_path: Path, python: str) -> None:
    pods = cluster(tmp_path, SHOW)
    (pod,) = pods_of("jobset", pods.documents)
    (_, *words), environ = pods.pod(pod.template, pod.fields, pod.environ)
    done = subprocess.run([python, *words], cwd=tmp_path, env=environ, check=False, capture_output=True, text=True)
    assert (done.returncode, printed(done), done.stderr) == (0, "", "")
    assert [told(tmp_path, rank)["RANK"] for rank in range(2)] == ["0", "1"]


def test_logs_go_to_the_volume_with_a_folder_for_each_start(tmp_path: Path) -> None:
    pods = cluster(tmp_path, SHOW + "; print('here')", log_volume="/logs")
    for _ in range(2):
        assert finish(start(pods)).returncode == 0
    job = tmp_path / "hccl-logs" / "train"
    runs = [*job.iterdir()]
    assert len(runs) == 2
    for run in runs:
        assert run.name.endswith(f"-{HOST}")
        assert (run / "rank_1.log").read_text() == "here\n"
    environ = told(tmp_path, 1)
    assert Path(environ[LOG_DIR]) in runs
    assert environ[PLOGS] == f"{environ[LOG_DIR]}/plog"
    assert environ["TORCH_FR_DUMP_TEMP_FILE"] == f"{environ[LOG_DIR]}/torch_trace_rank_"


def test_a_log_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "hccl-logs").write_text("")
    done = finish(start(cluster(tmp_path, SHOW, log_volume="logs")))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: the ranks cannot start: ")


def test_the_kit_of_the_image_must_have_the_version_of_the_manifest(tmp_path: Path) -> None:
    pods = cluster(tmp_path, SHOW, image_has_kit=True)
    assert all("binaryData" not in document for document in pods.documents)
    assert finish(start(pods)).returncode == 0
    path = tmp_path / "hccl-kit" / "job.json"
    text = path.read_text()
    path.unlink()
    path.write_text(text.replace(f'"{__version__}"', '"9.9"'))
    done = finish(start(pods))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        f"error: the hccl-kit of this image is {__version__}, the manifest was written by 9.9\n"
    )


def test_gloo_uses_the_interface_with_the_address_of_the_host(tmp_path: Path) -> None:
    pods = cluster(tmp_path, SHOW, host_network=True)
    (pod,) = pods_of("jobset", pods.documents)
    for host, given, name in (
        ("127.0.0.1", {}, "lo"),
        ("127.0.0.1", {"GLOO_SOCKET_IFNAME": "eth7"}, "eth7"),
        ("192.0.2.9", {}, None),  # of no interface: gloo chooses
    ):
        running = pods.start(pod.template, {**pod.fields, "status.hostIP": host}, {**pod.environ, **given})
        assert finish(running).returncode == 0
        assert told(tmp_path, 1).get("GLOO_SOCKET_IFNAME") == name


def test_a_description_that_is_not_one_is_an_error(tmp_path: Path) -> None:
    pods = cluster(tmp_path, SHOW)
    place = pods.mount("train-start", "/hccl-kit") / "job.json"
    good = place.read_text()
    for text in ("{", "[]", "{}", '{"more": {}}', good.replace('"cards": 2', '"cards": "two"')):
        place.unlink()
        place.write_text(text)
        done = finish(start(pods))
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"error: {place} is not the description of a job: ")


ORPHANS = """
import glob, subprocess, time
def command(path):
    try:
        return open(path).read()
    except OSError:  # it was reaped meanwhile
        return ""
for _ in range(3):
    subprocess.run(["sh", "-c", "sleep 0.1 &"], check=True)
end = time.monotonic() + 30
while "(sleep)" in "".join(map(command, glob.glob("/proc/[0-9]*/stat"))):
    assert time.monotonic() < end
    time.sleep(0.1)
"""


def as_process_1(pods: Cluster) -> subprocess.Popen[str]:
    (pod,) = pods_of("jobset", pods.documents)
    words, environ = pods.pod(pod.template, pod.fields, pod.environ)
    return subprocess.Popen(
        ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", *words],
        cwd=pods.folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@needs_hosts
def test_process_1_reaps_orphans(tmp_path: Path) -> None:
    done = finish(as_process_1(cluster(tmp_path, ORPHANS)))
    assert (done.returncode, printed(done), done.stderr) == (0, "", "")


@needs_hosts
def test_process_1_passes_sigterm_on_and_gives_ranks_time(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys, time; rank = os.environ['RANK']\n"
        "signal.signal(15, lambda *_: (time.sleep(2), open(rank + '.saved', 'w'), sys.exit()))\n"
        "open(rank + '.ready', 'w'); time.sleep(600)"
    )
    running = as_process_1(cluster(tmp_path, program))
    assert wait_until(lambda: len([*tmp_path.glob("*.ready")]) == 2)
    (init,) = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    os.kill(int(init), signal.SIGTERM)
    done = finish(running)
    assert done.returncode == 143, done
    assert done.stderr.startswith("ended by SIGTERM; ")
    assert sorted(path.name for path in tmp_path.glob("*.saved")) == ["0.saved", "1.saved"]
