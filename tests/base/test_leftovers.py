"""What killed processes leave is removed, and nothing else."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hccl_kit.base import temporary
from hccl_kit.base.leftovers import sweep

KILLED = """
import os, sys
from pathlib import Path
from hccl_kit.base.atomic_file import write_atomically
os.fsync = lambda _: os.kill(os.getpid(), 9)
write_atomically(Path(sys.argv[1]), "half")
"""


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """The file of a process that was killed while it wrote `curves.png`."""
    subprocess.run([sys.executable, "-c", KILLED, tmp_path / "curves.png"], check=False)
    (found,) = tmp_path.iterdir()
    return found


def test_what_a_killed_process_has_left_is_removed(left: Path) -> None:
    (folder := left.with_name(left.name.replace("curves", "folder"))).mkdir()
    (folder / "inside").write_text("")
    sweep(left.parent)
    assert list(left.parent.iterdir()) == []
    sweep(left.parent / "no")


def test_files_of_running_processes_of_other_hosts_and_of_users_stay(left: Path) -> None:
    folder = left.parent
    _, _, _, host, pid, number, _ = left.name.split(".")
    stay = [
        temporary.beside(folder / "w.png", "0.tmp").name,  # of this process
        left.name.replace(host, "0123abcd"),
        f".curves.png.{host}.{pid}.{number}.txt",
        f"curves.png.{host}.{pid}.{number}.tmp",
        ".mine.tmp",
    ]
    left.unlink()
    for name in stay:
        (folder / name).write_text("")
    sweep(folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted(stay)


def test_of_another_host_they_are_removed_after_a_day(left: Path) -> None:
    host = left.name.split(".")[3]
    other = left.rename(left.with_name(left.name.replace(host, "0123abcd")))
    (link := left.with_name(left.name.replace(host, "0123abce"))).symlink_to(left.parent)
    day = time.time() - 2 * temporary.OLD
    os.utime(other, (day, day))
    os.utime(link, (day, day), follow_symlinks=False)
    sweep(left.parent)
    assert list(left.parent.iterdir()) == []
