"""How ranks, servers and places are called in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from hccl_kit.base.message import Message
from hccl_kit.base.wording import clauses, listed
from hccl_kit.diagnosis.facts import Place
from hccl_kit.diagnosis.verdict.diagnosis import Suspect


def rank_name(suspect: Suspect) -> str:
    """`rank 27 (10.0.0.3, card 11)`, as far as it is known; where it is if its number is not known."""
    where = _location(suspect)
    if suspect.rank is None:
        return where or Message("diagnosis.rank-unknown", "an unknown rank")
    if not where:
        return rank_names([suspect])
    return Message("diagnosis.rank-at", "rank {rank} ({place})", rank=suspect.rank, place=where)


def _location(suspect: Suspect) -> str:
    """`10.0.0.3, card 11`; "" if neither is known."""
    card = "" if suspect.device is None else Message("diagnosis.card", "card {card}", card=suspect.device)
    return clauses(filter(None, (suspect.server, card)))


def rank_names(suspects: Iterable[Suspect]) -> str:
    """`rank 4`, `ranks 1, 3, 5 and 2 more`; servers where ranks are not known."""
    suspects = list(suspects)
    names = listed(rank_name(suspect) if suspect.rank is None else suspect.rank for suspect in suspects)
    if all(suspect.rank is None for suspect in suspects):
        return names
    return with_noun(names, is_one=len(suspects) == 1)


def with_noun(ranks: str, *, is_one: bool) -> Message:
    """`rank 4`, `ranks 0-7,9`."""
    if is_one:
        return Message("diagnosis.rank", "rank {rank}", rank=ranks)
    return Message("diagnosis.ranks", "ranks {ranks}", ranks=ranks)


def rank_list(numbers: Sequence[int]) -> str:
    """Ranks by number: `ranks 1, 2`, `ranks 4 to 7`."""
    if len(numbers) > 2 and all(after == before + 1 for before, after in pairwise(numbers)):
        return Message("diagnosis.ranks-to", "ranks {first} to {last}", first=numbers[0], last=numbers[-1])
    return rank_names(Suspect(number, None, None) for number in numbers)


def place_name(place: Place) -> str:
    """`10.0.0.3/plog-4711.log:812`."""
    return f"{place.file}:{place.line}"
