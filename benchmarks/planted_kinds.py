"""The kinds of faults that are planted into made-up jobs, with what the other ranks suffer from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from random import Random
from typing import Literal, NamedTuple

from benchmarks.plogs import (
    CARDS,
    Beat,
    Job,
    Plogs,
    Rank,
    operator,
    put_code,
    put_entry,
    put_heartbeat,
    put_joined,
    put_link_timeout,
    put_noise,
    put_notify_timeout,
    put_start,
    put_verdict,
    stamped,
)

DEAD = 30
"""Seconds without an answer after which a rank is called lost."""


class Planted(NamedTuple):
    """What was planted: any of `culprits` is a right answer."""

    kind: str
    culprits: frozenset[int]


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
    return complete


def job_ends(logs: Plogs, random: Random, first: float) -> None:
    """The launcher ends what is left after the first rank failed; the last survivors see others vanish before."""
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


def group_fails(logs: Plogs, random: Random, missing: int) -> None:
    """The root has not heard of a rank in time, and gives up; the others are connected to it, and wait in vain."""
    job, root = logs.job, logs.job.ranks[0]
    end = job.start + job.connect_timeout + random.random()
    source, stage = "topoinfo_exchange_server.cc", "[InitGroupStage][RanktableDetect]"
    put = partial(logs.put, root, source=source, stage=stage)
    put(end, f"topo exchange server get socket timeout! timeout[{job.connect_timeout} s]")
    if job.release != "6.3":
        here = [rank.number for rank in job.ranks if rank.number != missing]
        name = "DisplayConnectedRank" if job.release == "8.5" else "DisplayConnectionedRank"
        put(end + 0.001, f"[{name}]total connected num is [{len(here)}],line num is [8]")
        put(end + 0.002, f"[{name}]need connect rankNum is [{len(job.ranks)}]")
        for line, first in enumerate(range(0, len(here), 8)):
            listed = ",".join(f"[{number:016}]" for number in here[first : first + 8])
            put(end + 0.003 + line / 1e4, f"[{name}]connected rankinfo[LINE {line}]: {listed};")
    if job.release in ("8.3", "8.5"):
        put(end + 0.1, f"Failed to connect agent[{missing},]")
    for rank in job.ranks:
        if rank.number == missing:
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
    """The rank gives up to join."""
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


def operator_fails(
    logs: Plogs, random: Random, culprits: frozenset[int], begin: float, *, index: int, silent: bool = True
) -> float:
    """All wait in one operator until the time-out; returns when the first reports it. `silent`: the culprits do not."""
    job = logs.job
    culprit = job.ranks[min(culprits)]
    first = begin + job.exec_timeout
    tells = random.random() < 0.7
    for rank in job.ranks:
        if rank.number in culprits and silent:
            continue
        if rank.number not in culprits:
            known = awaited(job, rank, culprit) if tells else None
            put_notify_timeout(logs, rank, first + random.random() * 3, known, index=index)
    job_ends(logs, random, first)
    return first


def awaited(job: Job, rank: Rank, culprit: Rank) -> int:
    """For whom a rank waits: on the culprit's server for it, elsewhere for the same card of the server before."""
    if rank.server == culprit.server:
        return culprit.number
    return job.ranks[(rank.server - 1) % job.servers * CARDS + rank.card].number


def heartbeats(
    logs: Plogs, random: Random, culprit: Rank, at: float, status: Literal["LOST", "STUCK", "ERROR CQE"]
) -> Beat | None:
    """All hear of the event from one that saw it; the oldest release says nothing."""
    if logs.job.release == "6.3":
        return None
    beat = Beat(culprit, status, random.choice(mates(logs.job, culprit)) if status == "LOST" else culprit, at)
    for rank in logs.job.ranks:
        put_heartbeat(logs, rank, at + random.random(), beat)
    return beat


def verdicts(logs: Plogs, random: Random, first: float, beat: Beat | None) -> None:
    """HCCL's own conclusion, in the logs of those that failed."""
    for rank in logs.job.ranks:
        if beat is not None and rank != beat.culprit and random.random() < 0.8:
            put_verdict(logs, rank, first + 3.5, beat)


# The kinds. Each plants its culprit into an empty job.


def never_started(logs: Plogs, random: Random) -> Planted:
    rank = other_than_root(logs, random)
    logs.silent.add(rank.number)
    all_join(logs, random, without=[rank.number])
    group_fails(logs, random, rank.number)
    return Planted("a rank never started", frozenset({rank.number}))


