"""Jobs with different numbers never share a port, whatever the ephemeral ranges of their hosts are."""

from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.base.network import derived_port
from hccl_kit.launch.job_ports import (
    DEFAULT_BASE,
    DEFAULT_CARD,
    HIGHEST,
    LOWEST,
    MAX_JOBS,
    JobPorts,
    Kernel,
    Ports,
    job_ports,
)
from hccl_kit.table.products import PRODUCT_NAMES, find_product

ranges = st.tuples(st.integers(1, HIGHEST), st.integers(1, HIGHEST)).map(lambda pair: (min(pair), max(pair)))
kernels = st.builds(Kernel, ranges, st.lists(ranges, max_size=4).map(tuple))
COMMON = st.sampled_from([(32768, 60999), (1024, 65535), (10000, 65000), (32768, 65535), (15000, 61000), (1, 65535)])
common = st.builds(Kernel, COMMON, st.sampled_from([(), ((60000, 60031),), ((57344, 65535),), ((64512, 65535),)]))


def numbers(ports: JobPorts) -> set[int]:
    parts = (ports.host, ports.card, Ports(ports.master, ports.master + 1))
    found = [number for part in parts for number in range(part.first, part.last + 1)]
    assert len(set(found)) == len(found)  # the parts of a job do not share ports
    return set(found)


def is_given_away(port: int, kernel: Kernel) -> bool:
    """Independent of the implementation in the module."""
    low, high = kernel.ephemeral
    return low <= port <= high and not any(start <= port <= end for start, end in kernel.reserved)


@given(
    st.integers(1, MAX_JOBS), st.data(), st.lists(kernels | common, max_size=3), st.lists(kernels | common, max_size=3)
)
def test_jobs_share_no_port_with_each_other_or_with_clients(
    jobs: int, data: st.DataObject, known: list[Kernel], others: list[Kernel]
) -> None:
    """Each of two jobs knows different servers; they could only conflict on a common one."""
    one, other = (data.draw(st.integers(0, jobs - 1)) for _ in range(2))
    try:
        first = job_ports(one, jobs, known)
    except KitError as error:
        assert "ip_local_reserved_ports" in (error.hint or "")
        return
    own = numbers(first)
    assert LOWEST <= min(own) <= max(own) <= HIGHEST
    assert first.host.first <= 65520  # HCCL accepts no higher HCCL_IF_BASE_PORT
    assert not any(is_given_away(port, kernel) for port in own for kernel in known or [Kernel()])
    assume(one != other)
    try:
        assert not own & numbers(job_ports(other, jobs, others))
    except KitError:
        return


@given(st.integers(1, MAX_JOBS), st.data())
def test_every_job_has_ports_with_the_defaults_of_linux(jobs: int, data: st.DataObject) -> None:
    job_ports(data.draw(st.integers(0, jobs - 1)), jobs)


@given(st.integers(1, MAX_JOBS), st.data(), kernels | common)
def test_the_hint_of_the_error_solves_the_problem(jobs: int, data: st.DataObject, kernel: Kernel) -> None:
    job = data.draw(st.integers(0, jobs - 1))
    try:
        job_ports(job, jobs, [kernel])
    except KitError as error:
        low, high = (error.hint or "").partition("ports=")[2].split(" ")[0].split("-")
        job_ports(job, jobs, [kernel._replace(reserved=(*kernel.reserved, (int(low), int(high))))])


@pytest.mark.parametrize(
    "kernel", [Kernel((61000, 65535)), Kernel((32000, 65535)), Kernel((17000, 65535), ((20000, 32000),))]
)
def test_planned_ports_avoid_the_default_and_derived_ports(kernel: Kernel) -> None:
    taken = {DEFAULT_CARD, *range(DEFAULT_BASE, DEFAULT_BASE + 32), *map(derived_port, range(12000))}
    for jobs in range(1, MAX_JOBS + 1):
        for job in range(jobs):
            assert not numbers(job_ports(job, jobs, [kernel])) & taken


def test_there_is_a_port_for_every_card_of_a_server() -> None:
    host = job_ports(0).host
    assert all(host.first + find_product(name).max_device_id <= host.last for name in PRODUCT_NAMES)


@pytest.mark.parametrize(
    ("job", "jobs", "hint"),
    [(8, 8, "--jobs-per-host 9, the same for every job"), (-1, 8, None), (0, 0, None), (0, 65, None), (99, 8, None)],
)
def test_an_invalid_job_number_is_refused(job: int, jobs: int, hint: str | None) -> None:
    with pytest.raises(KitError) as caught:
        job_ports(job, jobs)
    assert caught.value.hint == hint


def test_given_away_returns_the_first_run_of_ephemeral_ports() -> None:
    """All cases of four ports with two reserved ranges."""
    few = [(low, high) for low in range(1, 5) for high in range(low, 5)]
    for ports, ephemeral, *reserved in product(few, repeat=4):
        kernel = Kernel(ephemeral, tuple(reserved))
        first = kernel.given_away(ports)
        away = [port for port in range(ports[0], ports[1] + 1) if is_given_away(port, kernel)]
        run = [] if first is None else list(range(first[0], first[1] + 1))
        assert away[: len(run)] == run
        assert bool(away) == bool(run)
