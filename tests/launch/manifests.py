"""The documents of a manifest, and a simulated cluster: a pod is a process on this host, a ConfigMap a folder."""

from __future__ import annotations

import base64
import gzip
import json
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from hccl_kit.launch.files import LaunchFile
from hccl_kit.runtime.worker_env import THREADS
from tests.launch.jobs import clean_environ

Value = dict[str, Any]
Templates = dict[str, tuple[int, Value]]


def documents_of(files: Sequence[LaunchFile]) -> list[Value]:
    """The documents of the only file, which must contain no YAML tags."""
    (file,) = files
    return [dict(document) for document in yaml.load_all(file.text, Loader=yaml.CSafeLoader)]


def job_of(documents: Sequence[Value]) -> Value:
    kinds = {*TEMPLATES, "TrainJob"} - {"TrainingRuntime"}
    return next(document for document in documents if document["kind"] in kinds)


def _replicated(specs: Value) -> Templates:
    return {name: (row["replicas"], row["template"]) for name, row in specs.items()}


def _of_volcano(job: Value) -> Templates:
    return {task["name"]: (task["replicas"], task["template"]) for task in job["spec"]["tasks"]}


def _of_jobset(job: Value) -> Templates:
    (row,) = job["spec"]["replicatedJobs"]
    spec = row["template"]["spec"]
    return {row["name"]: (row["replicas"] * spec["completions"], spec["template"])}


