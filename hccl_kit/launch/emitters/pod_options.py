"""The volumes that users add to the pods of a job."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.launch.emitters.manifest import Value
from hccl_kit.launch.emitters.options import SUBDOMAIN
from hccl_kit.table.document import shown

LOG_FOLDER = "/hccl-logs"
"""Where the volume for the logs is in a pod."""
_CLAIM = re.compile(rf"(?=.{{1,253}}\Z){SUBDOMAIN}", re.ASCII)


class Volume(NamedTuple):
    """A volume of a pod, and its mount."""

    volume: Value
    mount: Value


def mounted(volume: Value, path: str) -> Volume:
    """The volume at a path."""
    return Volume(volume, {"name": volume["name"], "mountPath": path})


def volumes(text: str | None, reserved: tuple[str, ...]) -> tuple[Volume, ...]:
    """The volumes of `SOURCE:PATH[:ro],...`, where SOURCE is a claim or a folder of the host.

    Raises KitError, also if two have one path, or one of those that are `reserved`.
    """
    parsed: list[Volume] = []
    taken = [*reserved]
    for number, part in enumerate(text.split(",") if text is not None else ()):
        source, _, rest = part.partition(":")
        path, _, mode = rest.partition(":")
        if not _is_path(path) or mode not in ("", "ro"):
            raise KitError(
                "launch.pod-options.volume",
                "--volumes has {part}; accepted: SOURCE:PATH or SOURCE:PATH:ro, where PATH is absolute",
                fix="--volumes my-claim:/data,/models:/models:ro",
                part=shown(part),
            )
        if path in taken:
            raise KitError(
                "launch.pod-options.path-taken",
                "--volumes has {path}, where the pod has another volume",
                fix="another path for one of them",
                path=shown(path),
            )
        taken.append(path)
        volume = mounted({"name": f"volume-{number}", **_source("--volumes", source, "Directory")}, path)
        parsed.append(volume._replace(mount={**volume.mount, "readOnly": True}) if mode else volume)
    return tuple(parsed)


def log_volume(source: str | None) -> Volume | None:
    """The volume for the logs: a claim, or a folder of the host, which is made if it is missing. Raises KitError."""
    if source is None:
        return None
    return mounted({"name": "hccl-logs", **_source("--log-volume", source, "DirectoryOrCreate")}, LOG_FOLDER)


def _source(option: str, text: str, kind: str) -> Value:
    """The volume source of a claim or of a folder of the host; `kind` is the type of a hostPath."""
    if _is_path(text):
        return {"hostPath": {"path": text, "type": kind}}
    if not _CLAIM.fullmatch(text):
        raise KitError(
            "launch.pod-options.source",
            "{option} has {text}; accepted: the name of a PersistentVolumeClaim, or the absolute path of a folder of"
            " the host",
            option=option,
            text=shown(text),
        )
    return {"persistentVolumeClaim": {"claimName": text}}


def _is_path(text: str) -> bool:
    """Whether this is the absolute path of a folder other than the root, in its shortest form."""
    path = PurePosixPath(text)
    return path.is_absolute() and str(path) == text and text.isprintable() and ".." not in path.parts and text != "/"
