"""The manifest of a RayJob: Ray's workers, its head, and the entry point."""

import json
import shlex
from typing import Any

from hccl_kit.launch.emitters import rayjob
from tests.launch.manifests import documents_of, job_of, templates_in
from tests.launch.ways import planned, servers


def spec_of(*argv: str) -> dict[str, Any]:
    plan, table = planned(servers(range(2), range(2)), *argv)
    found: dict[str, Any] = job_of(documents_of(rayjob.emit(plan, table, image="x", name="train")))["spec"]
    return found


def test_workers_set_no_command_and_declare_their_cards_as_a_resource() -> None:
    spec = spec_of("python", "train.py")
    (group,) = spec["rayClusterSpec"]["workerGroupSpecs"]
    assert (group["replicas"], group["minReplicas"], group["maxReplicas"]) == (2, 2, 2)
    # KubeRay writes `ray start --resources=VALUE` into a shell.
    assert json.loads(*shlex.split(group["rayStartParams"]["resources"])) == {"NPU": 2}
    (worker,) = group["template"]["spec"]["containers"]
    assert not {"command", "args"} & worker.keys()
    assert spec["shutdownAfterJobFinishes"] is True


def test_the_head_has_no_cards_and_runs_the_entry_point() -> None:
    documents = documents_of(rayjob.emit(*planned(servers(range(2), range(2))), image="x", name="train"))
    _, head = templates_in(documents)["head"]
    (container,) = head["spec"]["containers"]
    assert "resources" not in container
    assert container["volumeMounts"] == [{"name": "hccl-kit", "mountPath": "/hccl-kit"}]
    assert job_of(documents)["spec"]["entrypoint"] == "python3 -I /hccl-kit/agent.pyz /hccl-kit/job.json"


def test_the_kit_of_the_image_is_the_entry_point_if_it_is_said_to_be_there() -> None:
    plan, table = planned(servers(range(2)))
    job = job_of(documents_of(rayjob.emit(plan, table, image="x", image_has_kit=True)))
    assert job["spec"]["entrypoint"] == "python3 -I -m hccl_kit.pod /hccl-kit/job.json"


def test_no_word_of_the_command_is_passed_to_a_shell() -> None:
    spec = spec_of("python", "$(touch pwned)", "; touch pwned", "\n")
    assert "pwned" not in json.dumps(spec)