def exception_before_start(logs: Plogs, random: Random) -> Planted:
    rank = other_than_root(logs, random)
    all_join(logs, random, without=[rank.number])
    at = logs.job.start - 1 + random.random()
    put_noise(logs, rank, at - 3)
    put_exception(logs, random, rank, at)
    logs.ends[rank.number] = at + 3
    group_fails(logs, random, rank.number)
    return Planted("exception of the program before the start", frozenset({rank.number}))


def late_start(logs: Plogs, random: Random) -> Planted:
    rank, job = other_than_root(logs, random), logs.job
    all_join(logs, random, without=[rank.number])
    at = job.start + job.connect_timeout + 8 + random.random() * 15
    put_start(logs, rank, at)
    text = f"[Connect]connect server[{job.ranks[0].host} : 60000] failed"
    logs.put(rank, at + 1, text, source="topoinfo_exchange_agent.cc", stage="[InitGroupStage][RanktableDetect]")
    agent = "topo exchange agent get socket timeout! the root does not listen"
    logs.put(rank, at + 1.1, agent, source="topoinfo_exchange_agent.cc", stage="[InitGroupStage][RanktableDetect]")
    join_fails(logs, rank, at + 1.2, 9)
    group_fails(logs, random, rank.number)
    return Planted("a rank started late", frozenset({rank.number}))


def host_port_taken(logs: Plogs, random: Random) -> Planted:
    rank = other_than_root(logs, random)
    all_join(logs, random, without=[rank.number])
    at = logs.job.start + 2
    put_start(logs, rank, at)
    put_listen_fail(logs, rank, at + 0.5, socket=2, port=60000 + rank.card)
    join_fails(logs, rank, at + 0.6, 19)
    logs.ends[rank.number] = at + 4
    group_fails(logs, random, rank.number)
    return Planted("port of a host taken", frozenset({rank.number}))


def left_over_process(logs: Plogs, random: Random) -> Planted:
    rank = other_than_root(logs, random)
    all_join(logs, random, without=[rank.number])
    at = logs.job.start + 1
    if random.random() < 0.5:
        put_entry(logs, rank, at)
    text = "tsd client wait response fail, device response code[1]. unknown device error."
    logs.put(rank, at + 1, text, module="TDT", source="process_mode_manager.cpp")
    reason = "Failed to initialize the HCCP process. Reason: Maybe the last training process is running."
    put_code(logs, rank, at + 1.1, "EJ0001", reason)
    if logs.job.release == "8.5" or random.random() < 0.5:
        logs.put(rank, at + 1.1, f"EJ0001: {reason}", module="HCCL", source="hccp_manager.cc")
    logs.ends[rank.number] = at + 4
    group_fails(logs, random, rank.number)
    return Planted("a process of an earlier job holds the card", frozenset({rank.number}))


def card_port_taken(logs: Plogs, random: Random) -> Planted:
    rank, begin = random.choice(logs.job.ranks), all_join(logs, random) + 10
    put_listen_fail(logs, rank, begin + 0.1, socket=random.choice((0, 1)), port=16666)
    if random.random() < 0.5:  # it goes on, and waits for the others in vain
        peers = mates(logs.job, rank)[:2]
        put_link_timeout(logs, rank, begin + logs.job.connect_timeout + random.random(), peers)
    else:
        logs.ends[rank.number] = begin + 3
    links_fail(logs, random, rank, begin)
    return Planted("port of a card taken", frozenset({rank.number}))


def killed_before_links(logs: Plogs, random: Random) -> Planted:
    rank, begin = random.choice(logs.job.ranks), all_join(logs, random) + 10
    logs.ends[rank.number] = begin - 2
    links_fail(logs, random, rank, begin)
    return Planted("a process was killed before the first operator", frozenset({rank.number}))


def hangs_before_links(logs: Plogs, random: Random) -> Planted:
    rank, begin = random.choice(logs.job.ranks), all_join(logs, random) + 10
    for n in range(3):
        put_noise(logs, rank, begin + n * 40)
    links_fail(logs, random, rank, begin)
    return Planted("a rank never entered the first operator", frozenset({rank.number}))


def late_links(logs: Plogs, random: Random) -> Planted:
    rank, begin = random.choice(logs.job.ranks), all_join(logs, random) + 10
    job = logs.job
    put_noise(logs, rank, begin + job.connect_timeout / 2)
    if random.random() < 0.5:  # else it is ended before it can tell
        late = begin + job.connect_timeout + 10 + random.random() * 10
        put_link_timeout(logs, rank, late + job.connect_timeout, mates(job, rank)[:3])
        logs.ends[rank.number] = late + job.connect_timeout + 5
    links_fail(logs, random, rank, begin)
    return Planted("a rank entered the first operator late", frozenset({rank.number}))


