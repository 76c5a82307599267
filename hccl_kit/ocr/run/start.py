"""What happens between the command line and the first tensor: launcher, device, MindSpore's settings, the group."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.adapt import instruction_set
from hccl_kit.ocr.config import Config
from hccl_kit.runtime import Launch, World, join, prepare
from hccl_kit.runtime.worker_env import WorkerEnv

OF_PRODUCTS = ("rec_vgg7", "rec_resnet34", "rec_conv_lines", "SVTRNet")
"""Backbones that train faster with their convolutions as products of matrices (measured): all of these can be, and
they have many channels. rec_conv_small has few; MobileNetV3 has grouped convolutions, a detector transposed ones."""
CALL_DEPTH = 20_000
"""Calls within calls that a graph may have: the update of some hundred parameters has more than MindSpore's 1,000."""
LOG_ERRORS = "3"
"""MindSpore's warnings are about its own deprecations and graphs; GLOG_v=2 shows them."""


def start(config: Config, launch: Launch, *, say: Callable[[str], None], training: bool = False) -> World:
    """Join the group that `launch` describes, on the device of the configuration.

    `training`: `hccl_kit.ocr.train.build.network_to_train` makes the network, in a way that may use all instructions.
    KitError where more than one rank was started with `system.distribute: False`, or where the group does not form.
    """
    if launch.env.size > 1 and not config["system"]["distribute"]:
        raise KitError(
            f"{launch.env.size} ranks were started ({launch.reason}), but system.distribute is False: "
            "each would train a network of its own",
            hint="set system.distribute: True, or start one process",
        )
    target = _device_target(config["system"]["device_target"])
    if target == "CPU":
        word = instruction_set.choose(os.environ, products=training and _may_unfold(config))
        if word is not None:
            say(word)
    os.environ.setdefault("GLOG_v", LOG_ERRORS)
    env = prepare(launch, config.digest, os.environ)
    if target == "CPU":
        _share_cores(env, launch.launcher, say)
    _set_context(config, target)
    world = join(launch, env, target)
    say(f"launcher {launch.launcher} ({launch.reason}): rank {world.rank} of {world.size} on {target}")
    return world


def _device_target(wanted: str) -> str:
    """Ascend where the driver shows cards (/dev/davinci0 and so on)."""
    cards = [path for path in Path("/dev").glob("davinci*") if path.name.removeprefix("davinci").isdecimal()]
    if wanted == "Ascend" and not cards:
        raise KitError("system.device_target is Ascend, but there is no /dev/davinci*", hint="set it to auto or CPU")
    if wanted == "auto":
        return "Ascend" if cards else "CPU"
    return wanted


def _may_unfold(config: Config) -> bool:
    """Outside of a graph (mode 1) the gradients that nobody uses would be computed too, by the slow code."""
    return config["model"]["backbone"]["name"] in OF_PRODUCTS and config["system"]["mode"] == 0


def _share_cores(env: WorkerEnv, launcher: str, say: Callable[[str], None]) -> None:
    """Give each rank of this host its own cores: the thread pools of two share badly (measured: half speed).

    mpirun and srun may have bound their ranks already; then it is left as it is.
    """
    cores = sorted(os.sched_getaffinity(0))
    bound = launcher in ("mpirun", "srun") and len(cores) < (os.cpu_count() or 1)
    if env.local_size == 1 or env.local_size > len(cores) or bound:
        return
    first, end = (len(cores) * part // env.local_size for part in (env.local_rank, env.local_rank + 1))
    os.sched_setaffinity(0, cores[first:end])
    numbers = ",".join(map(str, cores[first:end]))
    say(f"this rank uses {end - first} of {len(cores)} cores, number {numbers}")


def _set_context(config: Config, target: str) -> None:
    import mindspore as ms  # noqa: PLC0415  # after the environment is complete

    system = config["system"]
    ms.set_context(mode=ms.GRAPH_MODE if system["mode"] == 0 else ms.PYNATIVE_MODE)
    if target == "CPU":
        ms.set_device("CPU")
        ms.set_context(jit_config={"jit_level": "O0"})
    ms.set_recursion_limit(CALL_DEPTH)
    ms.set_seed(system["seed"])
