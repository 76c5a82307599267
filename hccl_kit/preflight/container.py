"""What a container needs of its host for the cards of a server: device files, folders of the driver, variables.

Sources: the installation guides of the frameworks for Ascend, and threads about containers that lacked one of these.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hccl_kit.preflight.node import ATLAS_950
from hccl_kit.preflight.probes.cards import CONTROLS
from hccl_kit.preflight.rules.limits import SHM_PER_CARD

DRIVER = "/usr/local/Ascend/driver"
NAME_OF_SHM = "/dev/shm"  # noqa: S108 - the name of a mount, nothing is written there


class Needs(NamedTuple):
    """What a container needs, each with the reason.

    `devices` and `mounts` are paths, the same on the host and in the container; `shm` is in bytes.
    """

    devices: Mapping[str, str]
    mounts: Mapping[str, str]
    variables: Mapping[str, tuple[str, str]]
    shm: int

    @property
    def is_nothing(self) -> bool:
        """Nothing is needed, or nothing is missing."""
        return not (self.devices or self.mounts or self.variables or self.shm)


def needs(cards: Sequence[int], version: str) -> Needs:
    """What the ranks on `cards`, physical ids of one server, need; `version` is that of the table."""
    devices = {f"/dev/davinci{card}": f"card {card} of the table" for card in sorted(cards)}
    devices |= {f"/dev/{name}": "every program on an NPU opens it" for name in CONTROLS}
    mounts = {
        DRIVER: "libraries, hccn_tool and version of the driver"
        + (", and the topology that HCCL of Atlas 950 reads" if version == ATLAS_950 else ""),
        "/usr/local/dcmi": "npu-smi needs its library",
        "/usr/local/bin/npu-smi": "health and processes of the cards",
        "/etc/ascend_install.info": "where the driver is installed",
    }
    if version != ATLAS_950:
        mounts["/etc/hccn.conf"] = "the addresses of the cards"
    variables = {
        "LD_LIBRARY_PATH": (
            f"{DRIVER}/lib64/common:{DRIVER}/lib64/driver:$LD_LIBRARY_PATH",
            "the libraries of the driver",
        )
    }
    return Needs(devices, mounts, variables, SHM_PER_CARD * max(1, len(cards)))


def lacking(needed: Needs, root: Path, environ: Mapping[str, str]) -> Needs:
    """Those of the needs that this system does not have below `root`."""

    def lacks(path: str) -> bool:
        return not os.path.lexists(root / path[1:])

    has_libraries = any(DRIVER in part for part in environ.get("LD_LIBRARY_PATH", "").split(":"))
    return Needs(
        {path: why for path, why in needed.devices.items() if lacks(path)},
        {
            path: why
            for path, why in needed.mounts.items()
            if lacks(path) or (path == DRIVER and _in_part(root, needed))
        },
        {} if has_libraries else needed.variables,
        needed.shm if _shm(root) < needed.shm else 0,
    )


def as_docker(lacked: Needs) -> str:
    """The options of docker run, one a line with its reason; podman has the same."""
    return "\n".join(_docker(lacked))


def _docker(lacked: Needs) -> Iterator[str]:
    options = [(f"--device={path}", why) for path, why in lacked.devices.items()]
    options += [(f"-v {path}:{path}:ro", why) for path, why in lacked.mounts.items()]
    if lacked.shm:
        options.append((f"--shm-size={_gib(lacked.shm)}g", "data loaders pass batches through /dev/shm"))
    width = max((len(option) for option, _ in options), default=0)
    yield from (f"{option.ljust(width)}  # {why}" for option, why in options)
    for name, (value, why) in lacked.variables.items():
        yield f"# {why}; in the container:"
        yield f"export {name}={value}"


def as_pod(lacked: Needs) -> Mapping[str, Any]:
    """A fragment of a pod: what to add to its spec. Device files come from the device plugin of the cluster."""
    mounts = [{"name": _volume(path), "mountPath": path, "readOnly": True} for path in lacked.mounts]
    volumes: list[dict[str, Any]] = [{"name": _volume(path), "hostPath": {"path": path}} for path in lacked.mounts]
    if lacked.shm:
        mounts.append({"name": "shm", "mountPath": NAME_OF_SHM})
        volumes.append({"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{_gib(lacked.shm)}Gi"}})
    cards = sum(path.removeprefix("/dev/davinci").isdecimal() for path in lacked.devices)
    container: dict[str, Any] = {"name": "worker"}
    if cards:
        container["resources"] = {"limits": {"huawei.com/Ascend910": cards}}
    if mounts:
        container["volumeMounts"] = mounts
    if lacked.variables:
        value = next(iter(lacked.variables.values()))[0].removesuffix(":$LD_LIBRARY_PATH")
        container["env"] = [{"name": next(iter(lacked.variables)), "value": value}]
    return {"spec": {"containers": [container], **({"volumes": volumes} if volumes else {})}}


def as_json(lacked: Needs, server: str) -> str:
    """What is missing, for programs."""
    return json.dumps(
        {
            "version": 1,
            "server": server,
            "devices": list(lacked.devices),
            "mounts": list(lacked.mounts),
            "variables": {name: value for name, (value, _) in lacked.variables.items()},
            "shm_bytes": lacked.shm,
        },
        indent=4,
    )


def _in_part(root: Path, needed: Needs) -> bool:
    """Whether the driver's folder was mounted without what HCCL reads in it."""
    wants_topology = "topology" in needed.mounts[DRIVER]
    folder = root / DRIVER[1:]
    return not (folder / "lib64").is_dir() or (wants_topology and not (folder / "topo").is_dir())


def _shm(root: Path) -> int:
    try:
        return shutil.disk_usage(root / "dev" / "shm").total
    except OSError:
        return 0


def _gib(size: int) -> int:
    return max(1, -(-size >> 30))


def _volume(path: str) -> str:
    """A name that Kubernetes accepts."""
    return path.strip("/").lower().replace("/", "-").replace(".", "-").replace("_", "-")
