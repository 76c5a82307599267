"""Volumes, processors and memory of pods, for every launcher with pods."""

import re
from typing import Any

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.launch.emitters import LAUNCHERS, emit
from tests.launch.manifests import Value, documents_of, templates_in
from tests.launch.ways import planned, servers

PODS = [name for name, row in LAUNCHERS.items() if row.runs_pods]


def specs(launcher: str, **options: str) -> list[Value]:
    """The specs of the pods with cards."""
    given: dict[str, Any] = {"image": "x", **options}
    if LAUNCHERS[launcher].needs_product:
        given["product"] = "910"
    plan, table = planned(servers(range(2), range(2)))
    found = [
        template["spec"] for _, template in templates_in(documents_of(emit(launcher, plan, table, **given))).values()
    ]
    return [spec for spec in found if "resources" in spec["containers"][0]]


@pytest.mark.parametrize("launcher", PODS)
def test_claims_and_folders_of_the_host_are_mounted(launcher: str) -> None:
    for spec in specs(launcher, volumes="data.v2:/data,/models:/models/llama:ro", log_volume="logs"):
        (container,) = spec["containers"]
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
        assert volumes.keys() == {mount["name"] for mount in mounts.values()}
        data, models, logs = (mounts[path] for path in ("/data", "/models/llama", "/hccl-logs"))
        assert volumes[data["name"]]["persistentVolumeClaim"] == {"claimName": "data.v2"}
        assert volumes[models["name"]]["hostPath"] == {"path": "/models", "type": "Directory"}
        assert [mount.get("readOnly") for mount in (data, models, logs)] == [None, True, None]
        assert volumes[logs["name"]]["persistentVolumeClaim"] == {"claimName": "logs"}
    for spec in specs(launcher, log_volume="/var/log/jobs"):
        (logs,) = [volume["hostPath"] for volume in spec["volumes"] if volume["name"] == "hccl-logs"]
        assert logs == {"path": "/var/log/jobs", "type": "DirectoryOrCreate"}


@pytest.mark.parametrize("launcher", PODS)
def test_processors_and_memory_are_requests_and_limits(launcher: str) -> None:
    for spec in specs(launcher, cpus="3500m", memory="512Gi"):
        (container,) = spec["containers"]
        resources = container["resources"]
        assert resources["requests"] == resources["limits"]
        assert {"cpu": "3500m", "memory": "512Gi"}.items() <= resources["limits"].items()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"volumes": ""}, '--volumes has ""; accepted: SOURCE:PATH or SOURCE:PATH:ro'),
        ({"volumes": "data"}, '--volumes has "data"; accepted'),
        ({"volumes": "data:/data,"}, '--volumes has ""; accepted'),
        ({"volumes": "data:data"}, '--volumes has "data:data"; accepted'),
        ({"volumes": "data:/data:rw"}, '--volumes has "data:/data:rw"; accepted'),
        ({"volumes": "data:/a/../b"}, "accepted: SOURCE:PATH"),
        ({"volumes": "data:/"}, "accepted: SOURCE:PATH"),
        ({"volumes": "data:/a\n"}, r'--volumes has "data:/a\n"'),
        ({"volumes": "My_Data:/data"}, '--volumes has "My_Data"; accepted: the name of a PersistentVolumeClaim, or'),
        ({"volumes": ":/data"}, '--volumes has ""; accepted: the name of a PersistentVolumeClaim'),
        ({"volumes": "a:/data,b:/data"}, '--volumes has "/data", where the pod has another volume'),
        ({"volumes": "a:/dev/shm"}, '--volumes has "/dev/shm", where the pod has another volume'),
        ({"volumes": "a:/user/serverid/devindex/config"}, "where the pod has another volume"),
        ({"log_volume": ""}, '--log-volume has ""; accepted: the name of a PersistentVolumeClaim'),
        ({"log_volume": "logs:/logs"}, '--log-volume has "logs:/logs"; accepted'),
    ],
    ids=str,
)
def test_what_kubernetes_would_refuse_or_misread_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(KitError, match=re.escape(message)):
        specs("jobset", **options)
