"""Variables that must be equal on all ranks, and are not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.diagnosis.facts import Event, Setting
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, cannot_tell, verdict
from hccl_kit.diagnosis.verdict.causes.links import CONNECT_TIMEOUT, LINK_FACTS
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from hccl_kit.diagnosis.verdict.names import rank_names

EQUAL = (
    "HCCL_ALGO",
    "HCCL_BUFFSIZE",
    "HCCL_INTER_HCCS_DISABLE",
    "HCCL_INTRA_PCIE_ENABLE",
    "HCCL_INTRA_ROCE_ENABLE",
    "HCCL_OP_EXPANSION_MODE",
    "HCCL_RDMA_QPS_PER_CONNECTION",
    CONNECT_TIMEOUT,
)
"""They decide with whom a rank connects, how and how long (HCCL's pages of its variables, CANN 8.0 to 9.1)."""


class _Odd(NamedTuple):
    """A variable with another value on few ranks than on most; the values as logs print them."""

    name: str
    value: str
    usual: str
    few: Mapping[Suspect, Event]
    many: Mapping[Suspect, Event]


def settings(case: Case) -> Cause | None:
    """Ranks with another value of a variable than most, if every link that was not set up has one of them at an end.

    A variable that differs need not break a job: links between other ranks speak against it.
    """
    for odd in _differences(case):
        involved = [edge for edge in case.waits.edges if isinstance(edge.event.fact, LINK_FACTS) and edge.target]
        if not involved or len(involved) < len([edge for edge in case.waits.edges if edge.target]):
            return None
        shorter = odd.name != CONNECT_TIMEOUT or _seconds(odd.value) < _seconds(odd.usual)
        waiting = all(suspect in case.waits.waiting for suspect in odd.few)
        if not (shorter and waiting and all(edge.source in odd.few or edge.target in odd.few for edge in involved)):
            continue
        events = (*tuple(odd.few.values())[:4], next(iter(odd.many.values())), *(edge.event for edge in involved[:4]))
        value, usual = _shown(odd.value), _shown(odd.usual)
        if len(odd.few) == len(odd.many):
            return cannot_tell(
                "diagnosis.setting-half",
                "{name} is {value} on {ranks} and {usual} on the others",
                (*odd.few, *odd.many),
                events,
                name=odd.name,
                value=value,
                ranks=rank_names(odd.few),
                usual=usual,
            )
        return verdict(
            "diagnosis.setting",
            "has {name} {value}, unlike {number} others with {usual}",
            odd.few,
            events,
            code=involved[0].code,
            fix="set {name} to the same value on all ranks; `hccl-kit env TABLE --check LOG` compares them",
            why="every link that was not set up has such a rank at one end",
            name=odd.name,
            value=value,
            number=len(odd.many),
            usual=usual,
        )
    return None


def _differences(case: Case) -> list[_Odd]:
    """The variables of EQUAL with two values, the rarer first."""
    holders: dict[str, dict[str, dict[Suspect, Event]]] = defaultdict(lambda: defaultdict(dict))
    for rank in case.compared:
        for event in rank.events:
            if isinstance(event.fact, Setting) and event.fact.name in EQUAL:
                holders[event.fact.name][event.fact.value].setdefault(rank.suspect, event)
    differing = []
    for name in EQUAL:
        if len(holders[name]) == 2:
            (value, few), (usual, many) = sorted(holders[name].items(), key=lambda row: (len(row[1]), row[0]))
            if not few.keys() & many.keys():
                differing.append(_Odd(name, value, usual, few, many))
    return differing


def _seconds(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _shown(value: str) -> str:
    return value or Message("diagnosis.unset", "unset")
