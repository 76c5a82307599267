"""The facts that logs state, each as a frozen value.

Every reader of logs yields events, and the diagnosis uses events only, so a new kind of log needs only a new reader. A
value that a line does not name is None. Ranks are those of the communicator `group`; `physical` is the N of
/dev/davinciN, `logic` the number that the process itself uses. Text in a fact is untrusted: print it escaped.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

MAX_RANK = 1 << 17
"""Numbers from here on are not ranks; HCCL prints 4294967295 for one that it does not know. Nor is a job larger: each
rank without a log is listed, so what names a larger job would take all memory.
"""
PortSide = Literal["host", "card"]
Lost = Literal["lost", "stuck", "error cqe"]
Role = Literal["cause", "pointer", "symptom", "result", "frame", "fact", "value"]
"""What a message tells about the cause of a failure; `errors.row` has it in words."""


class Place(NamedTuple):
    """A line of a file; `line` counts from 1."""

    file: str
    line: int


class Process(NamedTuple):
    """A process of the job. A pid repeats on other servers and in other containers, so `worker` is part of it.

    `worker` is the folder, host or archive that the logs came from. The pid is that of the file's name if it has one.
    `rank` is set only where no pid is known: the rank in the name of a launcher's log, or before a line.
    """

    worker: str
    pid: int | None
    rank: int | None = None
    number: int = 0
    """Which of several processes that had this pid on this worker, one after the other."""


class Card(NamedTuple):
    """A card as a line names it: by server and physical number, by its own address, or by both."""

    server: str | None = None
    physical: int | None = None
    address: str | None = None


class Joined(NamedTuple):
    """The process is a rank of a communicator (Entry-..., SetupAgent, hcom init, Key Info lines)."""

    group: str | None
    rank: int
    ranks: int | None = None
    server: str | None = None
    logic: int | None = None
    physical: int | None = None
    card_address: str | None = None
    root_host: str | None = None
    complete: bool = False
    """The line says that the communicator is complete, not that its creation begins."""


class Located(NamedTuple):
    """A line of the process names its server or its card; `logic` and `physical` as in Joined."""

    server: str | None = None
    logic: int | None = None
    physical: int | None = None


class RootCreated(NamedTuple):
    """The process created a communicator for others to join."""

    group: str


class GroupNamed(NamedTuple):
    """Two names of one communicator."""

    group: str
    name: str


class Setting(NamedTuple):
    """The effective value of an environment variable, such as HCCL_CONNECT_TIMEOUT; without units."""

    name: str
    value: str


class ListenFailed(NamedTuple):
    """A port could not be opened, usually because it is taken."""

    side: PortSide
    address: str | None
    port: int | None


class LinkTimedOut(NamedTuple):
    """A link of this process was not set up in time; `rank` is its own."""

    rank: int | None


class LinkRow(NamedTuple):
    """A row of the table of broken links: this process against one peer."""

    rank: int | None
    peer_rank: int | None
    peer_address: str | None


class LinkFailed(NamedTuple):
    """A link could not be built (createLink)."""

    rank: int | None
    peer: Card


class P2PTimedOut(NamedTuple):
    """Two cards of one server did not connect."""

    peer_physical: int | None


class Unreachable(NamedTuple):
    """HCCL's own detector of broken connections names a pair."""

    source: Card
    destination: Card


class Connected(NamedTuple):
    """The ranks that the root of a communicator has heard from when it gave up. `expected`: the size."""

    ranks: tuple[int, ...]
    expected: int | None


class NeverConnected(NamedTuple):
    """The ranks that the root of a communicator has not heard from."""

    ranks: tuple[int, ...]


class RootUnreachable(NamedTuple):
    """The process could not connect to the root of its communicator."""

    server: str | None


class RootSilent(NamedTuple):
    """The process is connected to the root, which sent nothing: the root itself waits for others."""


class JoinFailed(NamedTuple):
    """The creation of a communicator failed."""

    group: str | None
    rank: int | None
    ranks: int | None


