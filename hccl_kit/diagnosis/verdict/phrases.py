"""Facts as phrases without a subject, for timelines and reasons."""

from __future__ import annotations

from hccl_kit.diagnosis import facts
from hccl_kit.diagnosis.errors.row import row_text
from hccl_kit.diagnosis.facts import Fact

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
