"""Start of a process: launcher, device, MindSpore's settings and the group, before the first tensor."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hccl_kit.base import progress
from hccl_kit.base.errors import KitError
from hccl_kit.ocr import on_cpu
from hccl_kit.ocr.config import Config
from hccl_kit.runtime.detect import Launch
from hccl_kit.runtime.join import World, join, prepare
from hccl_kit.runtime.worker_env import WorkerEnv

CALL_DEPTH = 20_000
"""Nested calls in a graph: the update of a few hundred parameters exceeds MindSpore's default of 1,000."""
DEFAULTS = {"mode": 0, "seed": 0, "convolutions": on_cpu.ONEDNN}
"""The section `system` of a program without a configuration."""
LOG_ERRORS = "3"
"""MindSpore's warnings concern its own deprecations and graphs; GLOG_v=2 shows them."""


def start(config: Config, launch: Launch, *, say: Callable[[str], None], plain_convolutions: bool = False) -> World:
    """Join the group that `launch` describes, on the device of the configuration.

    `plain_convolutions`: the networks are not made by `network_to_train` or `network_to_use` of
    `hccl_kit.ocr.train.build`. Raises KitError if several ranks were started with `system.distribute: False`, or the
    group does not form.
    """
    if launch.env.size > 1 and not config["system"]["distribute"]:
        raise KitError(
            "ocr.start.ranks-were-started",
            "{size} ranks were started ({reason}), but system.distribute is False: each rank would "
            "train its own network",
            fix="set system.distribute: True, or start one process",
            size=launch.env.size,
            reason=launch.reason,
        )
    target = device_target(config["system"]["device_target"])
    if target == "CPU":
        on_cpu.prepare(config["system"], say, plain=plain_convolutions)
    os.environ.setdefault("GLOG_v", LOG_ERRORS)
    env = prepare(launch, config.digest, os.environ)
    if target == "CPU":
        _share_cores(env, launch.launcher, say)
    _set_context(config["system"], target)
    world = join(launch, env, target)
    say(f"launcher {launch.launcher} ({launch.reason}): rank {world.rank} of {world.size} on {target}")
    return world


def start_alone() -> None:
    """Prepare MindSpore for a program of one process that has no configuration, on an Ascend if there is one."""
    target = device_target("auto")
    if target == "CPU":
        on_cpu.prepare(DEFAULTS, progress.say)
    os.environ.setdefault("GLOG_v", LOG_ERRORS)
    _set_context(DEFAULTS, target)


def device_target(wanted: str) -> str:
    """CPU or Ascend for `system.device_target`; auto: Ascend if the driver shows cards (/dev/davinci0 and so on).

    Raises KitError if Ascend is wanted and there are no cards.
    """
    cards = [path for path in Path("/dev").glob("davinci*") if path.name.removeprefix("davinci").isdecimal()]
    if wanted == "Ascend" and not cards:
        raise KitError(
            "ocr.start.system-device-target",
            "system.device_target is Ascend, but there is no /dev/davinci*",
            fix="set it to auto or CPU",
        )
    if wanted == "auto":
        return "Ascend" if cards else "CPU"
    return wanted


def _share_cores(env: WorkerEnv, launcher: str, say: Callable[[str], None]) -> None:
    """Bind each rank of this host to its own cores: two thread pools on shared cores halve the speed (measured).

    Nothing changes if mpirun or srun have bound their ranks already.
    """
    cores = sorted(os.sched_getaffinity(0))
    bound = launcher in ("mpirun", "srun") and len(cores) < (os.cpu_count() or 1)
    if env.local_size == 1 or env.local_size > len(cores) or bound:
        return
    first, end = (len(cores) * part // env.local_size for part in (env.local_rank, env.local_rank + 1))
    os.sched_setaffinity(0, cores[first:end])
    numbers = ",".join(map(str, cores[first:end]))
    say(f"this rank uses {end - first} of {len(cores)} cores: {numbers}")


def _set_context(system: Mapping[str, Any], target: str) -> None:
    import mindspore as ms  # noqa: PLC0415  # after the environment is complete

    ms.set_context(mode=ms.GRAPH_MODE if system["mode"] == 0 else ms.PYNATIVE_MODE)
    if target == "CPU":
        ms.set_device("CPU")
        ms.set_context(jit_config={"jit_level": "O0"})
    ms.set_recursion_limit(CALL_DEPTH)
    ms.set_seed(system["seed"])
    gc.freeze()  # MindSpore collects garbage before each graph it compiles: its own modules would be searched each time