def unequal_tls(logs: Plogs, random: Random) -> Planted:
    job = logs.job
    rank = random.choice(job.ranks)
    on = random.random() < 0.5
    others = [other.number for other in job.ranks if other != rank]
    begin = all_join(logs, random, tls=[rank.number] if on else others) + 10
    limit = begin + job.connect_timeout
    words = ("ENABLE", "DISABLE") if on else ("DISABLE", "ENABLE")
    put_link_timeout(logs, rank, limit + random.random() * 4, neighbours(job, rank), tls=words[0])
    for other in neighbours(job, rank):
        put_link_timeout(logs, other, limit + random.random() * 4, [rank], tls=words[1])
    job_ends(logs, random, limit)
    return Planted("TLS of one card differs", frozenset({rank.number}))


def network_broken(logs: Plogs, random: Random) -> Planted:
    job, begin = logs.job, all_join(logs, random) + 10
    if job.servers == 1:
        return killed_before_links(logs, random)
    server = random.randrange(job.servers)
    limit = begin + job.connect_timeout
    for rank in job.ranks:
        unheard = [other for other in neighbours(job, rank) if (other.server == server) != (rank.server == server)]
        if not unheard:
            continue
        at = limit + random.random() * 5
        put_link_timeout(logs, rank, at, unheard)
        if job.release == "8.5":
            put_detected(logs, rank, at + 1, unheard[0])
    job_ends(logs, random, limit)
    # Between two servers nothing tells which end is broken.
    broken = {rank.number for rank in job.ranks if job.servers == 2 or rank.server == server}
    return Planted("network of a server broken", frozenset(broken))


def arguments_differ(logs: Plogs, random: Random) -> Planted:
    job = logs.job
    rank = random.choice(job.ranks)
    fields = (("cclbufferSize", "200", "400"), ("count", "4096", "1024"), ("dataType", "float16", "float32"))
    field, usual, odd = random.choice(fields)
    begin = all_join(logs, random) + 10
    if field == "cclbufferSize":
        for other in job.ranks:
            value = odd if other == rank else usual
            form = (
                "[HCCL_ENV] HCCL_BUFFSIZE set by environment to [{}]"
                if job.release == "8.5"
                else ("HCCL_BUFFSIZE set by environment to [{}]M")
            )
            logs.put(other, job.start + 4, form.format(value), level="INFO", source="externalinput.cc")
    stage = "[InitChannelStage][ParameterConflict]"
    for other in mates(job, rank):
        for one, own, theirs in ((rank, odd, usual), (other, usual, odd)):
            text = f"CMD information {field} check fail. local[{own}], remote[{theirs}]"
            logs.put(one, begin + 0.5 + random.random(), text, source="transport_manager.cc", stage=stage)
    for one in job.ranks:
        if one.server == rank.server:
            put_code(logs, one, begin + 2, "EI0005", f"The arguments of {operator(job)} differ between ranks")
    job_ends(logs, random, begin + 1)
    return Planted("arguments of one rank differ (EI0005)", frozenset({rank.number}))


def killed_in_training(logs: Plogs, random: Random) -> Planted:
    rank, begin = random.choice(logs.job.ranks), all_join(logs, random) + 600 * random.random()
    logs.ends[rank.number] = begin
    return dies(logs, random, frozenset({rank.number}), begin, "a process was killed in training")


def exception_in_training(logs: Plogs, random: Random) -> Planted:
    rank, begin = random.choice(logs.job.ranks), all_join(logs, random) + 600 * random.random()
    put_exception(logs, random, rank, begin - 1)
    logs.ends[rank.number] = begin + 2
    return dies(logs, random, frozenset({rank.number}), begin, "exception of the program in training")


def server_lost(logs: Plogs, random: Random) -> Planted:
    job, begin = logs.job, all_join(logs, random) + 600 * random.random()
    if job.servers == 1:
        return killed_in_training(logs, random)
    server = random.randrange(job.servers)
    gone = frozenset(rank.number for rank in job.ranks if rank.server == server)
    for number in gone:
        logs.ends[number] = begin
    return dies(logs, random, gone, begin, "a server was lost in training")


def dies(logs: Plogs, random: Random, gone: frozenset[int], begin: float, kind: str) -> Planted:
    """After processes have ended at `begin`: heartbeats are missed, and an operator waits for them."""
    job = logs.job
    lost = begin + DEAD + random.random() * 3
    first = operator_fails(logs, random, gone, begin + 0.5, index=job.steps)
    if job.release != "6.3":
        informer = random.choice([rank for rank in job.ranks if rank.number not in gone])
        beats = [Beat(job.ranks[number], "LOST", informer, lost) for number in sorted(gone)]
        for rank in job.ranks:
            for beat in beats:
                put_heartbeat(logs, rank, lost + random.random(), beat)
        verdicts(logs, random, first, beats[0])
    return Planted(kind, gone)


