"""The kinds of faults that are planted into made-up jobs. Each plants its culprit into an empty job."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from benchmarks.planted_effects import (
    DEAD,
    all_join,
    group_fails,
    heartbeats,
    job_ends,
    join_fails,
    links_fail,
    mates,
    neighbours,
    operator_fails,
    put_cqe,
    put_detected,
    put_exception,
    put_listen_fail,
    verdicts,
)
from benchmarks.plog_records import (
    Beat,
    operator,
    put_code,
    put_entry,
    put_heartbeat,
    put_link_timeout,
    put_noise,
    put_notify_timeout,
    put_start,
)
from benchmarks.plogs import Plogs, Rank


class Planted(NamedTuple):
    """What was planted: any of `culprits` is a right answer."""

    kind: str
    culprits: frozenset[int]


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
    if random.random() < 0.5:  # it goes on, and times out waiting for the others
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
    first = operator_fails(logs, random, frozenset({rank.number}), begin, index=job.steps)
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
