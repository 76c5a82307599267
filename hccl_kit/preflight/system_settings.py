"""Settings of the system that slow jobs down or end them: of the kernel, of processors, and limits of processes."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

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
_MAX_TEXT = 1000


def system_settings(root: Path) -> dict[str, str]:
    """Name to value; what cannot be read is left out. Files are looked for below `root`."""
    return dict(sorted(_settings(root)))


def _settings(root: Path) -> Iterator[tuple[str, str]]:
    for name in _SYSCTLS:
        if (text := _first_line(root / "proc/sys" / name.replace(".", "/"))) is not None:
            yield name, text
    governors = {_first_line(path) for path in (root / "sys/devices/system/cpu").glob("cpu*/cpufreq/scaling_governor")}
    if names := sorted(filter(None, governors)):
        yield "cpu governor", " and ".join(names)
    pages = _first_line(root / "sys/kernel/mm/transparent_hugepage/enabled") or ""
    if chosen := pages.partition("[")[2].partition("]")[0]:
        yield "transparent huge pages", chosen
    yield "page size", str(os.sysconf("SC_PAGE_SIZE"))
    yield "processors", str(os.cpu_count())
    for name, limit in _LIMITS.items():
        most = resource.getrlimit(limit)[0]
        yield name, "unlimited" if most == resource.RLIM_INFINITY else str(most)


def _first_line(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return " ".join(file.readline(_MAX_TEXT).split())
    except OSError:
        return None
