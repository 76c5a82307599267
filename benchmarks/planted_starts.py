"""Faults before the first step: ranks that do not join, ports that are taken, links that are not set up."""

from __future__ import annotations

from random import Random

from benchmarks.planted_effects import (
    Planted,
    all_join,
    group_fails,
    job_ends,
    join_fails,
    links_fail,
    mates,
    neighbours,
    put_detected,
    put_exception,
    put_listen_fail,
)
from benchmarks.plog_records import (
    put_code,
    put_entry,
    put_link_timeout,
    put_noise,
    put_start,
)
from benchmarks.plogs import Plogs, Rank


def never_started(logs: Plogs, random: Random) -> Planted:
    rank = other_than_root(logs, random)
    logs.silent.add(rank.number)
    all_join(logs, random, without=[rank.number])
    group_fails(logs, random, rank.number)
    return Planted("a rank never started", frozenset({rank.number}), ("HK704", "HK715"))


def exception_before_start(logs: Plogs, random: Random) -> Planted:
    rank = other_than_root(logs, random)
    all_join(logs, random, without=[rank.number])
    at = logs.job.start - 1 + random.random()
    logs.exits[rank.number] = at + 1, 1
    put_noise(logs, rank, at - 3)
    cause = put_exception(logs, random, rank, at)
    logs.ends[rank.number] = at + 3
    group_fails(logs, random, rank.number)
    return Planted("exception of the program before the start", frozenset({rank.number}), (f"HK701.*(?:{cause})",))


def late_start(logs: Plogs, random: Random) -> Planted:
    rank, job = other_than_root(logs, random), logs.job
    logs.has_outputs = False  # a launcher would end the rank before it is late
    all_join(logs, random, without=[rank.number])
    at = job.start + job.connect_timeout + 8 + random.random() * 15
    put_start(logs, rank, at)
    text = f"[Connect]connect server[{job.ranks[0].host} : 60000] failed"
    logs.put(rank, at + 1, text, source="topoinfo_exchange_agent.cc", stage="[InitGroupStage][RanktableDetect]")
    agent = "topo exchange agent get socket timeout! the root does not listen"
    logs.put(rank, at + 1.1, agent, source="topoinfo_exchange_agent.cc", stage="[InitGroupStage][RanktableDetect]")
    join_fails(logs, rank, at + 1.2, 9)
    logs.ends[rank.number] = at + 5
    group_fails(logs, random, rank.number)
    return Planted("a rank started late", frozenset({rank.number}), ("HK714", "HK70[45].*late"))


def host_port_taken(logs: Plogs, random: Random) -> Planted:
    rank = other_than_root(logs, random)
    all_join(logs, random, without=[rank.number])
    at = logs.job.start + 2
    put_start(logs, rank, at)
    put_listen_fail(logs, rank, at + 0.5, socket=2, port=60000 + rank.card)
    join_fails(logs, rank, at + 0.6, 19)
    logs.ends[rank.number] = at + 4
    group_fails(logs, random, rank.number)
    return Planted("port of a host taken", frozenset({rank.number}), ("HK701.*port.*taken",))


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
    return Planted(
        "a process of an earlier job holds the card",
        frozenset({rank.number}),
        ("EJ0001", "earlier job|another process"),
    )


def card_port_taken(logs: Plogs, random: Random) -> Planted:
    rank, begin = random.choice(logs.job.ranks), all_join(logs, random) + 10
    put_listen_fail(logs, rank, begin + 0.1, socket=random.choice((0, 1)), port=16666)
    if random.random() < 0.5:  # it goes on, and times out waiting for the others
        peers = mates(logs.job, rank)[:2]
        put_link_timeout(logs, rank, begin + logs.job.connect_timeout + random.random(), peers)
    else:
        logs.ends[rank.number] = begin + 3
    links_fail(logs, random, rank, begin)
    return Planted("port of a card taken", frozenset({rank.number}), ("HK701.*port.*taken",))


def killed_before_links(logs: Plogs, random: Random) -> Planted:
    rank, begin = random.choice(logs.job.ranks), all_join(logs, random) + 10
    logs.ends[rank.number] = begin - 2
    links_fail(logs, random, rank, begin)
    return Planted(
        "a process was killed before the first operator", frozenset({rank.number}), ("HK715", "HK716", "HK711")
    )


def hangs_before_links(logs: Plogs, random: Random) -> Planted:
    rank, begin = random.choice(logs.job.ranks), all_join(logs, random) + 10
    for n in range(3):
        put_noise(logs, rank, begin + n * 40)
    links_fail(logs, random, rank, begin)
    return Planted("a rank never entered the first operator", frozenset({rank.number}), ("HK715", "HK716", "HK711"))


def late_links(logs: Plogs, random: Random) -> Planted:
    rank, begin = random.choice(logs.job.ranks), all_join(logs, random) + 10
    job = logs.job
    put_noise(logs, rank, begin + job.connect_timeout / 2)
    if random.random() < 0.5:  # else it is ended before it can tell
        late = begin + job.connect_timeout + 10 + random.random() * 10
        put_link_timeout(logs, rank, late + job.connect_timeout, mates(job, rank)[:3])
        logs.ends[rank.number] = late + job.connect_timeout + 5
    links_fail(logs, random, rank, begin)
    return Planted(
        "a rank entered the first operator late", frozenset({rank.number}), ("HK714", "HK715", "HK716", "HK711")
    )


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
    return Planted("TLS of one card differs", frozenset({rank.number}), ("HK708",))


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
    return Planted("network of a server broken", frozenset(broken), ("HK710", "HK711"))


def other_than_root(logs: Plogs, random: Random) -> Rank:
    return random.choice(logs.job.ranks[1:])
