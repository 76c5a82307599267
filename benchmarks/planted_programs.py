"""Faults of programs, hosts and cards in training: a process ends, and the others wait for it."""

from __future__ import annotations

from random import Random
from signal import SIGKILL, SIGSEGV
from typing import NamedTuple

from benchmarks.planted_effects import (
    VANISHED,
    Planted,
    all_join,
    dies,
    group_fails,
    heartbeats,
    job_ends,
    join_fails,
    operator_fails,
    put_exception,
    trains,
    verdicts,
)
from benchmarks.planted_outputs import TRAIN, names_of, put_traceback, put_watchdog, syslog
from benchmarks.plog_records import put_start
from benchmarks.plogs import Plogs, Rank

WRONG_ADDRESS = "172.17.0.1"
"""What each host has for its own containers, and no other host reaches."""


class Failure(NamedTuple):
    """An exception that ends a program: its last frame of the user's code, its text, and how to name it."""

    kind: str
    frame: tuple[str, int, str]
    error: str
    cause: str


DATALOADER = Failure(
    "exception in a data loader",
    ("/workspace/dataset.py", 88, "__getitem__"),
    "FileNotFoundError: Caught FileNotFoundError in DataLoader worker process 3.\n"
    "Original Traceback (most recent call last):\n"
    '  File "/usr/lib/python3/torch/utils/data/_utils/worker.py", line 351, in _worker_loop\n'
    "    data = fetcher.fetch(index)\n"
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/shard_0412.idx'",
    "FileNotFoundError|No such file",
)
NAN = Failure(
    "the program stops at a NaN",
    ("/workspace/training.py", 655, "check_grad_norm"),
    "AssertionError: Rank {rank}: found NaN in local grad norm in backward pass before data-parallel "
    "communication collective",
    "AssertionError|NaN",
)
DISK = Failure(
    "the disk is full",
    ("/workspace/checkpoint.py", 120, "save"),
    "OSError: [Errno 28] No space left on device: '/ckpt/iter_0000120/mp_rank_03.pt'",
    "disk is full|No space left",
)


def program_fails(logs: Plogs, random: Random, failure: Failure) -> Planted:
    rank, begin = random.choice(logs.job.ranks), trains(logs, random)
    fails(logs, rank, begin, failure)
    return dies(
        logs, random, Planted(failure.kind, frozenset({rank.number}), (f"HK701.*(?:{failure.cause})",)), begin + 1
    )


def fails(logs: Plogs, rank: Rank, at: float, failure: Failure) -> None:
    """The program of a rank ends with an exception, which its output has."""
    logs.has_outputs = True
    error = failure.error.replace("{rank}", str(rank.number))
    put_traceback(logs, rank, at, (TRAIN, failure.frame), error)
    logs.exits[rank.number] = at + 1, 1
    logs.ends[rank.number] = at + 2


def dataloader(logs: Plogs, random: Random) -> Planted:
    return program_fails(logs, random, DATALOADER)


def nan(logs: Plogs, random: Random) -> Planted:
    return program_fails(logs, random, NAN)


def disk_full(logs: Plogs, random: Random) -> Planted:
    return program_fails(logs, random, DISK)


def killed_in_training(logs: Plogs, random: Random) -> Planted:
    rank, begin = random.choice(logs.job.ranks), trains(logs, random)
    logs.ends[rank.number] = begin
    logs.exits[rank.number] = begin, -SIGKILL
    causes = ("HK701.*SIGKILL",) if logs.has_outputs else VANISHED
    return dies(logs, random, Planted("a process was killed in training", frozenset({rank.number}), causes), begin)


def exception_in_training(logs: Plogs, random: Random) -> Planted:
    rank, begin = random.choice(logs.job.ranks), trains(logs, random)
    cause = put_exception(logs, random, rank, begin - 1)
    logs.ends[rank.number] = begin + 2
    logs.exits[rank.number] = begin + 1, 1
    one = frozenset({rank.number})
    return dies(logs, random, Planted("exception of the program in training", one, (f"HK701.*(?:{cause})",)), begin)


def server_lost(logs: Plogs, random: Random) -> Planted:
    job = logs.job
    if job.servers == 1:
        return killed_in_training(logs, random)
    begin, server = trains(logs, random), random.randrange(job.servers)
    logs.gone.add(server)
    return dies(logs, random, Planted("a server was lost in training", names_of(job, server), VANISHED), begin)


def killed_for_memory(logs: Plogs, random: Random) -> Planted:
    """The kernel kills a process, which writes no line; dmesg of its host has one, if it was collected."""
    rank, begin = random.choice(logs.job.ranks), trains(logs, random)
    logs.ends[rank.number] = begin
    logs.exits[rank.number] = begin, -SIGKILL
    if random.random() < 0.4:
        text = (
            f"Out of memory: Killed process {rank.pid} (python3) total-vm:912345678kB, anon-rss:498765432kB, "
            "file-rss:0kB, shmem-rss:1024kB, UID:0 pgtables:1203456kB oom_score_adj:0"
        )
        logs.texts[f"{rank.folder}/messages"] = syslog(logs, rank, begin, text)
    causes = ("HK701.*(?:SIGKILL|memory)",) if logs.has_outputs else (*VANISHED, "HK701.*(?:SIGKILL|memory)")
    return dies(logs, random, Planted("killed for memory, without a line", frozenset({rank.number}), causes), begin)


