"""The ports of the jobs of a host: a block for each, which no other job and no outgoing connection uses.

The ports from 65535 down are cut into blocks. Block i belongs to job i modulo the number of jobs on a host, and a job
takes its highest block that is free of ephemeral ports. So blocks never overlap, whatever each job knows of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.network import derived_port

LOWEST, HIGHEST = 1024, 65535
BLOCK = 128
HOST_PORTS = 96
"""HCCL_IF_BASE_PORT and the ports after it: one for each card by its number. HCCL documents 32; an A5 has card 64."""
CARD_PORTS = 16
"""The ports on each card, one for each process that uses it."""
EPHEMERAL = (32768, 60999)
"""The ports that Linux gives to outgoing connections, unless net.ipv4.ip_local_port_range says otherwise."""
DEFAULT_BASE = 60000
DEFAULT_HOST_PORTS = 32
DEFAULT_CARD = 16666
_OTHER_PORTS = (
    (DEFAULT_BASE, DEFAULT_BASE + HOST_PORTS - 1),  # jobs without a plan
    (DEFAULT_CARD, DEFAULT_CARD),
    (derived_port(0), derived_port(-1)),  # of our scripts and the agent; Mooncake counts from 20000
)
MAX_JOBS = 64
JOBS = 8


class Ports(NamedTuple):
    """The ports `first` to `last`; as text, what HCCL reads."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"

    def meets(self, other: tuple[int, int]) -> bool:
        """Whether the two ranges have a port in common."""
        return self.first <= other[1] and other[0] <= self.last


class Kernel(NamedTuple):
    """The ports that the kernel of a host assigns to outgoing connections: `ephemeral` without `reserved`."""

    ephemeral: tuple[int, int] = EPHEMERAL
    reserved: tuple[tuple[int, int], ...] = ()

    def given_away(self, ports: tuple[int, int]) -> tuple[int, int] | None:
        """The first run of `ports` that an outgoing connection may get; None if there is none."""
        low, high = max(ports[0], self.ephemeral[0]), min(ports[1], self.ephemeral[1])
        for start, end in sorted(self.reserved):
            if start <= low <= end:
                low = end + 1
            elif low < start <= high:
                high = start - 1
        return (low, high) if low <= high else None


class JobPorts(NamedTuple):
    """The block of a job: its first port, and what the others are for."""

    first: int

    @property
    def block(self) -> Ports:
        """All ports of the block."""
        return Ports(self.first, self.first + BLOCK - 1)

    @property
    def host(self) -> Ports:
        """Where HCCL listens on the host while ranks find each other."""
        return Ports(self.first, self.first + HOST_PORTS - 1)

    @property
    def card(self) -> Ports:
        """Where a process listens on its card."""
        return Ports(self.host.last + 1, self.host.last + CARD_PORTS)

    @property
    def master(self) -> int:
        """MASTER_PORT: where rank 0 listens. The port after it is that of pods that do not have rank 0."""
        return self.card.last + 1


def job_ports(job: int, jobs: int = JOBS, kernels: Iterable[Kernel] = ()) -> JobPorts:
    """The ports of job `job`, one of 0 to `jobs` - 1 on every host; without kernels, those of Linux by default.

    Raises KitError if there is no such job, or if the kernels leave it no block.
    """
    if not 1 <= jobs <= MAX_JOBS:
        raise KitError(
            "launch.job-ports.jobs-host-jobs",
            "{jobs} jobs on a host (--jobs-per-host); accepted: 1 to {max_jobs}",
            jobs=jobs,
            max_jobs=MAX_JOBS,
        )
    if not 0 <= job < jobs:
        raise KitError(
            "launch.job-ports.job-host",
            "job {job} of {jobs} on a host; accepted: 0 to {jobs_2}",
            hint=Message("launch.job-ports.job-host.fix", "--jobs-per-host {job}, the same for every job", job=job + 1)
            if jobs <= job < MAX_JOBS
            else None,
            job=job,
            jobs=jobs,
            jobs_2=jobs - 1,
        )
    known = [*kernels] or [Kernel()]
    for block in _blocks(job, jobs):
        if all(kernel.given_away(block) is None for kernel in known):
            return JobPorts(block.first)
    needed = Ports(min(next(_blocks(number, jobs)).first for number in range(jobs)), HIGHEST)
    low, high = min(kernel.ephemeral[0] for kernel in known), max(kernel.ephemeral[1] for kernel in known)
    raise KitError(
        "launch.job-ports.job-no-ports",
        "job {job} has no ports: outgoing connections may get all of its blocks "
        "(net.ipv4.ip_local_port_range is {low} to {high})",
        fix="sysctl -w net.ipv4.ip_local_reserved_ports={needed} on every server (append to the "
        "ports that are already reserved)",
        job=job,
        low=low,
        high=high,
        needed=needed,
    )


def _blocks(job: int, jobs: int) -> Iterator[Ports]:
    """The blocks of a job from the highest down."""
    for first in range(HIGHEST + 1 - BLOCK * (job + 1), LOWEST - 1, -BLOCK * jobs):
        block = Ports(first, first + BLOCK - 1)
        if not any(block.meets(ports) for ports in _OTHER_PORTS):
            yield block
