"""HK6: variables that do not do what they say: another one wins, a limit applies, or a value was never filled in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.origin import Origin
from hccl_kit.base.wording import listed
from hccl_kit.check.rule import Rule
from hccl_kit.discovery.server_id import interfaces
from hccl_kit.launch.hccl_variables import IF_OF_TORCH
from hccl_kit.preflight.node import Node
from hccl_kit.preflight.rules.variable_values import PAGES_9_1, PARSER
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding, finding

Environ = Mapping[str, str]

MODE, EXEC = "HCCL_OP_EXPANSION_MODE", "HCCL_EXEC_TIMEOUT"
MOST_AIV, MOST_CCU, STEP_OF_OLD = 1091, 65_535, 68
"""Seconds: the most that the modes AIV and CCU_* wait, and what 910 and 300I Duo round down to."""
SGLANG = Origin("docs.sglang.io, ascend-npus environment_variables, and deep_ep", "2026-11-27")
_FAMILIES = (
    "HCCL_", "HCOMM_", "ASCEND_", "RANK_", "DEVICE_ID", "MASTER_", "MF_", "DEEPEP_", "GLOO_SOCKET", "TP_SOCKET",
)  # fmt: skip
_PLACEHOLDER = re.compile(
    r"<[A-Za-z][^<>]{0,40}>|\{\{.{0,80}\}\}|\$\{?[A-Za-z_][A-Za-z0-9_]{0,40}\}?|P?IP|PORT"
    r"|(?:your|my|local|master|node)[_-]?(?:\d[_-]?)?(?:ip|addr(?:ess)?|nic|host|port|interface)|x{2,}|x\.x\.x\.x"
    r"|nic_name|network_card_name|path[_/-]to[_/-].{0,80}",
    re.IGNORECASE,
)


class Override(NamedTuple):
    """Why a variable does not do what it says: what is said about it, if `judge` finds so in the environment."""

    judge: Callable[[Environ, str], Message | None]
    origin: Origin


def without_effect(node: Node) -> Iterator[Finding]:
    """A variable does not do what it says.

    What:           another variable wins over it, or HCCL takes a limit instead of its value; or GLOO_SOCKET_IFNAME or
                    TP_SOCKET_IFNAME names an interface that this machine does not have.
    Why it matters: who changes it sees no change; a timeout ends the job earlier than was asked for.
    Example:        HCCL_EXEC_TIMEOUT=3600 with HCCL_OP_EXPANSION_MODE=AIV, which waits for 1091 s at most.
    Fix:            change the variable that wins, or unset one of the two.
    HCCL:           no code.
    """
    for override in OVERRIDES:
        if message := override.judge(node.environ, node.product.name):
            yield Finding(message, Message("HK644.fix", "change the variable that wins, or unset one of them"))
    yield from _absent_interfaces(node.environ)


def not_filled_in(node: Node) -> Iterator[Finding]:
    """The value of a variable is a placeholder.

    What:           a variable of the job has a word of an example as its value, or a part of it: <ip>, tcp://PIP:PORT,
                    your_nic, x.x.x.x, or a name after $ that no shell replaced.
    Why it matters: programs take it for a name or an address, and fail at it later, with another message.
    Example:        MF_CONFIG_STORE_URL=tcp://PIP:PORT
    Fix:            write the value of this cluster.
    HCCL:           EI0001 where HCCL reads it; else no code.
    """
    for name, value in placeholders(node.environ).items():
        yield finding(
            "HK645.placeholder",
            "{variable}={value} is a placeholder",
            fix="write the value of this cluster",
            variable=name,
            value=shown(value),
        )


def placeholders(environ: Environ) -> Environ:
    """The variables of a job whose value, or an address or a port in it, is a word of an example."""
    return {
        name: value
        for name, value in sorted(environ.items())
        if name.startswith(_FAMILIES) and any(map(_PLACEHOLDER.fullmatch, _parts(value[:400])))
    }


def _parts(value: str) -> Sequence[str]:
    _, _, rest = value.rpartition("://")
    return (value, rest, *re.split(r"[:,]", rest))


def _absent_interfaces(environ: Environ) -> Iterator[Finding]:
    """The interfaces that gloo and tensorpipe are given, separated by commas, and that are not here."""
    for name in IF_OF_TORCH:
        wanted = [part.strip() for part in environ.get(name, "").split(",") if part.strip()]
        if not wanted or name in placeholders(environ):
            continue
        there = {interface.name for interface in interfaces()}
        if absent := [part for part in wanted if part not in there]:
            yield finding(
                "HK644.interface",
                "{variable} names {absent}; the interfaces of this machine are {there}",
                fix="name the interface that has the address of this host",
                variable=name,
                absent=listed(map(shown, absent)),
                there=listed(sorted(there)),
            )


def _deepep(environ: Environ, _product: str) -> Message | None:
    special, usual = environ.get("DEEPEP_HCCL_BUFFSIZE"), environ.get("HCCL_BUFFSIZE")
    if special is None or usual is None or special == usual:
        return None
    return Message(
        "HK644.deepep",
        "HCCL_BUFFSIZE={usual} does not count for the group of MoE, which takes DEEPEP_HCCL_BUFFSIZE={special}",
        usual=shown(usual),
        special=shown(special),
    )


def _store(environ: Environ, _product: str) -> Message | None:
    new, old = environ.get("MF_CONFIG_STORE_URL"), environ.get("ASCEND_MF_STORE_URL")
    if new is None or old is None or new == old:
        return None
    return Message(
        "HK644.store",
        "MF_CONFIG_STORE_URL={new} and its old name ASCEND_MF_STORE_URL={old} differ; the release of memfabric decides",
        new=shown(new),
        old=shown(old),
    )


def _exec(environ: Environ, product: str) -> Message | None:
    """The seconds after which HCCL gives up, where they are not those of the variable."""
    text, mode = environ.get(EXEC, ""), environ.get(MODE, "")
    if not re.fullmatch("[0-9]{1,10}", text):
        return None
    seconds = int(text)
    is_aiv = mode in ("AIV", "AIV_ONLY")
    most = MOST_AIV if is_aiv else MOST_CCU
    if (is_aiv or mode.startswith("CCU_")) and (seconds > most or (is_aiv and not seconds)):
        return Message(
            "HK644.limit",
            "{variable}={seconds}, and {mode_variable}={mode} waits for {most} s at most",
            variable=EXEC,
            seconds=seconds,
            mode_variable=MODE,
            mode=mode,
            most=most,
        )
    if product in ("910", "300i-duo") and seconds % STEP_OF_OLD:
        taken = max(STEP_OF_OLD, seconds // STEP_OF_OLD * STEP_OF_OLD)
        return Message(
            "HK644.rounded",
            "{variable}={seconds}, and HCCL of this product takes {taken} s, a multiple of {step}",
            variable=EXEC,
            seconds=seconds,
            taken=taken,
            step=STEP_OF_OLD,
        )
    return None


def _deterministic(environ: Environ, _product: str) -> Message | None:
    wanted, mode = environ.get("HCCL_DETERMINISTIC", ""), environ.get(MODE, "")
    if wanted.lower() not in ("true", "strict") or mode not in ("AIV", "AIV_ONLY"):
        return None
    return Message(
        "HK644.deterministic",
        "{variable}={mode} does not count, since HCCL_DETERMINISTIC={wanted} wins",
        variable=MODE,
        mode=mode,
        wanted=wanted,
    )


def _blocking(environ: Environ, _product: str) -> Message | None:
    queue = environ.get("TASK_QUEUE_ENABLE", "")
    if environ.get("ASCEND_LAUNCH_BLOCKING") != "1" or queue not in ("1", "2"):
        return None
    return Message(
        "HK644.blocking", "TASK_QUEUE_ENABLE={queue} does not count, since ASCEND_LAUNCH_BLOCKING=1 wins", queue=queue
    )


TORCH_NPU = Origin("docs/zh/api/environment_variable of Ascend/pytorch, 2026-08-21", "2026-11-27")
OVERRIDES = (
    Override(_deepep, SGLANG),
    Override(_store, SGLANG),
    Override(_exec, PAGES_9_1),
    Override(_deterministic, PARSER),
    Override(_blocking, TORCH_NPU),
)
RULES = (
    Rule("HK644", "overridden-variable", without_effect, severity="warning"),
    Rule("HK645", "placeholder-variable", not_filled_in, severity="warning"),
)