class OperatorEntered(NamedTuple):
    """The process starts, or its graph has, an operator. `position` counts the operators of its group."""

    operator: str | None
    tag: str | None
    group: str | None
    position: int | None = None
    elements: int | None = None
    data_type: str | None = None


class OperatorTimedOut(NamedTuple):
    """An operator waited for another rank for too long (notify wait, EI0002, fftsplus); lines in a row are one fact.

    `awaited` is "local" if it waits for another task of its card, and None if the log does not tell (4294967295,
    unknown). HCCL prints "local" for each wait without a rank (task_exception_handler of hcomm, 2024 to 2026).
    """

    rank: int | None
    ranks: int | None
    awaited: int | Literal["local"] | None
    tag: str | None
    group: str | None
    position: int | None = None
    elements: int | None = None
    data_type: str | None = None


class Heartbeat(NamedTuple):
    """A rank stopped answering (lost), stands still (stuck), or reports broken packets (error cqe)."""

    culprit: Card
    culprit_rank: int | None
    reporter_rank: int | None
    status: Lost
    is_verdict: bool
    """One of at most three conclusions of HCCL (Cluster Exception Location), not a single event."""
    arrival: float | None = None


class ErrorCqe(NamedTuple):
    """Packets to another card were lost although they were sent again."""

    peer: Card


class ArgumentMismatch(NamedTuple):
    """Two ranks entered different operators, or one operator with different arguments."""

    field: str
    own: str
    other: str
    peer_rank: int | None = None


class VersionMismatch(NamedTuple):
    """Two ranks run different releases of HCCL."""

    own: str | None
    other: str | None


class Tls(NamedTuple):
    """TLS of the card's network port is on or off."""

    on: bool


class Watchdog(NamedTuple):
    """A collective of torch did not finish in time; `sequence` counts the collectives of the group."""

    rank: int | None
    sequence: int | None
    operator: str | None
    group: str | None


class PeerClosed(NamedTuple):
    """The other end closed a connection (HcclResult 13): its log has the reason."""


class Fault(NamedTuple):
    """Any other error that tells something: a code, an exception of the program, an error of another module.

    `kind` is a short phrase for people, such as "out of device memory", with the values of the line that tell most.
    `is_symptom`: others cause it, such as a stream that did not finish in time. `is_frame`: the error of a caller,
    which a library prints around its own, or the heading of one. `is_unknown`: an error of a module whose text no row
    knows. `role`, `fix` and `of_card` are those of the row of known errors, None, "" and False without one.
    """

    code: str | None
    module: str
    kind: str
    text: str
    is_symptom: bool = False
    is_frame: bool = False
    is_unknown: bool = False
    role: Role | None = None
    fix: str = ""
    raised_at: str = ""
    """`train.py:31`, the last line of the user's own code in the traceback of an exception."""
    of_card: bool = False
    waits: bool = False
    """The traceback of an exception ends in code of a framework in which a rank may wait for others."""


class Oversized(NamedTuple):
    """Gloo ends a process that receives more than the `expected` bytes of its own collective."""

    expected: int


class Exited(NamedTuple):
    """A launcher saw a rank end. One of `code` and `signal` is None, both if it does not tell how.

    `by_launcher`: it ended the rank itself. `is_first`: the launcher names this end as the first one.
    """

    rank: int
    code: int | None
    signal: int | None
    by_launcher: bool = False
    server: str | None = None
    physical: int | None = None
    is_first: bool = False


class Step(NamedTuple):
    """A rank of our own trainer finished a step; the event's time is that of the heartbeat."""

    rank: int
    step: int


class Progress(NamedTuple):
    """A program printed a step of its training, so nothing before had ended it. `time`: as it is printed, or None."""

    step: int
    time: float | None


class Collective(NamedTuple):
    """A rank entered, or left, the collective with this number, in a step. `size` in bytes."""

    rank: int
    sequence: int
    operator: str
    size: int | None
    left: bool
    step: int | None = None


