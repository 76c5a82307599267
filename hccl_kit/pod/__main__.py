"""The program of a pod: `python3 -I agent.pyz JOB COMMAND ...`.

JOB is the file with the Settings; every rank of the pod runs COMMAND. Without it this is the entry point of a RayJob.

Exit code: that of the rank that failed first (128 + signal); 2 if the ranks could not start, 143 after SIGTERM.
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import hccl_kit
from hccl_kit.agent.assignment import MIB, Assignment, Default, Limits
from hccl_kit.agent.port import PortError
from hccl_kit.agent.run_folder import name_of_run, new_run
from hccl_kit.agent.supervise import supervise
from hccl_kit.pod import ray
from hccl_kit.pod.init import run_under_init
from hccl_kit.pod.interface import interface_of
from hccl_kit.pod.ranks import PodRanks, by_number, by_operator_of_mindspore, by_operator_of_torch, log
from hccl_kit.pod.settings import PodError, Settings, read
from hccl_kit.pod.table import by_table

SOURCES = {"number": by_number, "table": by_table, "mindspore": by_operator_of_mindspore, "torch": by_operator_of_torch}
MARK = "HCCL_KIT_POD_RUN"
"""The variable with the name of the log folder, by which the agent knows what its ranks have started."""
HOST_ADDRESS, GLOO = "HCCL_IF_IP", "GLOO_SOCKET_IFNAME"
"""Pods in the network of their host have the first; without the second, gloo takes the address of the host's name."""
GRACE = 10.0
"""Seconds between SIGTERM and SIGKILL; Kubernetes kills a pod 30 s after its own SIGTERM."""
LIMIT_OF_TEMPORARY = 16 * MIB
"""Bytes of a log in the folder of a pod, which is on the disk of its server, where others have their images."""
TABLE = "hccl.json"
CANNOT_START = 2


def main(words: Sequence[str]) -> int:
    """The program; returns its exit code. The entry point of a RayJob exits."""
    path, *command = words or ("",)
    try:
        settings = read(path)
        _assert_version(settings)
        if settings.source not in SOURCES:
            raise PodError(f"the ranks of {path} are from {settings.source!r}; accepted: {', '.join(SOURCES)}")
        if settings.command and not command:
            sys.exit(ray.main(settings, path))  # past os._exit below: Ray prints the last of its output at the exit
        return supervise(assigned(settings, SOURCES[settings.source](settings, os.environ), command)).code
    except PodError as error:
        log(f"error: {error}")
    except (OSError, PortError) as error:
        log(f"error: the ranks cannot start: {error}")
    return CANNOT_START


def assigned(settings: Settings, pod: PodRanks, command: Sequence[str]) -> Assignment:
    """What the agent is told. Raises OSError if the log folder cannot be made."""
    host = socket.gethostname()
    folder = _log_folder(settings, host)
    run = os.path.basename(folder)
    table = {} if pod.table is None else settings.variables(table=os.path.join(folder, TABLE))
    of_job = {} if pod.port is None else dict.fromkeys(settings.run_id, settings.job)
    (port_name,) = settings.names["master_port"]
    return Assignment(
        command=tuple(command),
        ranks=tuple(rank._replace(variables={**of_job, **table, **rank.variables}) for rank in pod.ranks),
        environ={MARK: run},
        mark=f"{MARK}={run}",
        folder=folder,
        host=host,
        log_dir_name=settings.log_dir,
        node=pod.node,
        inherit=True,
        unset=(*(name for names in settings.names.values() for name in names), *settings.unset),
        defaults=(*(Default(*row) for row in settings.defaults), *_gloo(os.environ)),
        threads_name=settings.threads,
        files={} if pod.table is None else {TABLE: pod.table},
        port_name="" if pod.port is None else port_name,
        port=pod.port,
        grace=GRACE,
        limits=Limits(prefix=True) if settings.logs else Limits(prefix=True, log_limit=LIMIT_OF_TEMPORARY),
        texts=settings.texts,
    )


def _log_folder(settings: Settings, host: str) -> str:
    """A new folder: in that of the job on a volume, or a temporary one, which is lost with the pod."""
    if not settings.logs:
        return tempfile.mkdtemp(prefix="hccl_logs_")
    job = Path(settings.logs, settings.job)
    job.mkdir(parents=True, exist_ok=True)
    return str(new_run(job, f"{name_of_run()}-{host}"))


def _gloo(environ: Mapping[str, str]) -> list[Default]:
    name = interface_of(environ.get(HOST_ADDRESS, ""))
    return [Default(GLOO, name)] if name else []


def _assert_version(settings: Settings) -> None:
    version = getattr(hccl_kit, "__version__", "")  # the one in a manifest has none
    if settings.kit_version and version != settings.kit_version:
        raise PodError(
            f"the hccl-kit of this image is {version}, the manifest was written by {settings.kit_version}"
            "\n  fix: write the manifest with the version of the image, or without --image-has-kit"
        )


if __name__ == "__main__":
    os._exit(run_under_init(lambda: main(sys.argv[1:])))  # not by a return: a thread may hang in a write
