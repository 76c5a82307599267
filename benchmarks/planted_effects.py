"""What the ranks of a made-up job write into their logs when one of them fails."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from random import Random
from typing import Literal, NamedTuple

from benchmarks.planted_outputs import TRAIN, put_steps, put_traceback
from benchmarks.plog_records import (
    Beat,
    put_code,
    put_groups,
    put_heartbeat,
    put_joined,
    put_link_timeout,
    put_notify_timeout,
    put_start,
    put_verdict,
)
from benchmarks.plogs import CARDS, Group, Job, Plogs, Rank, stamped

DEAD = 30
"""Seconds without an answer after which a rank is called lost."""

VANISHED = ("HK706", "HK710", "HK715", "HK716")
"""Rules that say that a rank stopped taking part: all that can be known where nothing tells why."""


class Planted(NamedTuple):
    """What was planted: any of `culprits` is a right answer, if it has one of the `causes`.

    These are patterns for rule, code, kind and fix of an answer, as they are printed.
    """

    kind: str
    culprits: frozenset[int]
    causes: tuple[str, ...]


# Who waits for whom: the cards of a server are all linked, and those with one number form a ring over the servers.


def mates(job: Job, rank: Rank) -> list[Rank]:
    return [other for other in job.ranks if other.server == rank.server and other != rank]


def neighbours(job: Job, rank: Rank) -> list[Rank]:
    """The same card on the servers before and after; the other cards of the server if there is only one server."""
    if job.servers == 1:
        return mates(job, rank)
    servers = {(rank.server - 1) % job.servers, (rank.server + 1) % job.servers}
    return [job.ranks[server * CARDS + rank.card] for server in sorted(servers)]


def all_join(logs: Plogs, random: Random, *, without: Iterable[int] = (), tls: Iterable[int] = ()) -> float:
    """Every rank starts, and all but those `without` join; returns when the group is complete."""
    job, tls, without = logs.job, set(tls), set(without)
    for rank in job.ranks:
        if rank.number not in without:
            put_start(logs, rank, job.start + (random.random() * 4 if rank.number else 0))
    complete = job.start + 5 + random.random()
    if not without:
        for rank in job.ranks:
            put_joined(logs, rank, complete + random.random() * 0.2, tls=rank.number in tls)
            put_groups(logs, rank, complete + 1)
    return complete


def trains(logs: Plogs, random: Random) -> float:
    """All join and train; returns when the fault comes."""
    complete = all_join(logs, random)
    begin = complete + 5 + 600 * random.random()
    put_steps(logs, random, complete + 3, begin - 2)
    return begin


def job_ends(logs: Plogs, random: Random, first: float) -> None:
    """The launcher ends the ranks that are left after the first has failed; the last of them see others vanish."""
    job = logs.job
    end = first + 25 + random.random() * 60
    failed = [rank for rank in job.ranks if logs.has_errors(rank) and rank.number not in logs.ends]
    if failed and random.random() < 0.5 and job.release != "6.3":
        victim, witness = random.choice(failed), random.choice(job.ranks)
        logs.ends[victim.number] = first + 8
        if witness != victim:
            put_heartbeat(logs, witness, first + 8 + DEAD, Beat(victim, "LOST", witness, first + 8 + DEAD))
    for rank in job.ranks:
        logs.ends.setdefault(rank.number, end + random.random())


def group_fails(logs: Plogs, random: Random, *missing: int) -> None:
    """The root times out waiting for ranks; the others are connected to the root and time out after it."""
    job, root = logs.job, logs.job.ranks[0]
    end = job.start + job.connect_timeout + random.random()
    source, stage = "topoinfo_exchange_server.cc", "[InitGroupStage][RanktableDetect]"
    put = partial(logs.put, root, source=source, stage=stage)
    put(end, f"topo exchange server get socket timeout! timeout[{job.connect_timeout} s]")
    if job.release != "6.3":
        here = [rank.number for rank in job.ranks if rank.number not in missing]
        name = "DisplayConnectedRank" if job.release == "8.5" else "DisplayConnectionedRank"
        put(end + 0.001, f"[{name}]total connected num is [{len(here)}],line num is [8]")
        put(end + 0.002, f"[{name}]need connect rankNum is [{len(job.ranks)}]")
        for line, first in enumerate(range(0, len(here), 8)):
            listed = ",".join(f"[{number:016}]" for number in here[first : first + 8])
            put(end + 0.003 + line / 1e4, f"[{name}]connected rankinfo[LINE {line}]: {listed};")
    if job.release in ("8.3", "8.5"):
        unheard = "".join(f"{number}," for number in missing)
        put(end + 0.1, f"Failed to connect agent[{unheard}]")
    for rank in job.ranks:
        if rank.number in missing:
            continue
        at = end + 0.5 + random.random() * 3
        recv = "errNo[0x0000000005000009] Wait timeout for sockets recv, data[0xfffd], size[4], recvSize[0]"
        logs.put(rank, at, f"[Recv][RaSocket]{recv}", source="adapter_hccp.cc")
        text = "[Recv][ClusterInfoMsg]receive msg length from fdhandle failed, ret[9]"
        logs.put(rank, at + 0.001, text, source="topoinfo_exchange_base.cc")
        join_fails(logs, rank, at + 0.01, 9)
        if job.release == "8.5":
            put_code(logs, rank, at + 0.02, "EI0015", "Not all ranks of the communicator were found in time")
    job_ends(logs, random, end)


def join_fails(logs: Plogs, rank: Rank, at: float, result: int) -> None:
    """The rank logs that it failed to join the group."""
    job = logs.job
    text = (
        f"[HCCL_TRACE]HcclCommInitRootInfo failed, return[0x00000000050000{result:02x}], rankNum[{len(job.ranks)}], "
        f"rank[{rank.number}], rootInfo identifier[{job.group}], server[{rank.host}%eth0], logicDevId[{rank.card}]"
    )
    logs.put(rank, at, text)


def links_fail(logs: Plogs, random: Random, culprit: Rank, begin: float) -> None:
    """No rank can link with the culprit: its server waits for it, and the ring waits for its server."""
    job = logs.job
    limit = begin + job.connect_timeout
    for rank in mates(job, culprit):
        put_link_timeout(logs, rank, limit + random.random() * 5, [culprit])
    if job.servers > 1:
        for rank in job.ranks:
            stuck = [other for other in neighbours(job, rank) if other.server == culprit.server]
            if rank.server != culprit.server and stuck:
                put_link_timeout(logs, rank, limit + 1 + random.random() * 6, stuck)
    job_ends(logs, random, limit)


def operator_fails(logs: Plogs, random: Random, culprits: frozenset[int], begin: float, *, index: int) -> float:
    """All ranks but the culprits log the timeout of one operator; returns when the first of them does."""
    job = logs.job
    culprit = job.ranks[min(culprits)]
    first = begin + job.exec_timeout
    tells = random.random() < 0.7
    for rank in job.ranks:
        if rank.number in culprits:
            continue
        wait = waited(job, rank, culprit)
        known = wait.awaited if tells else None
        at = first + random.random() * 3
        put_notify_timeout(logs, rank, at, known, index=index + wait.ahead, name=wait.name, group=wait.group)
    job_ends(logs, random, first)
    return first


class Waited(NamedTuple):
    """The operator in which a rank waits for another one; `ahead`: how far its index is beyond that of the others."""

    group: Group
    awaited: int
    name: str = "AllReduce"
    ahead: int = 0


def waited(job: Job, rank: Rank, culprit: Rank) -> Waited:
    """Whom a rank waits for if one stands still: the mates for it, and those of other servers for the mates.

    In a ring over servers each waits for the one before. In a pipeline the later stages wait for what the culprit's
    stage does not send, the earlier ones for what it does not send back.
    """
    if job.layout == "world":
        mate = rank.server == culprit.server
        before = job.ranks[(rank.server - 1) % job.servers * CARDS + rank.card].number
        return Waited(job.world, culprit.number if mate else before)
    group = job.tensor(rank)
    if culprit.number in group.members:
        return Waited(group, culprit.number)
    across = job.across(rank)
    at = across.members.index(rank.number)
    if job.layout == "data":
        return Waited(across, across.members[at - 1])
    before = rank.number > culprit.number
    return Waited(
        across, across.members[at - 1 if before else at + 1], "Receive", 0 if before else len(across.members) - at
    )


def heartbeats(
    logs: Plogs, random: Random, culprit: Rank, at: float, status: Literal["LOST", "STUCK", "ERROR CQE"]
) -> Beat | None:
    """All ranks log the event that one of them saw; the oldest release logs nothing."""
    if logs.job.release == "6.3":
        return None
    beat = Beat(culprit, status, random.choice(mates(logs.job, culprit)) if status == "LOST" else culprit, at)
    for rank in logs.job.ranks:
        put_heartbeat(logs, rank, at + random.random(), beat)
    return beat


def verdicts(logs: Plogs, random: Random, first: float, beat: Beat | None) -> None:
    """HCCL's own conclusion, in the logs of most ranks other than the culprit."""
    for rank in logs.job.ranks:
        if beat is not None and rank != beat.culprit and random.random() < 0.8:
            put_verdict(logs, rank, first + 3.5, beat)