class Traced(NamedTuple):
    """A collective that torch's flight recorder has of a rank; the event's time is when the rank entered it.

    `group` is the process group with its backend, `members` its ranks if the dump names them. `sequence` counts the
    collectives of the group. `shape` is what must be equal on all ranks; None if nothing must be.
    """

    rank: int
    group: str
    members: tuple[int, ...] | None
    sequence: int
    operator: str
    shape: str | None
    left: bool


class Dumped(NamedTuple):
    """The rank left a dump of torch's flight recorder; `size` is the number of ranks of the job, if it names them.

    `is_cut`: collectives are missing in it, or cannot be read.
    """

    rank: int
    size: int | None
    is_cut: bool = False


class Alive(NamedTuple):
    """The last sign of life of a process of ours, at the event's time; it comes every second, whatever the rank does.

    `doing`: what the rank has waited for since `since`, such as "data" or a collective; None if it computes.
    """

    rank: int
    step: int
    doing: str | None
    since: float | None


class ProgramEnded(NamedTuple):
    """A program of ours says how it ended: `how` is "done" or the name of an exception."""

    rank: int
    how: str
    message: str


class JobEnding(NamedTuple):
    """A launcher of ours begins to end its ranks; `rank` is the one that failed first, as far as it knows.

    `why`: rank (one failed), hang (none makes a step), over (another server ended the job), lost (a rank ended without
    an event), guard (the guard process was killed) or gone (the script that started this one over ssh ended).
    """

    why: str
    rank: int | None
    code: int


class ProcessStopped(NamedTuple):
    """A launcher of ours found a process of this rank stopped (T in ps) when it began to end the job."""

    rank: int


class ServerLost(NamedTuple):
    """A launcher of ours lost the connection to the launcher of another server, which had these ranks."""

    server: str
    ranks: tuple[int, ...]


Fact = (
    Joined
    | Located
    | RootCreated
    | GroupNamed
    | Setting
    | ListenFailed
    | LinkTimedOut
    | LinkRow
    | LinkFailed
    | P2PTimedOut
    | Unreachable
    | Connected
    | NeverConnected
    | RootUnreachable
    | RootSilent
    | JoinFailed
    | OperatorEntered
    | OperatorTimedOut
    | Heartbeat
    | ErrorCqe
    | ArgumentMismatch
    | VersionMismatch
    | Tls
    | Watchdog
    | PeerClosed
    | Fault
    | Oversized
    | Exited
    | Step
    | Progress
    | Collective
    | Traced
    | Dumped
    | Alive
    | ProgramEnded
    | JobEnding
    | ProcessStopped
    | ServerLost
)


class Event(NamedTuple):
    """A fact, its place in a file, and when it happened.

    `time` is in seconds since 1970 by the clock of the worker, read as if it were UTC: logs name no zone. None if the
    line has no time. `is_error`: the line is one of level ERROR, or of a launcher that reports a failure.
    """

    process: Process
    place: Place
    time: float | None
    is_error: bool
    fact: Fact


class Noted(NamedTuple):
    """A fact with all that its line says about it: of an Event, the file adds the place and the process."""

    line: int
    fact: Fact
    time: float | None = None
    is_error: bool = False
    pid: int | None = None
    rank: int | None = None
    server: str | None = None


class LogFile(NamedTuple):
    """A file that was read, whether it states facts or not: a rank with a log but without errors is a fact too.

    `cut`: why not all of it was read, or None. `has_error`: one of its first or last lines is of level ERROR, whether
    it states a fact or not, or its end is that of a traceback whose exception is cut off.
    """

    process: Process
    file: str
    size: int
    first: float | None
    last: float | None
    cut: str | None = None
    has_error: bool = False


class Evidence(NamedTuple):
    """All that was read: files and events, the events in the order of files and lines."""

    files: tuple[LogFile, ...]
    events: tuple[Event, ...]
    notes: tuple[str, ...] = ()
    """What could not be read, a sentence each."""
