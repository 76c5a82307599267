"""Facts as phrases without a subject, for timelines and reasons."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import row_text
from hccl_kit.diagnosis.facts import (
    ArgumentMismatch,
    Connected,
    ErrorCqe,
    Fact,
    Fault,
    Heartbeat,
    JoinFailed,
    LinkFailed,
    LinkRow,
    LinkTimedOut,
    ListenFailed,
    NeverConnected,
    OperatorTimedOut,
    P2PTimedOut,
    PeerClosed,
    RootSilent,
    RootUnreachable,
    Unreachable,
    VersionMismatch,
    Watchdog,
)

PHRASES: dict[type, str] = {
    ListenFailed: "could not listen on a port",
    LinkTimedOut: "timed out on a link",
    LinkRow: "timed out on a link",
    LinkFailed: "could not build a link",
    P2PTimedOut: "timed out on the link to a card of its server",
    Unreachable: "found a broken connection",
    Connected: "counted the ranks that had joined",
    NeverConnected: "counted the ranks that had not joined",
    RootUnreachable: "could not reach the root",
    RootSilent: "got no answer from the root",
    JoinFailed: "could not join",
    OperatorTimedOut: "timed out in an operator",
    Heartbeat: "reported the heartbeat of another rank",
    ErrorCqe: "lost packets",
    ArgumentMismatch: "found different arguments on a peer",
    VersionMismatch: "found a different release on a peer",
    PeerClosed: "lost the connection to a peer",
    Watchdog: "timed out in a collective",
}
OTHER = "reported an error"


def phrase(fact: Fact) -> str:
    """What happened, for a timeline: a text of the tables of errors."""
    return row_text(fact.kind if isinstance(fact, Fault) else PHRASES.get(type(fact), OTHER))
