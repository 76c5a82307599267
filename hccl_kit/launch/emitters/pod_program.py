"""The program of a pod, `hccl_kit.pod` with its settings, and the rank table that it may read, in ConfigMaps."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from typing import Any

from hccl_kit import __version__
from hccl_kit.agent.assignment import Default
from hccl_kit.base.errors import KitError
from hccl_kit.base.frameworks import PYTORCH
from hccl_kit.base.message import Message
from hccl_kit.base.network import ip_of
from hccl_kit.launch.agent_texts import agent_texts
from hccl_kit.launch.emitters import manifest, pod_options
from hccl_kit.launch.emitters.kubernetes import PodJob, RankSource, from_field
from hccl_kit.launch.emitters.manifest import Value, config_map
from hccl_kit.launch.emitters.pod import TABLE_FOLDER
from hccl_kit.launch.plan import assert_ascending
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

KEY = "hccl.json"
PACKED_KEY = f"{KEY}.gz"
"""The table compressed, for the pod; ranks read what it writes."""


def by_number(job: PodJob) -> RankSource:
    """By the number of the pod, or by a table that the cluster writes into the ConfigMap that the user names."""
    if job.table_map is None:
        kind = job.kind
        variables = {"controller": kind.title, "pod_index": kind.pod_index, "address": kind.address}
        settings = {"pod_count": kind.pod_count, "scheduler": job.framework != PYTORCH, "port": job.port}
        about = about_selected(job, "the job does not read the table.")
        return RankSource([program(job, "number", **settings, **variables)], about, kind.env)
    hint = Message("launch.pod-table.written.fix", "leave out --table-map: pods are numbered, and ranks need no table")
    manifest.assert_fits(job.table_map, len(manifest.compact(job.table.text).encode()), hint)
    about = [
        *about_selected(job, "each pod waits for the table that the cluster writes:"),
        f"key {KEY} of the ConfigMap {job.table_map}.",
    ]
    return by_table(job, {"name": job.table_map, "optional": True}, about)


def by_given_table(job: PodJob) -> RankSource:
    """By the given table, which is compressed if `kubectl apply` would not take it as it is.

    Raises KitError if pods could not find their host in it, or if it is larger than a ConfigMap.
    """
    _assert_usable(job)
    name, key, text = f"{job.name}-table", KEY, manifest.compact(job.table.text)
    config = config_map(name, job.namespace, {KEY: text}) if len(text.encode()) <= manifest.MAX_MAP else None
    if config is None or manifest.applied_size(config) > manifest.MAX_APPLIED:
        packed, key = gzip.compress(text.encode(), mtime=0), PACKED_KEY
        hint = Message("launch.pod-table.given.fix", "leave out --fixed-table, or start the job with --to slurm")
        manifest.assert_fits(name, len(packed), hint)
        config = config_map(name, job.namespace, {PACKED_KEY: packed})
    about = [
        f"The ranks read the rank table with sha256 {job.table.sha256}.",
        "A pod on another server, or with other cards, stops with an error: run the pods on the servers of the table",
        "only, for example with a label of these under nodeSelector.",
    ]
    return by_table(job, {"name": name}, about, key=key, given=[config])


def by_table(job: PodJob, table: Value, about: list[str], *, key: str = KEY, given: Sequence[Value] = ()) -> RankSource:
    """By the host of the pod in the table, which is the file `key` of the ConfigMap to which `table` refers."""
    path = f"{TABLE_FOLDER}/{key}"
    made = program(job, "table", table=path, port=job.port, server=SERVER)
    return RankSource([*given, made], about, [from_field(SERVER, "status.hostIP")], table)


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
        **{**job.kind.settings(job), **settings},
    )
    files: dict[str, str | bytes] = {"job.json": made.to_json()}
    if not job.image_has_kit:
        files["agent.pyz"] = archive(("agent", "pod"), main="pod")
    return config_map(job.program_map, job.namespace, files)


def about_selected(job: PodJob, why: str) -> list[str]:
    """Lines of a comment on pods whose servers and cards the cluster selects."""
    return [
        f"For as many servers and cards as in the rank table with sha256 {job.table.sha256};",
        f"the cluster selects them, and {why}",
    ]


def _assert_usable(job: PodJob) -> None:
    if "server_list" not in json.loads(decode(job.table.text)):
        raise KitError(
            "launch.pod-table.no-server-list",
            "{table} has no server_list; a pod reads tables of versions 1.0 and 1.2",
            fix="hccl-kit convert TABLE --to 1.0",
            table=shown(job.table.name),
        )
    for node in job.plan.nodes:
        if job.framework == PYTORCH:
            assert_ascending(node)
        if not ip_of(node.address):
            raise KitError(
                "launch.pod-table.server-no-address",
                "server {id} has no address; a pod only knows the address of its host",
                fix='add "host_ip" to the server in the table',
                id=shown(node.id),
            )