def segfault(logs: Plogs, random: Random) -> Planted:
    rank, begin = random.choice(logs.job.ranks), trains(logs, random)
    logs.has_outputs = True
    logs.screen(rank, begin, "Fatal Python error: Segmentation fault")
    logs.screen(rank, begin + 0.001, "")
    logs.screen(rank, begin + 0.002, "Current thread 0x0000ffff8f7d1040 (most recent call first):")
    logs.screen(rank, begin + 0.003, '  File "/workspace/ops/fused.py", line 41 in forward')
    logs.ends[rank.number] = begin + 1
    logs.exits[rank.number] = begin + 1, -SIGSEGV
    cause = "HK701.*(?:SIGSEGV|[Ss]egmentation)"
    return dies(logs, random, Planted("segmentation fault", frozenset({rank.number}), (cause,)), begin + 1)


def npu_memory(logs: Plogs, random: Random) -> Planted:
    rank, begin = random.choice(logs.job.ranks), trains(logs, random)
    if random.random() < 0.7:
        text = "[halMemAlloc] drv malloc failed, size=638582784, type=2, out of memory, drvRetCode=6, ret=207001"
        logs.put(rank, begin, text, module="RUNTIME", source="npu_driver.cc")
    error = (
        f"RuntimeError: NPU out of memory. Tried to allocate 609.00 MiB (NPU {rank.card}; 60.97 GiB total capacity; "
        "58.80 GiB already allocated; 301.12 MiB free; 59.90 GiB reserved in total by PyTorch)"
    )
    fails(logs, rank, begin + 0.5, Failure("", ("/workspace/model.py", 301, "forward"), error, ""))
    one = frozenset({rank.number})
    return dies(
        logs,
        random,
        Planted("out of NPU memory", one, ("HK701.*(?:out of .*memory|memory of the card is used up)",)),
        begin + 1,
    )


def hbm_ecc(logs: Plogs, random: Random) -> Planted:
    """The plog has the error of the card; the output has only the call that failed for it, without a time."""
    rank, begin = random.choice(logs.job.ranks), trains(logs, random)
    text = f"The error from device(chipId:{rank.card}, dieId:0) is HBM multi-bit ECC error, error code=507054"
    logs.put(rank, begin, text, module="RUNTIME", source="device_error_proc.cc")
    if random.random() < 0.5:
        logs.put(
            rank,
            begin + 0.1,
            "rtStreamSynchronize execute failed, reason=[hbm multi bit ecc error]",
            module="RUNTIME",
            source="api_c.cc",
        )
    fails(logs, rank, begin + 0.5, Failure(
        "", ("/workspace/training.py", 733, "train_step"),
        "RuntimeError: ACL stream synchronize failed, error code:507054", ""))  # fmt: skip
    one = frozenset({rank.number})
    return dies(logs, random, Planted("ECC error of the card's memory", one, ("HK701.*(?:ECC|hardware)",)), begin + 1)


def stuck_on_nfs(logs: Plogs, random: Random) -> Planted:
    job, begin = logs.job, trains(logs, random)
    rank = random.choice(job.ranks)
    if random.random() < 0.5:
        lines = (
            "nfs: server 10.9.0.7 not responding, still trying",
            f"INFO: task python3:{rank.pid} blocked for more than 120 seconds.",
        )
        logs.texts[f"{rank.folder}/messages"] = "".join(
            syslog(logs, rank, begin + 30 + 90 * n, text) for n, text in enumerate(lines)
        )
    seen = begin + job.exec_timeout * (1 + random.random()) / 3
    beat = heartbeats(logs, random, rank, seen, "STUCK") if random.random() < 0.5 else None
    first = operator_fails(logs, random, frozenset({rank.number}), begin, index=job.steps)
    verdicts(logs, random, first, beat)
    return Planted("stuck on NFS", frozenset({rank.number}), (*VANISHED, "HK713", "NFS"))


def two_faults(logs: Plogs, random: Random) -> Planted:
    """Two programs fail by themselves, minutes apart: the first one counts."""
    job, begin = logs.job, trains(logs, random)
    rank, other = random.sample(job.ranks, 2)
    first, second = random.sample((DATALOADER, NAN, DISK), 2)
    fails(logs, rank, begin, first)
    fails(logs, other, begin + 60 + 60 * random.random(), second)
    both = frozenset({rank.number, other.number})
    planted = dies(logs, random, Planted("two programs fail", both, (f"HK701.*(?:{first.cause})",)), begin + 1)
    return planted._replace(culprits=frozenset({rank.number}))