def put_exception(logs: Plogs, random: Random, rank: Rank, at: float) -> str:
    """The program of a rank fails: on its screen, or first in another part of CANN; returns how to name it."""
    way = random.choice(("screen", "plog", "both"))
    cause = "ValueError"
    if way != "screen":
        texts = (
            (
                "RUNTIME",
                "npu_driver.cc",
                "halMemAlloc failed, size=2147483648, out of memory, error code 207001",
                "memory",
            ),
            ("GE", "model_manager.cc", "Load model failed, the kernel of node Conv2D_17 is not found", "GE|kernel"),
            (
                "RUNTIME",
                "engine.cc",
                "there is an aicore error on the device, error code 507015, kernel MatMul_3",
                "kernel|aicore",
            ),
        )
        module, source, text, cause = random.choice(texts)
        logs.put(rank, at, text, module=module, source=source)
    if way != "plog":
        error = "ValueError: cannot reshape array of size 7 into shape (2, 4)"
        put_traceback(logs, rank, at + 0.2, (TRAIN,), error)
        cause = f"{cause}|ValueError"
    return cause


def put_listen_fail(logs: Plogs, rank: Rank, at: float, *, socket: int, port: int) -> None:
    address = rank.host if socket == 2 else rank.address
    stage = "[InitGroupStage][RanktableDetect]" if socket == 2 else "[InitChannelStage][Resource]"
    text = (
        f"[HcclSocket][Listen] socket type[{socket}], listen on ip[{address}] and specific port[{port}] fail. "
        "Please check the port status and whether the port is being used by other process."
    )
    logs.put(rank, at, text, source="hccl_socket.cc", stage=stage)
    logs.put(rank, at + 0.001, "[ServerInit]call trace: hcclRet -> 19", source="hccl_socket_manager.cc")
    put_code(logs, rank, at + 0.002, "EI0019", f"Failed to bind the IP address {address} and port {port}, it is in use")


