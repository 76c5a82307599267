"""Faults in operators: other arguments, another operator, a rank that hangs, links that break under them."""

from __future__ import annotations

from random import Random

from benchmarks.planted_effects import (
    VANISHED,
    Planted,
    all_join,
    heartbeats,
    job_ends,
    mates,
    neighbours,
    operator_fails,
    put_cqe,
    trains,
    verdicts,
    waited,
)
from benchmarks.planted_outputs import names_of
from benchmarks.plog_records import operator, put_code, put_noise, put_notify_timeout
from benchmarks.plogs import Group, Job, Plogs, Rank


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
    return Planted("arguments of one rank differ (EI0005)", frozenset({rank.number}), ("HK703",))


def hangs_in_training(logs: Plogs, random: Random) -> Planted:
    job, begin = logs.job, trains(logs, random)
    rank = random.choice(job.ranks)
    put_noise(logs, rank, begin + 100)
    seen = begin + job.exec_timeout * (1 + random.random()) / 3
    beat = heartbeats(logs, random, rank, seen, "STUCK") if random.random() < 0.6 else None
    first = operator_fails(logs, random, frozenset({rank.number}), begin, index=job.steps)
    verdicts(logs, random, first, beat)
    return Planted("a rank hangs in training", frozenset({rank.number}), VANISHED)


def diverges(logs: Plogs, random: Random) -> Planted:
    job, begin = logs.job, trains(logs, random)
    rank = random.choice(job.ranks)
    how = random.choice(("operator", "count", "type"))
    first = operator_fails(logs, random, frozenset({rank.number}), begin, index=job.steps)
    put_notify_timeout(
        logs,
        rank,
        first + random.random() * 3,
        peer_at_home(job, rank),
        index=job.steps,
        name="AllGather" if how == "operator" else "AllReduce",
        count=2048 if how == "count" else 4096,
        data_type="float32" if how == "type" else "float16",
        group=home(job, rank),
    )
    return Planted(f"another {how} on one rank", frozenset({rank.number}), ("HK713",))


def behind(logs: Plogs, random: Random) -> Planted:
    job, begin = logs.job, trains(logs, random)
    rank = random.choice(job.ranks)
    first = operator_fails(logs, random, frozenset({rank.number}), begin, index=job.steps)
    at, peer = first + random.random() * 3, peer_at_home(job, rank)
    put_notify_timeout(logs, rank, at, peer, index=job.steps - 1, group=home(job, rank))
    return Planted("one rank is an operator behind", frozenset({rank.number}), ("HK713",))


def pipeline_mismatch(logs: Plogs, random: Random) -> Planted:
    """Two neighbours of a pipeline both receive: each waits for what the other does not send."""
    logs.relayout("pipeline")
    job, begin = logs.job, trains(logs, random)
    rank = random.choice(job.ranks)
    across = job.across(rank)
    at = across.members.index(rank.number)
    peer = job.ranks[across.members[at + 1 if at + 1 < len(across.members) else at - 1]]
    first = begin + job.exec_timeout
    for other in job.ranks:
        when = first + random.random() * 3
        if other in (rank, peer):
            target = peer if other == rank else rank
            index = 2 * job.steps + (at if other == rank else at + 1)
            put_notify_timeout(logs, other, when, target.number, index=index, name="Receive", group=across)
            continue
        wait = waited(job, other, peer if other.number in job.tensor(peer).members else rank)
        put_notify_timeout(
            logs, other, when, wait.awaited, index=job.steps + wait.ahead, name=wait.name, group=wait.group
        )
    job_ends(logs, random, first)
    pair = frozenset({rank.number, peer.number})
    return Planted("two stages of a pipeline both receive", pair, ("HK713", "HK715"))


def error_cqe(logs: Plogs, random: Random) -> Planted:
    return _packets_lost(logs, random, both=False)


def link_flap(logs: Plogs, random: Random) -> Planted:
    return _packets_lost(logs, random, both=True)


def _packets_lost(logs: Plogs, random: Random, *, both: bool) -> Planted:
    """One end of a link reports lost packets, or both do."""
    job, begin = logs.job, trains(logs, random)
    rank = random.choice(job.ranks)
    peer = random.choice(neighbours(job, rank))
    pair = frozenset({rank.number, peer.number})
    for one, other in ((rank, peer), (peer, rank))[: 1 + both]:
        put_cqe(logs, one, begin + random.random(), other)
    beat = heartbeats(logs, random, rank, begin + 2, "ERROR CQE") if not both or random.random() < 0.5 else None
    first = operator_fails(logs, random, frozenset({rank.number}), begin, index=job.steps)
    put_notify_timeout(logs, rank, first + random.random(), peer.number, index=job.steps, group=shared(job, rank, peer))
    verdicts(logs, random, first, beat)
    kind = "a link flaps, both ends report it" if both else "packets lost between two cards (error CQE)"
    return Planted(kind, pair, ("HK707", "HK706.*packets"))


def other_release(logs: Plogs, random: Random) -> Planted:
    """The ranks of one server, or one rank, have another CANN; both ends of a link compare their versions."""
    job = logs.job
    begin = all_join(logs, random) + 10
    rank = random.choice(job.ranks)
    odd = names_of(job, rank.server) if job.servers > 2 and random.random() < 0.6 else frozenset({rank.number})
    usual, other = random.choice((("8.5.0", "8.3.RC1"), ("9.0.0", "8.5.0"), ("8.1.RC1", "8.0.RC3")))
    stage, on_screen = "[InitChannelStage][VersionConflict]", random.random() < 0.5
    if len(odd) > 1:
        pairs = [
            (one, two)
            for one in job.ranks
            for two in neighbours(job, one)
            if (one.number in odd) != (two.number in odd)
        ]
    else:
        pairs = [pair for two in mates(job, rank) for pair in ((rank, two), (two, rank))]
    for one, _ in pairs:
        own, theirs = (other, usual) if one.number in odd else (usual, other)
        text = random.choice(_VERSIONS).format(own, theirs)
        at = begin + 0.5 + random.random()
        logs.put(one, at, text, source="transport_manager.cc", stage=stage)
        if on_screen:
            local, remote = f"The local version is {own}", f"the remote version is {theirs}"
            put_code(logs, one, at + 0.5, "EI0008", f"The HCCL versions are inconsistent. {local}, while {remote}.")
    job_ends(logs, random, begin + 1)
    return Planted("another CANN on a server or rank", odd, ("HK702",))


_VERSIONS = (
    "Inconsistent HCCL Versions. local_version {}, remote_version {}.",
    "errNo[0x0000000005000005] Inconsistent Toolkit (cann-hcomm) Versions. The local version is {}, "
    "while the remote version is {}.",
)


def home(job: Job, rank: Rank) -> Group:
    """The communicator in which a rank meets its neighbours."""
    return job.world if job.layout == "world" else job.tensor(rank)


def peer_at_home(job: Job, rank: Rank) -> int:
    """A neighbour of a rank, for which it waits."""
    return next(number for number in home(job, rank).members if number != rank.number)


def shared(job: Job, rank: Rank, peer: Rank) -> Group:
    """The smallest communicator that has both ranks."""
    groups = [group for group in job.groups(rank) if peer.number in group.members]
    return groups[0] if groups else job.world
