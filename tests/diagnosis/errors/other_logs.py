"""Lines of other programs' logs, with the words and numbers that HCCL's logs have too."""

import random
from collections.abc import Callable, Iterator

_HOSTS = ("web-1", "db02.example.org", "10.0.0.7", "node-17", "fd00::5")
_PROGRAMS = ("sshd", "cron", "kernel", "systemd", "dockerd", "postfix/smtp", "haproxy", "kubelet", "chronyd", "nscd")
_WORDS = (
    "addr", "rank", "port", "timeout", "device", "link", "server_count", "version", "status", "notify", "heartbeat",
    "group", "tag", "index", "host", "socket", "IP", "level", "devices", "rank_id", "server", "table", "size",
)  # fmt: skip
_NUMBERS = (1, 4, 7, 9, 11, 13, 15, 19, 24, 107001, 107020, 207001, 507010, 507048, 103900, 503900, 16666, 60000)


def lines(count: int, seed: int = 0) -> Iterator[str]:
    """Lines of many programs, the same ones for a seed."""
    chance = random.Random(seed)
    for _ in range(count):
        yield chance.choice(_KINDS)(chance)


def _stamp(chance: random.Random) -> str:
    at = f"{chance.randrange(24):02}:{chance.randrange(60):02}:{chance.randrange(60):02}"
    return chance.choice((f"Nov {chance.randrange(1, 31):2} {at}", f"2025-11-{chance.randrange(1, 31):02}T{at}.123Z"))


def _said(chance: random.Random) -> str:
    """A message of another program that an unspecific pattern would mistake for one of HCCL."""
    word, other, number = chance.choice(_WORDS), chance.choice(_WORDS), chance.choice(_NUMBERS)
    host = chance.choice(_HOSTS)
    return chance.choice(
        (
            f"error code is {number} while reading {word}",
            f"request failed, error code: {number}, retrying in 30 s",
            f"{word} [{number}] is invalid, expected value: {other}",
            f"call to {word}_open returned ret[{number}]",
            f"exit status {number}: {word} {other} not found",
            f"connection to {host} port {number} timed out after 120 seconds",
            f"wait for {word} timeout[120 s], {other}[{number}]",
            f"bind: {host}:{number} address already in use",
            f"listen on {host} and port {number} failed",
            f"heartbeat lost from {host}, {word} marked LOST",
            f"{word}=x {other}={number} addr={host} rank=3 ranks=8",
            f"recv failed: connection reset by peer ({host}:{number})",
            f"versions are inconsistent: local {number}.0, remote {number}.1",
            f"out of memory: cannot allocate {number} bytes for {word}",
            f"sorting {word} in ascending order, status {number}",
            f"the {word} {other} is already exist",
            f"{word} is a positive integer",
            f"{word}: {number} of 8 clients connected, waiting",
            f"order {number} shipped to {host}",
            f"device {number} more than 7 is invalid",
            f"The network port is down on {host}",
            f"notify wait of {word} took {number} ms",
            f"Possible cause: {word} of {host} is wrong. Solution: restart {other}",
            f"TLS switch ({number % 2}) for {host}",
            f"config {word} is missing in {other}.yaml",
            f"stream {number} stuck, closing",
            f"task run finished, base information in {word}.json",
            f"EIO ({number}) on {word}; EI {number}; EI{number}; E{number:04}; ticket EJ-0001",
        )
    )


def _syslog(chance: random.Random) -> str:
    program, pid = chance.choice(_PROGRAMS), chance.randrange(1, 99999)
    return f"{_stamp(chance)} {chance.choice(_HOSTS)} {program}[{pid}]: {_said(chance)}"


def _nginx(chance: random.Random) -> str:
    status, size = chance.choice((200, 301, 404, 499, 502, 504)), chance.choice(_NUMBERS)
    path = f"/{chance.choice(_WORDS)}/{chance.choice(_NUMBERS)}?rank={chance.randrange(8)}"
    at = f"[22/Nov/2025:10:00:0{chance.randrange(9)} +0000]"
    return f'10.0.0.{chance.randrange(255)} - - {at} "GET {path}" {status} {size}'


