"""The faults that a verdict may find, in words: what is bad, how bad, and the next step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.wording import counted, listed
from hccl_kit.selftest.measured import Collective, Link
from hccl_kit.selftest.rounds import Names, Pair

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
    message: Message
    hint: Message
    pairs: tuple[Pair, ...] = ()


class JudgedLink(NamedTuple):
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


def bad_port(ranks: tuple[int, ...], links: Sequence[JudgedLink], names: Names) -> Fault:
    """All links of these ranks are bad."""
    partners = len({rank for judged in links for rank in judged.pair} - set(ranks))
    subject, pairs = names.ranks(ranks), _pairs(links)
    where = (
        Message("selftest.inside-its-server", "inside its server")
        if links[0].is_inside
        else Message("selftest.on-other-servers", "on other servers")
    )
    if any(judged.link.is_wrong for judged in links):
        message = Message(
            "selftest.wrong-card",
            "{subject} gives wrong results with all {partners} partners {where}",
            subject=subject,
            partners=partners,
            where=where,
        )
        hint = Message(
            "selftest.wrong-card.fix",
            "take it out of the job: its results cannot be trusted; look for ECC errors with npu-smi info -t ecc",
        )
        return Fault("wrong-card", ranks, message, hint, pairs)
    if all(judged.link.bandwidth is None for judged in links):
        message = Message(
            "selftest.broken-port",
            "{subject} reaches none of its {partners} partners {where}",
            subject=subject,
            partners=partners,
            where=where,
        )
        hint = Message(
            "selftest.broken-port.fix",
            "check its cable, address and switch port; hccl-kit preflight on its server ({problem})",
            problem=_problem(links),
        )
        return Fault("broken-port", ranks, message, hint, pairs)
    message = Message(
        "selftest.slow-port",
        "{subject} is slow with all {partners} partners {where}: at most {part:.0%} of the others",
        subject=subject,
        partners=partners,
        where=where,
        part=max(judged.quality for judged in links),
    )
    hint = Message(
        "selftest.slow-port.fix",
        "it computes at full speed, so check its network port, cable and switch port (hccn_tool -link_stat -g)",
    )
    return Fault("slow-port", ranks, message, hint, pairs)


def bad_link(bad: JudgedLink, links: Sequence[JudgedLink], names: Names, slow: float) -> Fault:
    """A bad link. If an end has no good link, it is named as one of two possible causes."""
    link, pair = bad.link, bad.pair
    first, second = map(names.rank, pair)
    is_clean = all(any(rank in other.pair and other.quality >= slow for other in links) for rank in pair)
    cause: Message | str = ""
    hint = Message(
        "selftest.path.fix",
        "both ends are fast with others, so check the path between them: cable, switch ports, routes",
    )
    if not is_clean:
        cause = Message(
            "selftest.end-or-link", "; which of the two ends or the link it is cannot be told from these pairs"
        )
        hint = Message(
            "selftest.end-or-link.fix", "measure with more servers, or give --baseline FILE of an earlier run"
        )
    if link.is_wrong:
        message = Message(
            "selftest.wrong-link",
            "the link between {first} and {second} gives wrong results{cause}",
            first=first,
            second=second,
            cause=cause,
        )
        return Fault("wrong-link", pair, message, hint, (pair,))
    if link.bandwidth is None:
        message = Message(
            "selftest.broken-link",
            "the link between {first} and {second} does not work{reason}{cause}",
            first=first,
            second=second,
            reason=after_colon(link.problem),
            cause=cause,
        )
        return Fault("broken-link", pair, message, hint, (pair,))
    message = Message(
        "selftest.slow-link",
        "the link between {first} and {second} has {bandwidth:.3g} GB/s, {part:.0%} of its reference{cause}",
        first=first,
        second=second,
        bandwidth=link.bandwidth,
        part=bad.quality,
        cause=cause,
    )
    return Fault("slow-link", pair, message, hint, (pair,))


def bad_uplink(groups: Sequence[Sequence[str]], crossing: Sequence[JudgedLink]) -> Fault:
    """All pairs between groups of servers are bad, and each group is fast inside."""
    ranks = tuple(sorted({rank for judged in crossing for rank in judged.pair}))
    first, second = map(_group, groups)
    pairs = counted(len(crossing), "pair")
    if all(judged.link.bandwidth is None for judged in crossing):
        message = Message(
            "selftest.broken-uplink",
            "none of the {pairs} between {first} and {second} could exchange data; inside these groups pairs work",
            pairs=pairs,
            first=first,
            second=second,
        )
        return Fault("broken-uplink", ranks, message, _UPLINK, _pairs(crossing))
    message = Message(
        "selftest.slow-uplink",
        "the {pairs} between {first} and {second} are slow, at most {part:.0%} of the pairs inside these groups",
        pairs=pairs,
        first=first,
        second=second,
        part=max(judged.quality for judged in crossing),
    )
    return Fault("slow-uplink", ranks, message, _UPLINK, _pairs(crossing))


def uneven_halves(groups: Sequence[Sequence[str]], ranks: tuple[int, ...], part: float) -> Fault:
    """Each half of the servers is fast, and mixed halves are slow."""
    first, second = map(_group, groups)
    message = Message(
        "selftest.uneven-halves",
        "all-reduces inside {first} and inside {second} are fast; those of mixed halves have {part:.0%} of that",
        first=first,
        second=second,
        part=part,
    )
    return Fault("slow-uplink", ranks, message, _UPLINK)


_UPLINK = Message(
    "selftest.uplink.fix", "check what joins the groups: uplinks between switches, link aggregation, oversubscription"
)


def _group(servers: Sequence[str]) -> str:
    return Message("selftest.group", "({servers})", servers=listed(servers, 4))


def after_colon(problem: str) -> str:
    """The end of a sentence that gives the reason, if there is one."""
    return Message("selftest.reason", ": {problem}", problem=problem) if problem else ""


def _pairs(links: Sequence[JudgedLink]) -> tuple[Pair, ...]:
    return tuple(sorted(judged.pair for judged in links))


def bad_fabric(links: Sequence[JudgedLink]) -> Fault:
    """All links of a kind are bad: no part stands out."""
    ranks = tuple(sorted({rank for judged in links for rank in judged.pair}))
    where = (
        Message("selftest.inside-the-servers", "inside the servers")
        if links[0].is_inside
        else Message("selftest.between-the-servers", "between the servers")
    )
    if all(judged.link.is_wrong for judged in links):
        message = Message("selftest.wrong-fabric", "all pairs {where} give wrong results", where=where)
        hint = Message("selftest.wrong-fabric.fix", "check the installation of the framework")
        return Fault("wrong-link", ranks, message, hint, _pairs(links))
    if all(judged.link.bandwidth is None for judged in links):
        message = Message("selftest.broken-fabric", "no pair {where} could exchange data", where=where)
        hint = Message(
            "selftest.broken-fabric.fix",
            "check the network and its firewall; one pair reports: {problem}",
            problem=_problem(links),
        )
        return Fault("broken-link", ranks, message, hint, _pairs(links))
    message = Message(
        "selftest.slow-fabric",
        "all pairs {where} are slow: at most {part:.0%} of the baseline",
        where=where,
        part=max(judged.quality for judged in links),
    )
    hint = Message(
        "selftest.slow-fabric.fix",
        "no part stands out: check what is common to all, such as switches, MTU and other jobs",
    )
    return Fault("slow-fabric", ranks, message, hint, _pairs(links))


def _problem(links: Sequence[JudgedLink]) -> str:
    none = Message("selftest.no-reason", "no reason given")
    return next((judged.link.problem for judged in links if judged.link.problem), none)


def failed_collective(collective: Collective, ranks: tuple[int, ...]) -> Fault:
    """A collective has a problem, and no pair shows it."""
    message = Message(
        "selftest.failed-collective",
        "{operator} of {size} bytes over all ranks: {problem}",
        operator=collective.operator,
        size=collective.size,
        problem=collective.problem,
    )
    hint = Message("selftest.failed-collective.fix", "no pair shows it: run again, or with fewer servers")
    return Fault("collective", ranks, message, hint)


def slow_collective(collective: Collective, bandwidth: float, part: float, ranks: tuple[int, ...]) -> Fault:
    """A collective is slower than in the baseline, though no pair is; `bandwidth` in GB/s."""
    message = Message(
        "selftest.slow-collective",
        "{operator} of {size} bytes has {bandwidth:.3g} GB/s, {part:.0%} of the baseline",
        operator=collective.operator,
        size=collective.size,
        bandwidth=bandwidth,
        part=part,
    )
    hint = Message(
        "selftest.slow-collective.fix",
        "all pairs are as before: check settings that only a whole job has, such as HCCL_ALGO and the topology",
    )
    return Fault("collective", ranks, message, hint)
