"""System limits for the ranks of this server."""

import os
import resource
import subprocess
from pathlib import Path

import pytest

from hccl_kit.preflight.rules.limits import disk_full, too_little
from tests.preflight.machines import limited
from tests.preflight.nodes import messages, node, table_value, write_table


@pytest.mark.parametrize(
    ("which", "value", "expected"),
    [
        (resource.RLIMIT_NOFILE, 1000, "ulimit -n is 1000, and 4156 is recommended: a rank opens files"),
        (resource.RLIMIT_MEMLOCK, 65536, "ulimit -l is 64, and 65536 is recommended: RDMA between servers locks"),
        (resource.RLIMIT_NPROC, 1000, "ulimit -u is 1000, and 4096 is recommended: each of 8 ranks starts"),
    ],
)
def test_a_low_limit_is_reported_with_its_reason(which: int, value: int, expected: str) -> None:
    with limited(which, value):
        found = messages(too_little, node(made=table_value(2)))
    assert any(message.startswith(expected) for message in found), found


def test_locked_memory_is_checked_only_for_several_servers() -> None:
    with limited(resource.RLIMIT_MEMLOCK, 65536):
        assert not any("ulimit -l" in message for message in messages(too_little, node()))


def test_the_core_limit_is_checked_only_without_a_core_handler(tmp_path: Path) -> None:
    pattern = tmp_path / "proc" / "sys" / "kernel" / "core_pattern"
    pattern.parent.mkdir(parents=True)
    if resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY:
        pytest.skip("needs a hard limit of cores that is unlimited")
    with limited(resource.RLIMIT_CORE, resource.RLIM_INFINITY):
        for text, is_reported in (("core\n", True), ("|/lib/systemd/systemd-coredump %P\n", False)):
            pattern.write_text(text)
            found = messages(too_little, node(root=tmp_path))
            assert any("ulimit -c" in message for message in found) is is_reported


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount a small disk")
def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", small], check=False, capture_output=True, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"needs to mount: {mounted.stderr.strip()}")
    try:
        path = write_table(small)
        found = messages(disk_full, node(path=path, environ={"ASCEND_PROCESS_LOG_PATH": str(small / "not" / "yet")}))
        assert [message.partition(" MiB are free for logs in ")[1] for message in found] == [
            " MiB are free for logs in ",
            " MiB are free for logs in ",
        ]
    finally:
        subprocess.run(["umount", small], check=True)
