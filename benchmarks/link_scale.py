"""The links between the servers of a job: many nodes on one machine, with the real programs of the launch scripts.

    python -m benchmarks.link_scale [--quick] [--nodes N ...] [--link {rendezvous,ssh} ...]

rendezvous: node 0 is the program that launch scripts contain, the others are clients in a few processes that speak its
protocol (link_nodes.py). ssh: the program of --ssh, with a shell script in place of ssh that plays the server behind
it. Measured: seconds until all nodes have started and those of a processor that the process in the middle took for it;
seconds until all know that the job is over, if all are done, one fails, or one is lost; and of the process in the
middle, while nothing but heartbeats passes, the share of a core, memory, descriptors and threads.
"""

from __future__ import annotations

import argparse
import os
import platform
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

from benchmarks.link_nodes import DONE, FAIL, LOSE, SHA256
from hccl_kit.launch.shell import program_text

NODES = (10, 100, 1000)
PROCESSES = 4
"""Number of client processes."""
STEADY = 4.0
"""Seconds for which processor time is measured while nothing but heartbeats passes."""
LIMIT = 600.0
"""Seconds that a run waits for the nodes; a busy machine starts a thousand in minutes."""
SECRET = "0123456789abcdef" * 4
ENDS = (DONE, FAIL, LOSE)
SERVER = """#!/bin/sh
# Plays ssh and the launch script behind it. Logs are fetched with another command, which has none here.
case "$*" in *--lifeline*) ;; *) exit 0 ;; esac
for word; do [ "$word" != -- ] || break; shift; done
read -r token
echo "$token here 1-2 4711"
while read -r line; do
    case $line in
        start*) echo "$2" >>started ;;
        done) exit 0 ;;
        over*) exit 1 ;;
    esac
    [ ! -e order ] || case $line in "") read -r order name <order
        case $order in
            done) [ -n "$said" ] || echo "$token done"; said=1 ;;
            fail) [ "$2" != "$name" ] || echo "$token failed 5 1 0" ;;
            lose) [ "$2" != "$name" ] || exit 255 ;;
        esac ;;
    esac
done
"""


class Middle(NamedTuple):
    """The process in the middle while the job runs: its share of a processor, memory, descriptors and threads."""

    load: float
    mib: float
    descriptors: int
    threads: int


class Run(NamedTuple):
    """Seconds until all nodes had started, seconds of processor time that the middle used until then, and seconds until
    all nodes knew that the job was over.
    """

    started: float
    used: float
    ended: float
    middle: Middle


def processor_seconds(pid: int) -> float:
    """The processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def middle_of(pid: int) -> Middle:
    """Measure a process for STEADY seconds."""
    before, began = processor_seconds(pid), time.monotonic()
    time.sleep(STEADY)
    load = (processor_seconds(pid) - before) / (time.monotonic() - began)
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines())
    memory = int(status["VmHWM"].split()[0]) / 1024
    return Middle(load, memory, len(list(Path(f"/proc/{pid}/fd").iterdir())), int(status["Threads"]))


class Lines:
    """The lines that several processes print, counted by their first word."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.arrived: queue.Queue[str] = queue.Queue()

    def read(self, stream: IO[str]) -> None:
        """Read a stream in a thread."""

        def pump() -> None:
            for line in stream:
                self.arrived.put(line.strip())

        threading.Thread(target=pump, daemon=True).start()

    def wait(self, count: int, *kinds: str) -> None:
        """Wait for `count` lines of these kinds. Raises TimeoutError after LIMIT."""
        end = time.monotonic() + LIMIT
        while sum(self.seen[kind] for kind in kinds) < count:
            try:
                line = self.arrived.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise TimeoutError(f"{dict(self.seen)} after {LIMIT:.0f} s, waiting for {count} {kinds}") from None
            self.seen[line.partition(" ")[0]] += 1


