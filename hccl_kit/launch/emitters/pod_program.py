"""The program of a pod: `hccl_kit.pod` with its settings, in a ConfigMap."""

from __future__ import annotations

from typing import Any

from hccl_kit import __version__
from hccl_kit.agent.assignment import Default
from hccl_kit.base.frameworks import PYTORCH
from hccl_kit.launch.agent_texts import agent_texts
from hccl_kit.launch.emitters import pod_options
from hccl_kit.launch.emitters.kubernetes import PodJob, program_name
from hccl_kit.launch.emitters.manifest import Value, config_map
from hccl_kit.launch.recorders import RECORDERS
from hccl_kit.pod.settings import Settings
from hccl_kit.remote.program import archive
from hccl_kit.runtime.worker_env import LOG_DIR, MISLEADING, NAMES, PLOGS, RESTART, RUN_ID, TABLE_TIMEOUT, THREADS


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