def evicted(logs: Plogs, random: Random) -> Planted:
    """Kubernetes evicts a pod: all its ranks get SIGTERM, and its events say so, if they were collected."""
    job = logs.job
    if job.servers == 1:
        return killed_in_training(logs, random)
    begin, server = trains(logs, random), random.randrange(job.servers)
    gone = names_of(job, server)
    logs.has_outputs = True
    logs.gone.add(server)
    for number in gone:
        rank = job.ranks[number]
        logs.ends[number] = begin + 1
        error = f"torch.distributed.elastic.multiprocessing.api.SignalException: Process {rank.pid} got signal: 15"
        put_traceback(logs, rank, begin, (TRAIN,), error)
    if random.random() < 0.6:
        rank = job.ranks[min(gone)]
        logs.texts[f"{rank.folder}/events.txt"] = (
            "Events:\n  Type     Reason     Age   From     Message\n  ----     ------     ----  ----     -------\n"
            "  Warning  Evicted    3m    kubelet  The node was low on resource: ephemeral-storage. Threshold quantity: "
            "10Gi, available: 2Gi. Container worker was using 210Gi, request is 0.\n"
            "  Normal   Killing    3m    kubelet  Stopping container worker\n"
        )
    return dies(
        logs, random, Planted("a pod was evicted", gone, (*VANISHED, "HK701.*[Ee]vict", "HK701.*SIGTERM")), begin + 1
    )


def watchdog_only(logs: Plogs, random: Random) -> Planted:
    """No plogs: only torch's watchdog of all ranks but one, or of one in another collective."""
    logs.has_outputs, logs.has_plogs, logs.is_merged = True, False, random.random() < 0.5
    job, begin = logs.job, trains(logs, random)
    rank = random.choice(job.ranks[:-1])
    sequence, differs = random.randint(50, 5000), random.random() < 0.4
    for other in job.ranks:
        at = begin + 1800 + random.random() * 5
        if other != rank:
            put_watchdog(logs, other, at, sequence)
        elif differs:
            put_watchdog(logs, other, at, sequence - 1, random.choice(("ALLREDUCE", "ALLGATHER")))
    job_ends(logs, random, begin + 1800)
    kind = "watchdog lines only, one differs" if differs else "watchdog lines only, one is missing"
    return Planted(kind, frozenset({rank.number}), ("HK713",) if differs else ("HK716", "HK715", "HK713"))


def late_host(logs: Plogs, random: Random) -> Planted:
    """A server begins when the others have given up; its ranks find no root, at once or after their own timeout."""
    job = logs.job
    if job.servers == 1:
        return watchdog_only(logs, random)
    logs.has_outputs = False  # a launcher would end the ranks of a server before they are late
    server = random.randrange(1, job.servers)
    late = names_of(job, server)
    all_join(logs, random, without=late)
    at = job.start + job.connect_timeout + 20 + random.random() * 200
    patience = random.choice((1.0, job.connect_timeout))
    for number in sorted(late):
        rank = job.ranks[number]
        put_start(logs, rank, at + random.random() * 2)
        _no_root(logs, rank, at + 3 + patience, job.ranks[0].host)
        logs.ends[number] = at + patience + 10
    group_fails(logs, random, *sorted(late))
    return Planted("a late host", late, ("HK714", "HK70[45].*late"))


def wrong_interface(logs: Plogs, random: Random) -> Planted:
    """One server uses another network interface than the others: it does not reach the root, or is not reached."""
    job = logs.job
    if job.servers == 1:
        return watchdog_only(logs, random)
    server = random.randrange(job.servers)
    ours = names_of(job, server)
    named = random.random() < 0.5
    apart = frozenset(range(len(job.ranks))) - ours if server == 0 else ours
    for rank in job.ranks:
        is_ours = rank.server == server
        settings = {"HCCL_SOCKET_IFNAME": "docker0" if is_ours else "eth0"} if named else None
        address = f"{WRONG_ADDRESS}%docker0" if is_ours else None
        put_start(logs, rank, job.start + random.random() * 4, settings, address=address)
        if rank.number in apart:
            root = WRONG_ADDRESS if server == 0 else job.ranks[0].host
            _no_root(logs, rank, job.start + 2 + job.connect_timeout, root)
    group_fails(logs, random, *sorted(apart))
    return Planted("a host with the wrong interface", ours, ("IFNAME", "docker0"))


def _no_root(logs: Plogs, rank: Rank, at: float, host: str) -> None:
    stage = "[InitGroupStage][RanktableDetect]"
    source = "topoinfo_exchange_agent.cc"
    logs.put(rank, at, f"[Connect]connect server[{host} : 60000] failed", source=source, stage=stage)
    logs.put(rank, at + 0.1, "topo exchange agent get socket timeout!", source=source, stage=stage)
    join_fails(logs, rank, at + 0.2, 9)
