"""The variables that decide how a job runs, and the settings of the system: kernel, processors, limits, mounts."""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Iterator, Mapping
from pathlib import Path

from hccl_kit.base.secret_texts import HIDDEN

_NAMES = re.compile(
    r"(HCCL|HCOMM|ASCEND|MS|GLOG|OMPI|PMIX|PRTE|SLURM|ONEDNN|OMP|MASTER|RANK|WORLD|LOCAL|DEVICE|VC|XDL|MA)_\w+"
    r"|TORCH_(HCCL|NCCL|FR)_\w+|MINDSPORE_HCCL_CONFIG_PATH|CUDA_VISIBLE_DEVICES|NO_COLOR|FORCE_COLOR|TERM|LANG|LC_ALL|VIRTUAL_ENV"
)
_SECRET = re.compile(r"SECRET|TOKEN|PASS|KEY|CREDENTIAL|AUTH|COOKIE|SESSION|USER|ACCOUNT|EMAIL", re.IGNORECASE)
_MAX_NAME = 100
MAX_VALUE = 3200
"""Characters of a value that are read."""


def job_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of launchers, HCCL and CANN by name; what may be a secret is hidden."""
    return {
        name: HIDDEN if _SECRET.search(name) and environ[name] else environ[name][:MAX_VALUE]
        for name in sorted(environ)
        if len(name) <= _MAX_NAME and _NAMES.fullmatch(name)
    }


_SYSCTLS = (
    "fs.file-max",
    "kernel.numa_balancing",
    "kernel.pid_max",
    "kernel.shmmax",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.conf.all.arp_announce",
    "net.ipv4.conf.all.arp_ignore",
    "net.ipv4.conf.all.rp_filter",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_retries2",
    "net.ipv4.tcp_syn_retries",
    "vm.max_map_count",
    "vm.nr_hugepages",
    "vm.overcommit_memory",
    "vm.swappiness",
)
_LIMITS = {
    "limit of open files": resource.RLIMIT_NOFILE,
    "limit of locked memory": resource.RLIMIT_MEMLOCK,
    "limit of processes": resource.RLIMIT_NPROC,
}
GOVERNOR, HUGE_PAGES = "cpu governor", "transparent huge pages"
_PAGE_SIZE, _PROCESSORS = "page size", "processors"
NAMES = (*_SYSCTLS, GOVERNOR, HUGE_PAGES, _PAGE_SIZE, _PROCESSORS, *_LIMITS)
"""The names of settings without the mounts."""
_FILE_SYSTEMS = re.compile(
    r"ext4|xfs|btrfs|nfs4?|cifs|lustre|gpfs|ceph|beegfs|glusterfs|9p|virtiofs|fuse\.(?!lxcfs|portal|snapfuse)\S+"
)
_OF_SYSTEM = re.compile(r"/(?:boot|dev|etc|proc|run|snap|sys|var)(?:/|$)|/$")
_MAX_MOUNTS, _MAX_FOLDER = 64, 100
_MAX_TEXT = 1000


def mount(folder: str) -> str:
    """The name of the setting that has the kind of file system at a folder."""
    return f"mount {folder}"


def system_settings(root: Path) -> dict[str, str]:
    """Name to value; what cannot be read is left out. Files are looked for below `root`."""
    return dict(sorted(_settings(root)))


def _settings(root: Path) -> Iterator[tuple[str, str]]:
    for name in _SYSCTLS:
        if (text := _first_line(root / "proc/sys" / name.replace(".", "/"))) is not None:
            yield name, text
    governors = {_first_line(path) for path in (root / "sys/devices/system/cpu").glob("cpu*/cpufreq/scaling_governor")}
    if names := sorted(filter(None, governors)):
        yield GOVERNOR, " and ".join(names)
    pages = _first_line(root / "sys/kernel/mm/transparent_hugepage/enabled") or ""
    if chosen := pages.partition("[")[2].partition("]")[0]:
        yield HUGE_PAGES, chosen
    yield _PAGE_SIZE, str(os.sysconf("SC_PAGE_SIZE"))
    yield _PROCESSORS, str(os.cpu_count())
    for name, limit in _LIMITS.items():
        most = resource.getrlimit(limit)[0]
        yield name, "unlimited" if most == resource.RLIM_INFINITY else str(most)
    yield from list(_mounts(root / "proc/self/mounts"))[:_MAX_MOUNTS]


def _mounts(path: Path) -> Iterator[tuple[str, str]]:
    """The file systems for data: of disks and of the network, without those below folders of the system."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for _, folder, kind, *_ in filter(lambda words: len(words) > 2, map(str.split, lines)):
        if _FILE_SYSTEMS.fullmatch(kind) and not _OF_SYSTEM.match(folder) and len(folder) <= _MAX_FOLDER:
            yield mount(folder.replace("\\040", " ")), kind


def _first_line(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return " ".join(file.readline(_MAX_TEXT).split())
    except OSError:
        return None