def free_port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def started(
    command: Sequence[str | Path], folder: Path, environ: dict[str, str] | None = None
) -> subprocess.Popen[str]:
    """A program with pipes; a thousand nodes that wait would fill the screen, so their messages are not shown."""
    return subprocess.Popen(
        [*map(str, command)],
        cwd=folder,
        env={**os.environ, **(environ or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        bufsize=1,
        start_new_session=True,
    )


def say(process: subprocess.Popen[str], line: str) -> None:
    """Write a line to the standard input of a process."""
    assert process.stdin
    process.stdin.write(f"{line}\n")


def over_rendezvous(folder: Path, nodes: int, end: str) -> Run:
    """Node 0 as it is on a cluster, and clients for all others."""
    secret, port, lines = folder / "secret", free_port(), Lines()
    secret.touch(mode=0o600)
    secret.write_text(SECRET)
    parts = [range(nodes)[1:][start::PROCESSES] for start in range(PROCESSES)]
    bounds, first = [], 1
    for part in parts:
        bounds.append((first, len(part)))
        first += len(part)
    module = [sys.executable, "-m", "benchmarks.link_nodes"]
    clients = [
        started([*module, str(first), str(count), str(nodes), str(port), secret], Path.cwd())
        for first, count in bounds
        if count
    ]
    node_0 = [sys.executable, "-I", "-c", program_text("rendezvous"), "0", "127.0.0.1", str(port), "PORT", SHA256]
    servers = [f"server-{number}" for number in range(nodes)]
    processes = [*clients]
    try:
        for client in clients:
            assert client.stdout
            lines.read(client.stdout)
        lines.wait(len(clients), "ready")
        began = time.monotonic()
        for client in clients:
            say(client, "go")
        processes.append(center := started([*node_0, "600", "1-2", "4711", secret, *servers], folder))
        assert center.stdout
        lines.read(center.stdout)
        lines.wait(nodes, "start")
        all_started, used = time.monotonic() - began, processor_seconds(center.pid)
        middle = middle_of(center.pid)
        began = time.monotonic()
        for client in clients if end == DONE else clients[:1]:
            say(client, end)
        if end == DONE:
            say(center, DONE)
        lines.wait(nodes - (end == LOSE), "done" if end == DONE else "over")
        center.wait(LIMIT)
        return Run(all_started, used, time.monotonic() - began, middle)
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def over_ssh(folder: Path, nodes: int, end: str) -> Run:
    """The program of --ssh, and a shell script for each server."""
    fake = folder / "ssh"
    fake.write_text(SERVER)
    fake.chmod(0o755)
    names = [f"server-{number}" for number in range(nodes)]
    without_spares = ("job.sh", "table.json", "0", "", "", str(nodes), "0", "0")
    command = [sys.executable, "-I", "-c", program_text("ssh_start"), *without_spares, *names, *names]
    began = time.monotonic()
    environ = {"HCCL_KIT_SSH": str(fake), "HCCL_KIT_DIAGNOSE": "0", "PWD": str(folder)}
    center = started(command, folder, environ)
    assert center.stdout
    Lines().read(center.stdout)
    try:
        wait_for_lines(folder / "started", nodes, center)
        all_started, used = time.monotonic() - began, processor_seconds(center.pid)
        middle = middle_of(center.pid)
        began = time.monotonic()
        order = folder / "order.part"
        order.write_text(f"{end} {names[1]}\n")
        order.rename(folder / "order")
        center.wait(LIMIT)
        return Run(all_started, used, time.monotonic() - began, middle)
    finally:
        center.kill()
        center.communicate()


def wait_for_lines(path: Path, count: int, process: subprocess.Popen[str]) -> None:
    """Wait until a file has `count` lines. Raises TimeoutError."""
    end = time.monotonic() + LIMIT
    while (found := path.read_bytes().count(b"\n") if path.exists() else 0) < count:
        if time.monotonic() > end or process.poll() is not None:
            raise TimeoutError(f"{found} of {count} servers started, exit code {process.poll()}")
        time.sleep(0.02)


LINKS = {"rendezvous": over_rendezvous, "ssh": over_ssh}


def rows(links: Iterable[str], sizes: Iterable[int], ends: Iterable[str]) -> Iterable[str]:
    """A line of a markdown table for each run."""
    for link in links:
        for nodes in sizes:
            for end in ends:
                with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                    try:
                        run = LINKS[link](Path(folder), nodes, end)
                    except TimeoutError as error:
                        yield f"| {link} | {nodes} | {end} | {error} |"
                        continue
                found = run.middle
                yield (
                    f"| {link} | {nodes} | {end} | {run.started:.1f} | {run.used:.1f} | {run.ended:.1f}"
                    f" | {found.load:.0%} | {found.mib:.0f} MiB | {found.descriptors} | {found.threads} |"
                )


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20 nodes, and only jobs that end in order")
    parser.add_argument("--nodes", nargs="+", type=int, default=NODES, metavar="N", help="(default: 10 100 1000)")
    parser.add_argument("--link", nargs="+", choices=LINKS, default=list(LINKS), help="(default: both)")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # otherwise the running job would be left behind
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {load}\n")
    print("| link | nodes | end | started, s | processor, s | ended, s | core | memory | descriptors | threads |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    with suppress(KeyboardInterrupt):
        for row in rows(args.link, [20] if args.quick else args.nodes, [DONE] if args.quick else ENDS):
            print(row, flush=True)


if __name__ == "__main__":
    main()
