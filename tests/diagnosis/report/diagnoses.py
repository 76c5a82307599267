"""Diagnoses for the tests of the output formats."""

from hypothesis import strategies as st

from hccl_kit.diagnosis.facts import Place
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis, FirstFault, RankLine, Suspect, Wait

START = 1_763_674_671.5
"""2025-11-20 21:37:51.5"""
HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e\0'\"&]]>"


def suspect(rank: int, cards: int = 8) -> Suspect:
    return Suspect(rank, f"10.0.0.{rank // cards + 1}", rank % cards)


def place(rank: int, line: int = 812) -> Place:
    return Place(f"10.0.0.{rank // 8 + 1}/debug/plog/plog-{4700 + rank}_20251120213751000.log", line)


def port_taken(ranks: int = 32, culprit: int = 27) -> Diagnosis:
    """The example of the documentation: a card port is in use, and the others time out waiting for that rank."""
    others = [rank for rank in range(ranks) if rank not in (culprit, 19)]
    mates = [rank for rank in others if rank // 8 == culprit // 8]
    waits = tuple(
        Wait(suspect(rank), suspect(culprit if rank in mates else rank - rank % 8), "EI0006", START + 120, place(rank))
        for rank in others
        if rank in mates or rank % 8
    )
    moments = ((START - 9, "joined the group", place(0, 3)), (START + 120, "link timed out", place(0, 90)))
    return Diagnosis(
        certainty="certain",
        first_fault=FirstFault(
            suspect(culprit), "EI0019", START, "could not listen on port 16666, it is taken", place(culprit), "HK701"
        ),
        suspects=(suspect(culprit),),
        cascade=waits,
        silent=(suspect(19),),
        last=START + 120,
        clock_offsets={"10.0.0.3": -41.2, "10.0.0.2": 0.4},
        links=12,
        evidence=(place(culprit), place(0, 1033)),
        reason="",
        fix="end process 4711 on 10.0.0.4, or HCCL_NPU_SOCKET_PORT_RANGE=auto on all ranks",
        supports=("the first fault is a direct cause",),
        contradicts=(),
        ranks=tuple(RankLine(suspect(rank), moments) for rank in range(ranks) if rank != 19),
        notes=(),
    )


def cannot_tell() -> Diagnosis:
    """Two ranks wait for each other."""
    pair = (suspect(0), suspect(8))
    return port_taken()._replace(
        certainty="cannot_tell",
        first_fault=None,
        suspects=pair,
        cascade=(Wait(pair[0], pair[1], "EI0002", START, place(0)), Wait(pair[1], pair[0], "EI0002", None, None)),
        silent=(),
        clock_offsets={},
        links=0,
        reason="logs of 10.0.0.4 are missing",
        fix="collect the logs of 10.0.0.4",
        supports=(),
        contradicts=("the operators of both are equal",),
        ranks=(),
        notes=("a/b.log could not be read: permission denied",),
    )


def hostile() -> Diagnosis:
    """Every string is chosen by an attacker."""
    one = Suspect(1, HOSTILE, 2)
    where = Place(HOSTILE, 3)
    return Diagnosis(
        certainty="likely",
        first_fault=FirstFault(one, HOSTILE, 1e300, HOSTILE, where),
        suspects=(one, Suspect(None, HOSTILE, None)),
        cascade=(Wait(Suspect(None, HOSTILE, 3), one, HOSTILE, float("nan"), where),),
        silent=(Suspect(None, HOSTILE, None),),
        clock_offsets={HOSTILE: 99.0, "b": float("inf")},
        links=1,
        evidence=(where,),
        reason=HOSTILE,
        fix=HOSTILE,
        supports=(HOSTILE,),
        contradicts=(HOSTILE,),
        ranks=(RankLine(one, ((START, HOSTILE, where), (float("inf"), HOSTILE, where), (None, HOSTILE, where))),),
        notes=(HOSTILE,),
    )


_ranks = st.none() | st.integers(0, 40)
_texts = st.text(max_size=30) | st.sampled_from(["<b>", "</dd>", '"><i>', "10.0.0.1/x", "a\nb", "/home/bob/y.log"])
_times = st.none() | st.floats()
suspects = st.builds(Suspect, _ranks, st.none() | _texts, st.none() | st.integers(0, 15))
places = st.builds(Place, _texts, st.integers(1, 10**6))
faults = st.builds(FirstFault, suspects, st.none() | _texts, _times, _texts, st.none() | places)
waits = st.builds(Wait, suspects, st.none() | suspects, st.none() | _texts, _times, st.none() | places)
lines = st.builds(RankLine, suspects, st.lists(st.tuples(_times, _texts, places), max_size=4).map(tuple))
diagnoses = st.builds(
    Diagnosis,
    certainty=st.sampled_from(["certain", "likely", "cannot_tell"]),
    first_fault=st.none() | faults,
    suspects=st.lists(suspects, max_size=3).map(tuple),
    cascade=st.lists(waits, max_size=12).map(tuple),
    silent=st.lists(suspects, max_size=3).map(tuple),
    clock_offsets=st.dictionaries(_texts, st.floats(), max_size=3),
    links=st.integers(0, 99),
    evidence=st.lists(places, max_size=3).map(tuple),
    reason=_texts,
    fix=_texts,
    supports=st.lists(_texts, max_size=2).map(tuple),
    contradicts=st.lists(_texts, max_size=2).map(tuple),
    ranks=st.lists(lines, max_size=5).map(tuple),
    notes=st.lists(_texts, max_size=2).map(tuple),
)
"""Any diagnosis, including those that are never produced."""
