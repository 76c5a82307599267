"""The faults that a verdict may find, in words: what is bad, how bad, and the next step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from hccl_kit.base.wording import counted, listed
from hccl_kit.selftest.measured import Collective, Link, Loss, LostRank
from hccl_kit.selftest.names import Names
from hccl_kit.selftest.rounds import Pair

Kind = Literal[
    "lost",
    "stalls",
    "slow-card",
    "slow-port",
    "slow-link",
    "slow-uplink",
    "wrong-card",
    "wrong-link",
    "broken-port",
    "broken-link",
    "broken-uplink",
    "slow-fabric",
    "collective",
]


class Fault(NamedTuple):
    """A fault: its kind, its ranks (two for a link), message and hint, and the pairs of ranks that show it."""

    kind: Kind
    ranks: tuple[int, ...]
    message: str
    hint: str
    pairs: tuple[Pair, ...] = ()


class Judged(NamedTuple):
    """A link with its quality: its bandwidth relative to its reference, 0 if it failed. `is_inside`: both ranks are on
    one server. `ratios`: the quality in each pass.
    """

    link: Link
    quality: float
    is_inside: bool
    ratios: tuple[float, ...] = ()

    @property
    def pair(self) -> Pair:
        return self.link.pair


def bad_port(ranks: tuple[int, ...], own: Sequence[Judged], names: Names) -> Fault:
    partners = {rank for one in own for rank in one.pair} - set(ranks)
    subject = names.of_group(ranks)
    whom = f"with all {len(partners)} partners"
    where = "inside its server" if own[0].is_inside else "on other servers"
    part = max(one.quality for one in own)
    pairs = _pairs(own)
    if any(one.link.is_wrong for one in own):
        hint = "take it out of the job: its results cannot be trusted; look for ECC errors with npu-smi info -t ecc"
        return Fault("wrong-card", ranks, f"{subject} gives wrong results {whom} {where}", hint, pairs)
    if all(one.link.bandwidth is None for one in own):
        hint = f"check its cable, address and switch port; hccl-kit preflight on its server ({_problem(own)})"
        message = f"{subject} reaches none of its {len(partners)} partners {where}"
        return Fault("broken-port", ranks, message, hint, pairs)
    hint = "it computes at full speed, so check its network port, cable and switch port (hccn_tool -link_stat -g)"
    return Fault("slow-port", ranks, f"{subject} is slow {whom} {where}: at most {part:.0%} of the others", hint, pairs)


def bad_link(one: Judged, judged: Sequence[Judged], names: Names, slow: float) -> Fault:
    """A bad link. If an end has no good link, it is named as one of two possible causes."""
    first, second = map(names.of, one.pair)
    subject = f"the link between {first} and {second}"
    clean = all(any(rank in other.pair and other.quality >= slow for other in judged) for rank in one.pair)
    open_end = "" if clean else "; which of the two ends or the link it is cannot be told from these pairs"
    hint = "both ends are fast with others, so check the path between them: cable, switch ports, routes"
    if not clean:
        hint = "measure with more servers, or give --baseline FILE of an earlier run"
    if one.link.is_wrong:
        return Fault("wrong-link", one.pair, f"{subject} gives wrong results{open_end}", hint, (one.pair,))
    if one.link.bandwidth is None:
        reason = f": {one.link.problem}" if one.link.problem else ""
        return Fault("broken-link", one.pair, f"{subject} does not work{reason}{open_end}", hint, (one.pair,))
    message = f"{subject} has {one.link.bandwidth:.3g} GB/s, {one.quality:.0%} of its reference{open_end}"
    return Fault("slow-link", one.pair, message, hint, (one.pair,))


def bad_uplink(groups: Sequence[Sequence[str]], crossing: Sequence[Judged]) -> Fault:
    """All pairs between groups of servers are bad, and each group is fast inside."""
    ranks = tuple(sorted({rank for one in crossing for rank in one.pair}))
    between = " and ".join(_group(servers) for servers in groups)
    number = counted(len(crossing), "pair")
    if all(one.link.bandwidth is None for one in crossing):
        message = f"none of the {number} between {between} could exchange data; inside these groups pairs work"
        return Fault("broken-uplink", ranks, message, _UPLINK, _pairs(crossing))
    best = max(one.quality for one in crossing)
    message = f"the {number} between {between} are slow, at most {best:.0%} of the pairs inside these groups"
    return Fault("slow-uplink", ranks, message, _UPLINK, _pairs(crossing))


def uneven_halves(groups: Sequence[Sequence[str]], ranks: tuple[int, ...], part: float) -> Fault:
    """Each half of the servers is fast, and mixed halves are slow."""
    first, second = map(_group, groups)
    message = f"all-reduces inside {first} and inside {second} are fast; those of mixed halves have {part:.0%} of that"
    return Fault("slow-uplink", ranks, message, _UPLINK)


_UPLINK = "check what joins the groups: uplinks between switches, link aggregation, oversubscription"


def _group(servers: Sequence[str]) -> str:
    return f"({listed(servers, 4)})"


def _pairs(judged: Sequence[Judged]) -> tuple[Pair, ...]:
    return tuple(sorted(one.pair for one in judged))


def bad_fabric(bad: Sequence[Judged]) -> Fault:
    """All links of a kind are bad: no part stands out."""
    ranks = tuple(sorted({rank for one in bad for rank in one.pair}))
    where = "inside the servers" if bad[0].is_inside else "between the servers"
    if all(one.link.is_wrong for one in bad):
        return Fault(
            "wrong-link",
            ranks,
            f"all pairs {where} give wrong results",
            "check the installation of the framework",
            _pairs(bad),
        )
    if all(one.link.bandwidth is None for one in bad):
        hint = f"check the network and its firewall; one pair reports: {_problem(bad)}"
        return Fault("broken-link", ranks, f"no pair {where} could exchange data", hint, _pairs(bad))
    best = max(one.quality for one in bad)
    hint = "no part stands out: check what is common to all, such as switches, MTU and other jobs"
    message = f"all pairs {where} are slow: at most {best:.0%} of the baseline"
    return Fault("slow-fabric", ranks, message, hint, _pairs(bad))


def _problem(own: Sequence[Judged]) -> str:
    return next((one.link.problem for one in own if one.link.problem), "no reason given")


def slow_card(rank: int, part: float, names: Names) -> Fault:
    hint = "look at its temperature, clock and other processes: npu-smi info, npu-smi info -t common"
    message = f"{names.of(rank)} computes at {part:.0%} of the others' speed"
    return Fault("slow-card", (rank,), message, hint)


def stalling(rank: int, part: float, names: Names) -> Fault:
    hint = "look for what sends it SIGSTOP: a debugger, a scheduler that suspends jobs, a person"
    return Fault("stalls", (rank,), f"{names.of(rank)} was stopped by a signal for {part:.0%} of the time", hint)


def lost_ranks(lost: Sequence[LostRank], names: Names) -> Iterator[Fault]:
    """One fault for a server that lost all of its ranks in the same way, otherwise one for each rank."""
    for how in _HOW:
        same = {one.rank: one for one in lost if one.how == how}
        for ranks in names.groups(frozenset(same)):
            detail = next((same[rank].detail for rank in ranks if same[rank].detail), "")
            verb = _HOW[how][len(ranks) > 1]
            message = f"{names.of_group(ranks)} {verb}" + (f": {detail}" if detail else "")
            yield Fault("lost", ranks, message, _LOST_HINTS[how])


_HOW: dict[Loss, tuple[str, str]] = {
    "unreachable": ("cannot be reached", "cannot be reached"),
    "not started": ("did not start", "did not start"),
    "dead": ("ended before the end of the test", "ended before the end of the test"),
    "stopped": ("stopped responding", "stopped responding"),
    "no result": ("gave no result", "gave no result"),
}
_LOST_HINTS: dict[Loss, str] = {
    "unreachable": "check the server and ssh to it",
    "not started": "run the command there by hand to see why",
    "dead": "check dmesg of its server for what killed the process, then hccl-kit preflight",
    "stopped": "look at the process and card of that rank: a stopped process, a hung driver or an overloaded server",
    "no result": "look at its process and card; all servers need the same version of hccl-kit",
}


def failed_collective(one: Collective, ranks: tuple[int, ...]) -> Fault:
    hint = "no pair shows it: run again, or with fewer servers"
    return Fault("collective", ranks, f"{one.operator} of {one.size} bytes over all ranks: {one.problem}", hint)