def hangs_in_training(logs: Plogs, random: Random) -> Planted:
    job, begin = logs.job, all_join(logs, random) + 600 * random.random()
    rank = random.choice(job.ranks)
    put_noise(logs, rank, begin + 100)
    seen = begin + job.exec_timeout * (1 + random.random()) / 3
    beat = heartbeats(logs, random, rank, seen, "STUCK") if random.random() < 0.6 else None
    first = operator_fails(logs, random, frozenset({rank.number}), begin, index=job.steps)
    verdicts(logs, random, first, beat)
    return Planted("a rank hangs in training", frozenset({rank.number}))


def diverges(logs: Plogs, random: Random) -> Planted:
    job, begin = logs.job, all_join(logs, random) + 600 * random.random()
    rank = random.choice(job.ranks)
    how = random.choice(("operator", "count", "type"))
    first = operator_fails(logs, random, frozenset({rank.number}), begin, index=job.steps)
    put_notify_timeout(
        logs,
        rank,
        first + random.random() * 3,
        mates(job, rank)[0].number,
        index=job.steps,
        name="AllGather" if how == "operator" else "AllReduce",
        count=2048 if how == "count" else 4096,
        data_type="float32" if how == "type" else "float16",
    )
    return Planted(f"another {how} on one rank", frozenset({rank.number}))


def behind(logs: Plogs, random: Random) -> Planted:
    job, begin = logs.job, all_join(logs, random) + 600 * random.random()
    rank = random.choice(job.ranks)
    first = operator_fails(logs, random, frozenset({rank.number}), begin, index=job.steps)
    put_notify_timeout(logs, rank, first + random.random() * 3, mates(job, rank)[0].number, index=job.steps - 1)
    return Planted("one rank is an operator behind", frozenset({rank.number}))


def error_cqe(logs: Plogs, random: Random) -> Planted:
    job, begin = logs.job, all_join(logs, random) + 600 * random.random()
    rank = random.choice(job.ranks)
    peer = random.choice(neighbours(job, rank))
    pair = frozenset({rank.number, peer.number})
    for one, other in ((rank, peer), (peer, rank))[: random.choice((1, 2))]:
        put_cqe(logs, one, begin + random.random(), other)
    beat = heartbeats(logs, random, rank, begin + 2, "ERROR CQE")
    first = operator_fails(logs, random, frozenset({rank.number}), begin, index=job.steps, silent=False)
    put_notify_timeout(logs, rank, first + random.random(), peer.number, index=job.steps)
    verdicts(logs, random, first, beat)
    return Planted("packets lost between two cards (error CQE)", pair)


KINDS: tuple[Callable[[Plogs, Random], Planted], ...] = (
    never_started,
    exception_before_start,
    late_start,
    host_port_taken,
    left_over_process,
    card_port_taken,
    killed_before_links,
    hangs_before_links,
    late_links,
    unequal_tls,
    network_broken,
    arguments_differ,
    killed_in_training,
    exception_in_training,
    server_lost,
    hangs_in_training,
    diverges,
    behind,
    error_cqe,
)


def other_than_root(logs: Plogs, random: Random) -> Rank:
    return random.choice(logs.job.ranks[1:])


def put_exception(logs: Plogs, random: Random, rank: Rank, at: float) -> None:
    """The program of a rank fails: on its screen, or first in another part of CANN."""
    way = random.choice(("screen", "plog", "both"))
    if way != "screen":
        texts = (
            (
                "RUNTIME",
                "npu_driver.cc",
                "halMemAlloc failed, size=2147483648, out of memory, error code 207001",
            ),
            ("GE", "model_manager.cc", "Load model failed, the kernel of node Conv2D_17 is not found"),
            ("RUNTIME", "engine.cc", "there is an aicore error on the device, error code 507015, kernel MatMul_3"),
        )
        module, source, text = random.choice(texts)
        logs.put(rank, at, text, module=module, source=source)
    if way != "plog":
        lines = ("Traceback (most recent call last):", '  File "train.py", line 212, in <module>', "    main()")
        for n, line in enumerate((*lines, "ValueError: cannot reshape array of size 7 into shape (2, 4)")):
            logs.screen(rank, at + 0.2 + n / 1e3, line)


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
