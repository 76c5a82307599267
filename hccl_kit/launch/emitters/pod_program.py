"""The program of a pod, `hccl_kit.pod` with its settings, and the rank table that it may read, in ConfigMaps."""

from __future__ import annotations

import gzip
import json
from typing import Any

from hccl_kit import __version__
from hccl_kit.agent.assignment import Default
from hccl_kit.base.errors import KitError
from hccl_kit.base.frameworks import PYTORCH
from hccl_kit.base.message import Message
from hccl_kit.base.network import ip_of
from hccl_kit.launch.agent_texts import agent_texts
from hccl_kit.launch.emitters import kubernetes, manifest, pod_options
from hccl_kit.launch.emitters.kubernetes import PodJob, program_name
from hccl_kit.launch.emitters.manifest import Value, config_map
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.recorders import RECORDERS
from hccl_kit.pod.settings import Settings
from hccl_kit.remote.program import archive
from hccl_kit.runtime.worker_env import (
    LOG_DIR,
    MISLEADING,
    NAMES,
    PLOGS,
    RESTART,
    RUN_ID,
    SERVER,
    TABLE_TIMEOUT,
    THREADS,
)
from hccl_kit.table.document import decode, shown

FOLDER = kubernetes.TABLE_FOLDER
KEY = "hccl.json"
PACKED_KEY = f"{KEY}.gz"
"""The table compressed, for the pod; ranks read what it writes."""


def program(job: PodJob, source: str, **settings: Any) -> Value:
    """The ConfigMap with the settings of `hccl_kit.pod`, and with the program unless the image has it.

    `source` says where a pod finds its ranks, with further `settings`.
    """
    kept = "MS_" if source == "mindspore" else None  # MindSpore reads MS_*, which the operator sets
    made = Settings(
        job=job.name,
        source=source,
        pods=job.pods,
        cards=job.cards,
        names=NAMES,
        run_id=(RUN_ID, *NAMES["run"]),
        unset=[*(name for name in MISLEADING if not (kept and name.startswith(kept))), RUN_ID, RESTART],
        log_dir=LOG_DIR,
        threads=THREADS,
        timeout=TABLE_TIMEOUT,
        defaults=[Default(PLOGS, "plog/", in_logs=True), *RECORDERS],
        limits_cards=job.framework == PYTORCH,
        logs=pod_options.LOG_FOLDER if job.log_volume else "",
        kit_version=__version__ if job.image_has_kit else "",
        texts=agent_texts(),
        **settings,
    )
    files: dict[str, str | bytes] = {"job.json": made.to_json()}
    if not job.image_has_kit:
        files["agent.pyz"] = archive(("agent", "pod"), main="pod")
    return config_map(program_name(job), job.namespace, files)


def by_table(job: PodJob, port: int, *, key: str = KEY, **settings: Any) -> Value:
    """The `program` of pods that find their ranks in the table `key`."""
    return program(job, "table", table=f"{FOLDER}/{key}", port=port, server=SERVER, **settings)


def env() -> Value:
    """The variable by which a pod finds its server in the table."""
    return kubernetes.from_field(SERVER, "status.hostIP")


def given(job: PodJob, plan: LaunchPlan, table: TableFile) -> Value:
    """The ConfigMap of the given table, which is compressed if `kubectl apply` would not take it as it is.

    Raises KitError if pods could not find their host in it, or if it is larger than a ConfigMap.
    """
    _assert_usable(plan, table)
    name, text = f"{job.name}-table", manifest.compact(table.text)
    if len(text.encode()) <= manifest.MAX_MAP:
        plain = manifest.config_map(name, job.namespace, {KEY: text})
        if manifest.applied_size(plain) <= manifest.MAX_APPLIED:
            return plain
    packed = gzip.compress(text.encode(), mtime=0)
    hint = Message("launch.pod-table.given.fix", "leave out --fixed-table, or start the job with --to slurm")
    manifest.assert_fits(name, len(packed), hint)
    return manifest.config_map(name, job.namespace, {PACKED_KEY: packed})


def key_of(config: Value) -> str:
    """The file in which `given` has put the table."""
    return PACKED_KEY if "binaryData" in config else KEY


def assert_can_be_written(config: str, table: TableFile) -> None:
    """Raises KitError if a table that the cluster would write for as many cards is too large for this ConfigMap."""
    hint = Message("launch.pod-table.written.fix", "leave out --table-map: pods are numbered, and ranks need no table")
    manifest.assert_fits(config, len(manifest.compact(table.text).encode()), hint)


def about_given(table: TableFile) -> list[str]:
    """Lines of a comment on pods that read the given table."""
    return [
        f"The ranks read the rank table with sha256 {table.sha256}.",
        "A pod on another server, or with other cards, stops with an error: run the pods on the servers of the table",
        "only, for example with a label of these under nodeSelector.",
    ]


def about_selected(table: TableFile, why: str) -> list[str]:
    """Lines of a comment on pods whose servers and cards the cluster selects."""
    return [
        f"For as many servers and cards as in the rank table with sha256 {table.sha256};",
        f"the cluster selects them, and {why}",
    ]


def _assert_usable(plan: LaunchPlan, table: TableFile) -> None:
    if "server_list" not in json.loads(decode(table.text)):
        raise KitError(
            "launch.pod-table.no-server-list",
            "{table} has no server_list; a pod reads tables of versions 1.0 and 1.2",
            fix="hccl-kit convert TABLE --to 1.0",
            table=shown(table.name),
        )
    for node in plan.nodes:
        if not ip_of(node.address):
            raise KitError(
                "launch.pod-table.server-no-address",
                "server {id} has no address; a pod only knows the address of its host",
                fix='add "host_ip" to the server in the table',
                id=shown(node.id),
            )