def put_detected(logs: Plogs, rank: Rank, at: float, peer: Rank) -> None:
    source, stage = "detect_connect_anomalies.cc", "[InitChannelStage][Timeout]"
    logs.put(rank, at, "______________CONNECT TIMEOUT DETECT RESULT______________", source=source, stage=stage)
    this = f"server {rank.host}, device ID {rank.card}"
    text = (
        f"This node ({this}) detects that srcRank ({this}) fails to connect to dstRank "
        f"(server {peer.host}, device ID {peer.card})."
    )
    logs.put(rank, at + 0.001, text, source=source, stage=stage)


def put_cqe(logs: Plogs, rank: Rank, at: float, peer: Rank) -> None:
    job = logs.job
    when = stamped(at + logs.clock_errors[rank.server]).replace("-", " ")
    when = f"{when[:4]}-{when[5:7]}-{when[8:10]} {when[11:19]}.{when[20:23]}{when[24:]}"
    logs.put(rank, at - 0.01, "error cqe status: 0x15", module="ROCE", source="hns_roce_lite.c")
    if job.release in ("6.3", "8.0"):
        text = f"[Heartbeat]cqe err status[12], time:[{when}], ip:[{peer.address}]"
    else:
        own = f"server[{rank.host}],deviceId[{rank.card}],deviceIp[{rank.address}]"
        text = f"[Heartbeat]cqe error status[12], time:[{when}],localInfo{{{own}}}, remoteIP{{{peer.address}}}"
    logs.put(rank, at, text, source="heartbeat.cc", stage="[TaskExecStage]")
    if job.release == "8.5":
        reason = (
            f"An error CQE occurred during operator execution. Local information: server {rank.host}, device ID "
            f"{rank.card}, device IP {rank.address}. Peer information: server {peer.host}, device ID {peer.card}, "
            f"device IP {peer.address}."
        )
        put_code(logs, rank, at + 0.5, "EI0013", reason)


def dies(
    logs: Plogs, random: Random, planted: Planted, begin: float, *, later: frozenset[int] = frozenset()
) -> Planted:
    """After the culprits have ended at `begin`: heartbeats are missed, and an operator waits for them.

    The ranks `later` have ended before the operator gave up.
    """
    gone = planted.culprits | later
    job = logs.job
    lost = begin + DEAD + random.random() * 3
    for number in gone:
        logs.ends.setdefault(number, begin + 3)
    first = operator_fails(logs, random, planted.culprits, begin + 0.5, index=job.steps)
    if job.release != "6.3":
        informer = random.choice([rank for rank in job.ranks if rank.number not in gone])
        beats = [Beat(job.ranks[number], "LOST", informer, lost) for number in sorted(planted.culprits)]
        for rank in job.ranks:
            for beat in beats:
                put_heartbeat(logs, rank, lost + random.random(), beat)
        verdicts(logs, random, first, beats[0])
    return planted
