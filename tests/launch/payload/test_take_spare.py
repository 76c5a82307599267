"""The program with which each server creates the table with the spares."""

import hashlib
import subprocess
import sys
from pathlib import Path

from hccl_kit.check.engine import check_text
from hccl_kit.launch.shell import program_text
from hccl_kit.table import formats
from hccl_kit.table.operations.generate import generate_cluster
from tests.launch.payload.test_substitute import entry_of, hosts


def take(folder: Path, *pairs: str, to: str = "", most: int = -1) -> "subprocess.CompletedProcess[str]":
    """Run the program with a file size limit of `most` bytes."""
    table = folder / "t.json"
    table.write_text(formats.write(generate_cluster(hosts(2, [0, 1]), version="1.0")), encoding="utf-8")
    command = [sys.executable, "-I", "-c", program_text("take_spare"), str(table), str(folder / to), *pairs]
    limit = f'ulimit -f {most} && trap "" XFSZ && exec "$@"' if most >= 0 else 'exec "$@"'
    return subprocess.run(["bash", "-c", limit, "bash", *command], check=False, capture_output=True, text=True)


def test_digest_and_path_of_the_new_table_are_printed(tmp_path: Path) -> None:
    first, second = (entry_of(host) for host in hosts(2, [0, 1], first=9))
    done = take(tmp_path, "10.0.0.2", first, "10.0.0.9", second)
    assert (done.returncode, done.stderr) == (0, "")
    digest, path = done.stdout.split()
    assert hashlib.sha256(Path(path).read_bytes()).hexdigest() == digest
    made = check_text(Path(path).read_bytes(), path)
    assert made.ok and made.table
    assert [server.id for server in made.table.servers] == ["10.0.0.1", "10.0.0.10"]


def test_a_spare_without_a_required_card_is_one_error_line(tmp_path: Path) -> None:
    done = take(tmp_path, "10.0.0.2", entry_of(hosts(1, [0], first=9)[0]))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: spare 10.0.0.9 has no card 1, which server 10.0.0.2 uses\n"


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    done = take(tmp_path, "10.0.0.2", entry_of(hosts(1, [0, 1], first=9)[0]), to="gone")
    assert done.returncode == 2
    assert done.stderr == (
        f"error: cannot write the table with the spares in {tmp_path}/gone: No such file or directory\n"
    )


def test_a_full_disk_leaves_no_partial_table(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    done = take(tmp_path, "10.0.0.2", entry_of(hosts(1, [0, 1], first=9)[0]), to="logs", most=0)
    assert done.returncode == 2
    assert done.stderr == f"error: cannot write the table with the spares in {tmp_path}/logs: File too large\n"
    assert list((tmp_path / "logs").iterdir()) == []
