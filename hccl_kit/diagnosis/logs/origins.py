"""Who wrote a line: what launchers, frameworks and tools put before it, and what its text names. Each form is a row.

What a line does not name is None. A form that names nobody is here too: what it puts before a line is not the message.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple

from hccl_kit.diagnosis.facts import MAX_RANK, Located

MAX_PREFIXES = 5
"""Prefixes of a line, one after the other: such as that of kubectl, our own and torch's."""
_IPV4 = r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}"
_HOST = rf"(?:(?=[0-9.-]{{0,60}}[a-zA-Z])\w[\w.-]{{0,100}}|{_IPV4})"
_NO_HOST = (
    r"(?!(?i:(?:global_)?step|iter(?:ation)?|epoch|batch|rank|line|stage|loss|info|warning|error|debug):"
    r"|[\w.-]{0,100}\.(?:c|cc|cpp|h|py):)"
)


class Origin(NamedTuple):
    """The process that a line names. `logic` is the card as the process counts, `physical` the N of /dev/davinciN."""

    rank: int | None = None
    pid: int | None = None
    server: str | None = None
    logic: int | None = None
    physical: int | None = None

    @property
    def place(self) -> Located | None:
        """The server and the card; None if neither is named."""
        place = Located(self.server, self.logic, self.physical)
        return None if place == Located() else place


class Form(NamedTuple):
    """A form of line with an example and what that names.

    The groups of the pattern are fields of `Origin`; `words` is searched for such fields, `chip` and `die` are a card.
    """

    pattern: str
    example: str
    names: Origin = Origin()


PREFIXES = (
    Form(r"\[rank ?(?P<rank>[0-9]{1,8})\]: ?", "[rank7]: text", Origin(7)),  # torch
    Form(r"\[default[0-9]{0,6}\]: ?", "[default0]:text"),  # torchrun: the number on its server
    Form(r"\[\]: ?", "[]: text"),
    Form(r"\[(?P<rank>[0-9]{1,6})\](?:: ?| )", "[1] text", Origin(1)),  # our pods, Intel MPI, MPICH
    Form(r"\((?P<words>[\w .=:,-]{1,120})\) ?", "(Worker_TP3 pid=15618) text", Origin(3, 15618)),  # vLLM, Ray
    Form(
        r"\[CRITICAL\] ?[A-Z_]{1,20}\((?P<pid>[0-9]{1,10}),[^()\n]{0,100}\) ?:?",
        "[CRITICAL] DISTRIBUTED(12,7f01,python):text",
        Origin(pid=12),
    ),  # MindSpore
    Form(
        r"(?:ERROR|INFO|WARNING) [0-9]{2}-[0-9]{2} [0-9:]{8} \[[\w./]{1,80}:[0-9]{1,6}\] ?",
        "INFO 10-11 11:32:59 [x.py:3] text",
    ),
    Form(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2}) "
        r"(?:std(?:out|err) [FP] )?",
        "2026-11-27T23:22:05.31Z stderr F text",
    ),  # docker and kubectl logs --timestamps; the files of a pod on its node
    Form(
        r"[A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} [\w.-]{1,100} [\w.@/-]{1,60}\[[0-9]{1,10}\]: ",
        "Nov 03 10:11:45 n1 torchrun[4711]: text",
    ),  # journalctl; the pid is that of the service
    Form(r"[\w./~-]{1,200}:[0-9]{1,9}: ?", "run/rank_1.log:17:text"),  # grep
    Form(
        r"\[(?:[\w.-]{1,100}[@,])?[0-9]{1,10},(?P<rank>[0-9]{1,8})\](?:<std(?:out|err|diag)>)?: ?",
        "[1,1]<stderr>:text",
        Origin(1),
    ),  # mpirun --tag-output of Open MPI 4 and 5
    Form(r"\[pod/(?P<server>[\w.-]{1,200})/[\w.-]{1,200}\] ", "[pod/job-0/main] text", Origin(server="job-0")),
    Form(
        rf"\[{_NO_HOST}(?P<server>{_HOST}):(?P<pid>[0-9]{{5,10}})\] ", "[vm:04711] text", Origin(pid=4711, server="vm")
    ),  # Open MPI
    Form(
        rf"\[{_NO_HOST}(?P<server>{_HOST}):(?P<rank>[0-9]{{1,4}})\] ", "[vm:1] text", Origin(1, server="vm")
    ),  # hccl-kit run
    Form(r"[\w.-]{1,60} {1,40}\| ", "worker-1  | text"),  # docker compose: the name of a service
    Form(
        rf"(?P<server>(?:worker|node|host)-?[0-9]{{1,6}}|{_IPV4}): ", "worker-1: text", Origin(server="worker-1")
    ),  # DeepSpeed, pdsh
    Form(r"[a-z][\w-]{0,62}[0-9]: ", "n12: text"),
    Form(r" {0,5}[0-9]{1,6}: (?=\S|  )", " 3: text"),  # srun --label, or a numbered list
)
IN_TEXT = (
    Form(
        r"\(PID:(?P<pid>[0-9]{1,10}), Device:(?P<logic>-?[0-9]{1,10}), RankID:(?P<rank>-?[0-9]{1,10})\)",
        "[ERROR] 2025-12-23-07:36:19 (PID:17833, Device:0, RankID:-1) text",
        Origin(pid=17833, logic=0),
    ),  # torch_npu: -1 is not known
    Form(
        r"\bdevice\(chipId:(?P<chip>[0-9]{1,4}), ?dieId:(?P<die>[01])\)",
        "the error from device(chipId:5, dieId:1)",
        Origin(physical=11),
    ),
    Form(
        r"\bdevice_id=(?P<logic>[0-9]{1,4})\b",
        "Aicore kernel execute failed, device_id=5, stream_id=1",
        Origin(logic=5),
    ),
    Form(r"\(NPU (?P<logic>[0-9]{1,4})[;)]", "Tried to allocate 90.00 MiB (NPU 1; 60.00 GiB", Origin(logic=1)),
    Form(
        r"\bMPI_ABORT was invoked on rank (?P<rank>[0-9]{1,8}) in communicator MPI_COMM_WORLD",
        "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD",
        Origin(1),
    ),
    Form(
        rf"\bprocess rank (?P<rank>[0-9]{{1,8}}) with PID (?P<pid>[0-9]{{1,10}}) on node (?P<server>{_HOST})",
        "prterun has exited due to process rank 1 with PID 0 on node vm calling",
        Origin(1, server="vm"),
    ),
    Form(
        r"Process name: \[(?:\[[0-9]{1,10},[0-9]{1,10}\]|[\w.-]{1,100}@[0-9]{1,10}),(?P<rank>[0-9]{1,8})\]",
        "  Process name: [[33242,1],1]",
        Origin(1),
    ),
)


