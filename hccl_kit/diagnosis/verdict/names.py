"""How ranks, servers and places are called in a sentence, and facts in a phrase without a subject."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from hccl_kit.base.message import Message
from hccl_kit.base.wording import clauses, listed
from hccl_kit.diagnosis import facts
from hccl_kit.diagnosis.errors.row import row_text
from hccl_kit.diagnosis.facts import Fact, Place
from hccl_kit.diagnosis.verdict.diagnosis import Suspect


def rank_name(suspect: Suspect) -> str:
    """`rank 27 (10.0.0.3, card 11)`, or `card 11 of 10.0.0.3` if its number is not known; less if less is known."""
    rank, server, device = suspect
    card = "" if device is None else Message("diagnosis.card", "card {card}", card=device)
    if rank is not None:
        number, place = with_noun(str(rank), is_one=True), clauses(filter(None, (server, card)))
        return Message("diagnosis.rank-at", "rank {rank} ({place})", rank=rank, place=place) if place else number
    if server is None:
        return card or Message("diagnosis.rank-unknown", "an unknown rank")
    if device is None:
        return Message("diagnosis.rank-of", "a rank of {server}", server=server)
    return Message("diagnosis.card-of", "card {card} of {server}", card=device, server=server)


def rank_names(suspects: Iterable[Suspect]) -> str:
    """`rank 4`, `ranks 1, 3, 5 and 2 more`; where they are, if the number of one is not known; "" of none."""
    suspects = list(suspects)
    if not suspects or any(suspect.rank is None for suspect in suspects):
        return listed(map(rank_name, suspects))
    return with_noun(listed(suspect.rank for suspect in suspects), is_one=len(suspects) == 1)


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


PHRASES: dict[type, str] = {
    facts.ListenFailed: "could not listen on a port",
    facts.LinkTimedOut: "timed out on a link",
    facts.LinkRow: "timed out on a link",
    facts.LinkFailed: "could not build a link",
    facts.P2PTimedOut: "timed out on the link to a card of its server",
    facts.Unreachable: "found a broken connection",
    facts.Connected: "counted the ranks that had joined",
    facts.NeverConnected: "counted the ranks that had not joined",
    facts.RootUnreachable: "could not reach the root",
    facts.RootSilent: "got no answer from the root",
    facts.JoinFailed: "could not join",
    facts.OperatorTimedOut: "timed out in an operator",
    facts.Heartbeat: "reported the heartbeat of another rank",
    facts.ErrorCqe: "lost packets",
    facts.ArgumentMismatch: "found different arguments on a peer",
    facts.VersionMismatch: "found a different release on a peer",
    facts.PeerClosed: "lost the connection to a peer",
    facts.Watchdog: "timed out in a collective",
}
OTHER = "reported an error"


def phrase(fact: Fact) -> str:
    """What happened, for a timeline: a text of the tables of errors."""
    return row_text(fact.kind if isinstance(fact, facts.Fault) else PHRASES.get(type(fact), OTHER))