def _of_runtime(runtime: Value) -> Templates:
    """The Trainer sets the number of pods in the JobSet that it creates."""
    (row,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    return {row["name"]: (runtime["spec"]["mlPolicy"]["numNodes"], row["template"]["spec"]["template"])}


def _of_lws(job: Value) -> Templates:
    group = job["spec"]["leaderWorkerTemplate"]
    return {"worker": (job["spec"]["replicas"] * group["size"], group["workerTemplate"])}


def _of_rayjob(job: Value) -> Templates:
    cluster = job["spec"]["rayClusterSpec"]
    groups = {row["groupName"]: (row["replicas"], row["template"]) for row in cluster["workerGroupSpecs"]}
    return {"head": (1, cluster["headGroupSpec"]["template"]), **groups}


TEMPLATES: Mapping[str, Callable[[Value], Templates]] = {
    "AscendJob": lambda job: _replicated(job["spec"]["replicaSpecs"]),
    "Job": _of_volcano,
    "JobSet": _of_jobset,
    "LeaderWorkerSet": _of_lws,
    "RayJob": _of_rayjob,
    "TrainingRuntime": _of_runtime,
    "PyTorchJob": lambda job: _replicated(job["spec"]["pytorchReplicaSpecs"]),
}


def templates_of(job: Value) -> Templates:
    """The number of pods and the template of each kind of pod."""
    return TEMPLATES[job["kind"]](job)


def templates_in(documents: Sequence[Value]) -> Templates:
    """The pod templates of the document that has them."""
    return templates_of(next(document for document in documents if document["kind"] in TEMPLATES))


def data_of(config: Value) -> dict[str, bytes]:
    """The files of a ConfigMap."""
    plain = {key: text.encode() for key, text in config.get("data", {}).items()}
    return plain | {key: base64.b64decode(text) for key, text in config.get("binaryData", {}).items()}


def table_in(config: Value) -> Value:
    """The rank table in a ConfigMap."""
    ((key, data),) = data_of(config).items()
    assert key in ("hccl.json", "hccl.json.gz")
    return dict(json.loads(gzip.decompress(data) if key.endswith(".gz") else data))


def expanded(word: str, environ: Mapping[str, str]) -> str:
    """A word of `command` or `args` as Kubernetes expands it for the container: kubernetes/third_party/forked."""

    def meaning(match: re.Match[str]) -> str:
        name = match[1]
        return "$" if match[0] == "$$" else environ.get(name, match[0])

    return re.sub(r"\$\$|\$\(([^)]*)\)", meaning, word)


def command_of(documents: Sequence[Value]) -> list[str]:
    """The command of the ranks: in the arguments of the pods, or in a file of the ConfigMap."""
    for _, template in templates_in(documents).values():
        (container,) = template["spec"]["containers"]
        if "args" in container:
            return [expanded(word, {}) for word in container["args"]]
    found: list[str] = settings_of(documents)["command"]
    return found


def settings_of(documents: Sequence[Value]) -> Value:
    """The settings of `hccl_kit.pod`."""
    (text,) = [document["data"]["job.json"] for document in documents if "job.json" in document.get("data", {})]
    return dict(json.loads(text))


def readable(file: LaunchFile) -> LaunchFile:
    """The manifest without its binary part, which is different for every version of zlib and of the agent."""
    return file._replace(text=re.sub(r"(?m)^(  agent\.pyz: )[A-Za-z0-9+/=]+$", r"\1...", file.text))


class Cluster:
    """The pods of a manifest as processes on this host, their ConfigMaps as files in a folder."""

    def __init__(self, folder: Path, files: Sequence[LaunchFile]) -> None:
        self.folder = folder
        self.documents = documents_of(files)
        self.templates = templates_in(self.documents)

    def mount(self, name: str, place: str) -> Path:
        """Mount a ConfigMap as Kubernetes does: every file is a link to a link, so that all change at once."""
        folder = self.folder / place.strip("/").replace("/", "_")
        maps = {d["metadata"]["name"]: d for d in self.documents if d["kind"] == "ConfigMap"}
        config = maps.get(name, {})  # a ConfigMap that the cluster writes later
        self.write(folder, {key: self.here(text) for key, text in config.get("data", {}).items()})
        for key, data in data_of({**config, "data": {}}).items():
            (folder / key).write_bytes(data)
        return folder

    def here(self, text: str) -> str:
        """The text with the real paths of the folders of the table and of the logs."""
        for place in ("/user/serverid/devindex/config", "/hccl-logs"):
            text = text.replace(place, str(self.folder / place.strip("/").replace("/", "_")))
        return text

    @staticmethod
    def write(folder: Path, data: Mapping[str, str]) -> None:
        number = len(list(folder.glob("..2*"))) if folder.exists() else 0
        version = folder / f"..2026_{number}"
        version.mkdir(parents=True)
        for key, text in data.items():
            (version / key).write_text(text, encoding="utf-8")
            if not (folder / key).is_symlink():
                (folder / key).symlink_to(f"..data/{key}")
        (folder / "..new").symlink_to(version.name)
        (folder / "..new").replace(folder / "..data")

    def pod(
        self, kind: str, fields: Mapping[str, str], environ: Mapping[str, str] | None = None
    ) -> tuple[list[str], dict[str, str]]:
        """The command and the environment of a pod: `fields` come from Kubernetes, `environ` from the controller.

        The threads of the ranks are set, or every pod would print their number.
        """
        _, template = self.templates[kind]
        (container,) = template["spec"]["containers"]
        variables = {**clean_environ(), THREADS: "1", "TMPDIR": str(self.folder), **(environ or {})}
        for row in container.get("env", ()):
            given = row.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
            variables[row["name"]] = fields.get(given, "") if given else expanded(row["value"], variables)
        places = {m["name"]: m["mountPath"] for m in container["volumeMounts"]}
        of_ray = ["python3", "-I", "/hccl-kit/agent.pyz", "/hccl-kit/job.json"]  # `hccl_kit.pod.ray` starts it
        program = container.get("command", of_ray)
        words = [expanded(word, variables) for word in program] + command_of(self.documents)
        for volume in template["spec"]["volumes"]:
            if "configMap" in volume:
                place = places[volume["name"]]
                folder = self.folder / place.strip("/").replace("/", "_")
                if not folder.exists():
                    self.mount(volume["configMap"]["name"], place)
                words[: len(program)] = [word.replace(place, str(folder)) for word in words[: len(program)]]
        return words, variables

    def start(
        self, kind: str, fields: Mapping[str, str], environ: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start a pod on this host."""
        words, variables = self.pod(kind, fields, environ)
        return subprocess.Popen(
            words, cwd=self.folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