def _union(forms: tuple[Form, ...]) -> re.Pattern[str]:
    """All forms as one pattern; the groups of each have its number."""
    parts = (f"(?P<form_{n}>{form.pattern.replace('(?P<', f'(?P<f{n}_')})" for n, form in enumerate(forms))
    return re.compile("|".join(parts))


NOBODY = Origin()
_PREFIX, _IN_TEXT = _union(PREFIXES), _union(IN_TEXT)
_NAMING = {f"form_{n}" for n, form in enumerate(PREFIXES) if "(?P<" in form.pattern}
_WORDS = tuple(
    re.compile(pattern)
    for pattern in (
        r"\bpid=(?P<pid>[0-9]{1,10})\b",
        r"\brank=(?P<rank>[0-9]{1,8})\b",
        r"\bdevice_id=(?P<logic>[0-9]{1,4})\b",
        rf"\bip=(?P<server>{_HOST})",
        # The number of a worker of vLLM is its rank if its engine has one kind of parallelism only.
        r"\bWorker_(?:TP|PP)(?P<rank>[0-9]{1,6})(?:_EP[0-9]{1,6})?(?: |$)",
    )
)


def prefix_of(text: str) -> tuple[int, Origin]:
    """Where the message begins after what is put before it, and who that names."""
    at, origin = 0, NOBODY
    for _ in range(MAX_PREFIXES):
        match = _PREFIX.match(text, at)
        if match is None:
            break
        at = match.end()
        origin = joined(_of(match), origin) if match.lastgroup in _NAMING else origin
    return at, origin


def without_prefix(text: str) -> str:
    """The text without what frameworks and tools put before each line."""
    return text[prefix_of(text)[0] :]


def origin_of(text: str) -> Origin:
    """Who the text of a line names, whatever is before it."""
    origin = NOBODY
    if not _IN_TEXT.search(text):
        return origin
    for match in islice(_IN_TEXT.finditer(text), MAX_PREFIXES):
        origin = joined(origin, _of(match))
    return origin


def named(line: str) -> Origin:
    """Who a whole line names: its text goes before its prefix."""
    text, prefix = origin_of(line), prefix_of(line)[1]
    return prefix if text is NOBODY else joined(text, prefix)


def joined(first: Origin, second: Origin) -> Origin:
    """What either names; the first one goes before."""
    if second == NOBODY:
        return first
    return second._replace(**{name: value for name, value in first._asdict().items() if value is not None})


def _of(matched: re.Match[str]) -> Origin:
    groups = {name.partition("_")[2]: value for name, value in matched.groupdict().items() if value is not None}
    if words := groups.get("words"):
        for pattern in _WORDS:
            if match := pattern.search(words):
                groups = match.groupdict() | groups
    rank, physical = _number(groups.get("rank")), None
    if "chip" in groups and (groups["die"] == "1" or groups["chip"] == "0"):
        # Only the cards of A3 have a second die; chip 4 with die 0 is card 8 there and card 4 of others.
        physical = 2 * int(groups["chip"]) + int(groups["die"])
    return Origin(
        rank if rank is None or rank < MAX_RANK else None,
        _number(groups.get("pid")) or None,
        groups.get("server"),
        _number(groups.get("logic")),
        physical,
    )


def _number(text: str | None) -> int | None:
    """-1 is a number that is not known."""
    return int(text) if text is not None and text.isdecimal() else None