def _python(chance: random.Random) -> str:
    error = chance.choice(("ValueError", "TimeoutError", "OSError", "KeyError", "torch.cuda.OutOfMemoryError"))
    return chance.choice(
        (
            "Traceback (most recent call last):",
            f'  File "/app/{chance.choice(_WORDS)}.py", line {chance.randrange(900)}, in <module>',
            f"{error}: {_said(chance)}",
            "During handling of the above exception, another exception occurred:",
        )
    )


def _package(chance: random.Random) -> str:
    name, version = chance.choice(_WORDS), f"{chance.randrange(9)}.{chance.randrange(99)}"
    return chance.choice(
        (
            f"Collecting {name}=={version}",
            f"ERROR: Could not find a version that satisfies the requirement {name}>={version}",
            f"Get:{chance.randrange(99)} http://deb.example.org stable/main amd64 {name} amd64 {version}",
            f"npm ERR! code E{chance.choice(_NUMBERS)}",
            f"error[E{chance.randrange(100, 799):04}]: cannot find value `{name}` in this scope",
        )
    )


def _gpu(chance: random.Random) -> str:
    rank, host = chance.randrange(8), chance.choice(_HOSTS)
    return chance.choice(
        (
            f"{host}:4711:4790 [{rank}] NCCL WARN Call to connect returned Connection timed out",
            f"{host}:4711:4790 [{rank}] NCCL INFO NET/Socket : Using [0]eth0:{host}<0>",
            f"[rank{rank}]:[E1122 10:00:00.1 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective"
            f" operation"
            f" timeout: WorkNCCL(SeqNum={rank}, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for"
            " 600041 milliseconds before timing out.",
            "RuntimeError: CUDA error: an illegal memory access was encountered",
            f"RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:1275, invalid usage, NCCL version 2.1{rank}",
            f"NVRM: Xid (PCI:0000:3b:00): {chance.choice(_NUMBERS)}, pid=4711, GPU has fallen off the bus",
            f"CUDA out of memory. Tried to allocate {rank}.00 GiB (GPU {rank}; 79.15 GiB total capacity)",
        )
    )


def _cluster(chance: random.Random) -> str:
    name = chance.choice(_WORDS)
    return chance.choice(
        (
            f"E1122 10:00:00.123456    {chance.randrange(99999)} pod_workers.go:1300] {_said(chance)}",
            f"Warning  FailedScheduling  {name}-0  0/4 nodes are available: 4 Insufficient cpu.",
            f"level=error msg={_said(chance)!r} component={name}",
            f"slurmstepd: error: *** STEP {chance.choice(_NUMBERS)}.0 ON node-1 CANCELLED AT 2025-11-22T10:00:00 ***",
            f'{{"level":"error","ts":1763800000.1,"msg":"{_said(chance)}","rank":{chance.randrange(8)}}}',
            f"mpirun noticed that process rank {chance.randrange(8)} with PID 0 on node node-1 exited on signal 9"
            f" (Killed).",
        )
    )


def _training(chance: random.Random) -> str:
    step = chance.randrange(10**6)
    return chance.choice(
        (
            f"epoch {step % 90} step {step} loss {chance.random():.4f} lr 1e-4 rank {chance.randrange(8)}",
            f"[{_stamp(chance)}] INFO trainer: {_said(chance)}",
            f"{step}/{step + 9} [=====>....] - ETA: 0s - loss: {chance.random():.4f}",
            f"2025-11-22 10:00:00,{step % 1000:03} ERROR {chance.choice(_WORDS)}: {_said(chance)}",
        )
    )


def _database(chance: random.Random) -> str:
    return chance.choice(
        (
            f"2025-11-22 10:00:00.1 UTC [{chance.randrange(9999)}] FATAL: {_said(chance)}",
            f'# Server id {chance.choice(_NUMBERS)} device_ip column "rank_id" does not exist',
            f"[ERROR] [MY-0{chance.choice(_NUMBERS)}] [InnoDB] {_said(chance)}",
            f"ORA-0{chance.choice(_NUMBERS)}: {_said(chance)}",
            f"[{chance.randrange(9999)}] 22 Nov 10:00:00.123 # {_said(chance)}",
        )
    )


_KINDS: tuple[Callable[[random.Random], str], ...] = (
    _syslog, _nginx, _python, _package, _gpu, _cluster, _training, _database, _said,
)  # fmt: skip
