"""Time and memory to read a gigabyte of plogs, against `grep -c` over the same files.

python -m benchmarks.diagnose [--megabytes 1024]

The logs are made in a temporary folder: 16 processes on two servers, run and debug. Most lines are what HCCL prints at
level INFO with the entry log on, and errors that repeat themselves; each process ends with a timeout. Both programs
read the same files in turn, after one that fills the page cache. Memory is the sum of all processes of the reader, the
most that was seen in samples of 50 ms; pages they share count for each.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.row import Row

RANKS = 16
ROUNDS = 3
PIECE = 1 << 20
READ = (
    "import sys; from pathlib import Path; from hccl_kit.diagnosis.logs.reading import read\n"
    "if __name__ == '__main__':\n"
    "    found = read([Path(sys.argv[1])]); print(len(found.files), len(found.events))\n"
)
GROUP = "10.0.0.1%eth0_60000_0_1763610996711234"


def header(level: str, number: int, rank: int, place: str) -> str:
    """The start of a record; `number` is its time in milliseconds."""
    when = f"{number // 60000 % 60:02}:{number // 1000 % 60:02}.{number % 1000:03}.{number * 7 % 1000:03}"
    return f"[{level}] HCCL({4000 + rank},python3):2025-11-20-03:{when} [{place}] [{4000 + rank}]"


def info(number: int, rank: int) -> str:
    """A line of the run log, as most are."""
    if number % 10 == 0:
        return (
            f"{header('INFO', number, rank, 'op_base.cc:2011')}Entry-HcclAllReduce: tag[AllReduce_{GROUP}], "
            f"sendBuf[0x12c0c0013000], recvBuf[0x12c0c0013000], count[{number % 4096}], dataType[float32], op[sum], "
            f"localRank[{rank}], streamId[2]\n"
        )
    return (
        f"{header('INFO', number, rank, f'hccl_communicator.cc:{number % 4000}')}[HCCL_TRACE][ExecOp]"
        f"tag[AllReduce_{GROUP}], algName[AllReduceRingExecutor], ringNum[{number % 8}], input[0x{number * 4096:x}], "
        f"stream[{number % 64}] done\n"
    )


def error(number: int, rank: int) -> str:
    """A line of the debug log: the echo of an error in the functions above it."""
    place = f"hccl_communicator.cc:{number % 4000}"
    return f"{header('ERROR', number, rank, place)}[LoadTask]call trace: hcclRet -> 9\n"


def beginning(rank: int) -> str:
    """The record that a process logs when it joins the job."""
    return (
        f"{header('INFO', 0, rank, 'topoinfo_detect.cc:208')}[HCCL_TRACE]SetupAgent rankNum[{RANKS}], rank[{rank}], "
        f"rootInfo identifier[{GROUP}], server[10.0.0.{rank // 8 + 1}%eth0], logicDevId[{rank % 8}], "
        f"phydevId[{rank % 8}], deviceIp[0.0.0.0]\n"
    )


def ending(rank: int) -> str:
    """The records of a process that timed out waiting for the next rank."""
    head = f"{header('ERROR', 3_599_000, rank, 'task_exception_handler.cc:9')}[TaskExecStage][Timeout]Task run failed, "
    return (
        f"{head}base information is streamID:[3], taskID[7], tag[AllReduce_{GROUP}].\n"
        f"{head}para information is notify id:[0x48], stage:[0], remote rank:[{(rank + 1) % RANKS}].\n"
    )


def make(folder: Path, size: int) -> None:
    """Logs of `size` bytes in all, three quarters of them of level INFO."""
    for rank in range(RANKS):
        for part, line, share in (("run", info, 0.75), ("debug", error, 0.25)):
            path = folder / f"worker-{rank // 8}" / part / "plog" / f"plog-{4000 + rank}_20251120030000000.log"
            path.parent.mkdir(parents=True, exist_ok=True)
            sample = "".join(line(number, rank) for number in random.Random(rank).choices(range(10**7), k=20_000))
            with path.open("w") as file:
                file.write(beginning(rank) if part == "run" else "")
                while file.tell() < size * share / RANKS:
                    file.write(sample)
                file.write(ending(rank) if part == "debug" else "")


def timed(argv: tuple[str, ...]) -> tuple[float, int]:
    """Seconds of a command, and the bytes of memory of it and its children at their peak."""
    started, peak = time.perf_counter(), 0
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        peak = max(peak, memory(process.pid))
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"{argv[0]} ended with {process.returncode}")
    return time.perf_counter() - started, peak


def memory(pid: int) -> int:
    """Resident bytes of a process and of what it has started."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # it has ended
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(memory(int(child)) for child in children)


class Measured(NamedTuple):
    """Bytes and number of the files, seconds of `grep -c` and of the reader, and the reader's bytes of memory."""

    size: int
    files: int
    plain: float
    own: float
    peak: int


def measured(size: int) -> Measured:
    """Both programs in turn on logs of `size` bytes."""
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), size)
        files = list(Path(folder).rglob("*.log"))
        real = sum(path.stat().st_size for path in files)
        program = Path(folder, "program.py")
        program.write_text(READ)
        grep = ("grep", "-c", "ERROR", *map(str, files))
        ours = (sys.executable, str(program), folder)
        timed(grep)
        pairs = [(timed(grep), timed(ours)) for _ in range(ROUNDS)]
        plain, own = (statistics.median(row[side][0] for row in pairs) for side in (0, 1))
        return Measured(real, len(files), plain, own, max(row[1][1] for row in pairs))


def rows(*, full: bool) -> Iterator[Row]:
    """For `python -m benchmarks`."""
    found = measured((1024 if full else 128) << 20)
    ours, plain = (found.size / seconds / 1e6 for seconds in (found.own, found.plain))
    yield Row(f"`hccl-kit diagnose` reading {found.size / 1e6:.0f} MB of plogs", "`grep -c`", "MB/s", ours, plain)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1024)
    found = measured(parser.parse_args().megabytes << 20)
    real, plain, own = found.size, found.plain, found.own
    print(f"{real / 1e6:.0f} MB in {found.files} files, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"reader   {own:6.1f} s {real / own / 1e6:6.0f} MB/s {found.peak / 1e6:5.0f} MB of memory")
    print(f"grep -c  {plain:6.1f} s {real / plain / 1e6:6.0f} MB/s, ratio {own / plain:.1f}")


if __name__ == "__main__":
    main()
