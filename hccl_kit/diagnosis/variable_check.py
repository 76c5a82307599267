"""Compare the variables that ranks had with the plan of their job, and with each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from typing import Literal, NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import listed, sentences
from hccl_kit.diagnosis.rank_settings import Had
from hccl_kit.discovery.server_id import matches
from hccl_kit.launch.hccl_variables import (
    BASE_PORT,
    CARD_RANGE,
    CONNECT_TIMEOUT,
    EXEC_TIMEOUT,
    HOST_RANGE,
    IF_IP,
    IF_NAME,
    OF_A_SERVER,
    RECORDER_SWITCHES,
    VariablePlan,
)
from hccl_kit.launch.job_ports import DEFAULT_BASE, DEFAULT_HOST_PORTS, HIGHEST, LOWEST, Ports, job_ports
from hccl_kit.preflight.rules.identity import outside_table
from hccl_kit.preflight.rules.variable_use import placeholders
from hccl_kit.preflight.rules.variable_values import ROCE, VALUES, links_contradict
from hccl_kit.preflight.rules.variable_verdict import refusal
from hccl_kit.runtime.worker_env import NAMES
from hccl_kit.table.document import shown
from hccl_kit.table.model import RankTable

_DEFAULTS = {CONNECT_TIMEOUT: "120", EXEC_TIMEOUT: "1836", BASE_PORT: str(DEFAULT_BASE)}
"""What HCCL takes if a variable is not set."""
_ONLY_IF_SET = (*NAMES["master_port"], HOST_RANGE, *RECORDER_SWITCHES)
"""Scripts choose the first themselves; without a range, the base port counts. The flight recorders are for torch."""
_EQUAL = (CONNECT_TIMEOUT, EXEC_TIMEOUT)
"""Of the variables of a plan, those that are wrong just because ranks differ."""
_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")
_SHOWN = 4


class Difference(NamedTuple):
    """What is wrong with a variable; `source` is None for a difference between ranks.

    A "warning" is about a value that HCCL may accept.
    """

    source: str | None
    variable: str
    text: str
    severity: Literal["error", "warning"] = "error"


def check(plan: VariablePlan, had: Sequence[Had], product: str = "") -> list[Difference]:
    """What is out of range, differs from the plan, collides with another job, or differs between ranks."""
    findings = []
    for rank in had:
        refused = [*_refused(rank, product)]
        names = {problem.variable for problem in refused if problem.severity == "error"}
        findings += [*refused, *_of_plan(plan, rank, names), *_of_server(plan, rank)]
    return [*findings, *_between(plan, had)]


def identity(table: RankTable, had: Sequence[Had]) -> list[Difference]:
    """The ranks and sizes that the table cannot have, and values that were never filled in."""
    return [
        Difference(rank.source, str(message.values["variable"]), message)
        for rank in had
        for message in outside_table(table, rank.values)
    ] + [
        Difference(
            rank.source,
            name,
            Message(
                "diagnosis.variables.placeholder", "{variable} is a placeholder", variable=f"{name}={shown(value)}"
            ),
            "warning",
        )
        for rank in had
        for name, value in placeholders(rank.values).items()
    ]


def _refused(rank: Had, product: str) -> Iterator[Difference]:
    for name in VALUES:
        value = rank.values.get(name) if rank.is_complete else None  # a log prints what HCCL took, in its own form
        wrong = None if value is None else refusal(name, value, product=product, cann=rank.cann)
        if wrong and wrong.is_certain:
            yield Difference(rank.source, name, _refused_by_hccl(wrong.message))
        elif wrong:
            yield Difference(rank.source, name, wrong.message, "warning")
    if rank.is_complete and (links := links_contradict(rank.values)):
        yield Difference(rank.source, ROCE, _refused_by_hccl(links.message))
    connect, execute = _seconds(rank, CONNECT_TIMEOUT), _seconds(rank, EXEC_TIMEOUT)
    if connect is not None and execute is not None and 0 < execute <= connect:
        text = Message(
            "diagnosis.variables.timeouts",
            "{execute} is not above {connect}, so operators give up first",
            execute=f"{EXEC_TIMEOUT} {execute:g}",
            connect=f"{CONNECT_TIMEOUT} {connect:g}",
        )
        yield Difference(rank.source, EXEC_TIMEOUT, text)


def _refused_by_hccl(message: str) -> Message:
    return Message("diagnosis.variables.refused", "{problem} (EI0001)", problem=message)


def _of_plan(plan: VariablePlan, rank: Had, refused: Set[str]) -> Iterator[Difference]:
    for planned in plan.variables:
        name, value = planned.name, _effective(rank, planned.name)
        if value is None and (name in _ONLY_IF_SET or not rank.is_complete):
            continue
        if value is not None and (_same(value, planned.value) or name in refused):
            continue
        why = _port_problem(plan, name, value)
        parts = (_now(rank, name, value), _planned(planned.value), why or "")
        yield Difference(rank.source, name, sentences(parts))


def _now(rank: Had, name: str, value: str | None) -> str:
    """What a rank has: its value, HCCL's default, or none."""
    if value is None:
        return Message("diagnosis.variables.unset", "{name} is not set", name=name)
    if rank.values.get(name) is not None:
        return f"{name}={shown(value)}"
    return Message("diagnosis.variables.default", "{name} is not set ({value} by default)", name=name, value=value)


def _planned(value: str) -> Message:
    return Message("diagnosis.variables.planned", "planned: {value}", value=value)


def _port_problem(plan: VariablePlan, name: str, value: str | None) -> str | None:
    """Why the ports of a variable are out of range or may collide; None if neither is the case."""
    if value is None or name not in (BASE_PORT, HOST_RANGE, CARD_RANGE):
        return None
    for ports in _ports(name, value):
        if ports.first < LOWEST or ports.last > HIGHEST:
            return Message(
                "diagnosis.variables.range",
                "ports {first} to {last} are not all from {lowest} to {highest}",
                first=ports.first,
                last=ports.last,
                lowest=LOWEST,
                highest=HIGHEST,
            )
        if ports.first == DEFAULT_BASE:
            return Message("diagnosis.variables.usual", "every job without a plan listens there")
        for kernel in plan.kernels:
            given = kernel.given_away(ports)
            if given:
                return Message(
                    "diagnosis.variables.ephemeral",
                    "{first} to {last} are in the ephemeral port range",
                    first=given[0],
                    last=given[1],
                )
        others = [*_jobs_met(plan, ports)]
        if others:
            jobs = listed(others, _SHOWN)
            return Message("diagnosis.variables.overlap", "its ports overlap with those of job {jobs}", jobs=jobs)
    return None


def _jobs_met(plan: VariablePlan, ports: Ports) -> Iterator[int]:
    """The other jobs of the plan whose ports overlap with these."""
    for job in range(plan.wanted.jobs):
        with suppress(KitError):  # it has no ports at all
            if job != plan.wanted.job and job_ports(job, plan.wanted.jobs, plan.kernels).block.meets(ports):
                yield job


def _ports(name: str, value: str) -> Iterator[Ports]:
    """The ports of a value; none if it is invalid, or the system chooses."""
    if name == BASE_PORT:
        if re.fullmatch("[0-9]{1,5}", value):
            yield Ports(int(value), int(value) + DEFAULT_HOST_PORTS - 1)
        return
    for part in value.replace(" ", "").split(","):
        match = _RANGE.fullmatch(part)
        if match and int(match[1]) <= int(match[2] or match[1]):
            yield Ports(int(match[1]), int(match[2] or match[1]))


def _of_server(plan: VariablePlan, rank: Had) -> Iterator[Difference]:
    address, name = rank.values.get(IF_IP), rank.values.get(IF_NAME)
    known = {
        variable.value: server for server in plan.servers for variable in server.variables if variable.name == IF_IP
    }
    if address and known and address.partition("%")[0] not in known:
        text = Message(
            "diagnosis.variables.address",
            "{variable} is not an address of the table, which has {known}",
            variable=f"{IF_IP}={shown(address)}",
            known=listed(known, _SHOWN),
        )
        yield Difference(rank.source, IF_IP, text)
    server = known.get((address or "").partition("%")[0]) or (plan.servers[0] if len(plan.servers) == 1 else None)
    planned = (
        next((variable.value for variable in server.variables if variable.name == IF_NAME), None) if server else None
    )
    if name and planned and not address and not matches(planned.removeprefix("="), name):
        yield Difference(rank.source, IF_NAME, sentences([f"{IF_NAME}={shown(name)}", _planned(planned)]))


def _between(plan: VariablePlan, had: Sequence[Had]) -> Iterator[Difference]:
    """What differs between ranks and must not. A rank that differs in a port differs from the plan too."""
    yield from _one_rank_twice(had)
    for name in _EQUAL:
        yield from _unequal(name, had)
    others = {*OF_A_SERVER, *_EQUAL, *(variable.name for variable in plan.variables)}
    for is_complete in (True, False):  # logs have other forms of most values
        alike = [rank for rank in had if rank.is_complete is is_complete]
        names = {name for rank in alike for name in rank.values if name in VALUES}
        for name in sorted(names - others):
            yield from _unequal(name, alike)


def _one_rank_twice(had: Sequence[Had]) -> Iterator[Difference]:
    """The ranks that several sources have: each rank is one process."""
    ranks: dict[tuple[str, str], dict[str, None]] = {}
    for process in had:
        name = next((name for name in NAMES["rank"] if process.values.get(name)), None)
        if name and process.is_complete:
            ranks.setdefault((name, process.values[name].strip()), {})[process.source] = None
    for (name, value), sources in ranks.items():
        if len(sources) > 1:
            text = Message(
                "diagnosis.variables.twice",
                "{variable} in {sources}; each rank is one process",
                variable=f"{name}={shown(value)}",
                sources=listed(sources, _SHOWN),
            )
            yield Difference(None, name, text)


def _unequal(name: str, had: Sequence[Had]) -> Iterator[Difference]:
    values: dict[str, list[str]] = {}
    for rank in had:
        value = _effective(rank, name)
        if value is not None or rank.is_complete:
            unset = Message("diagnosis.variables.none", "not set")
            values.setdefault(unset if value is None else shown(value), []).append(rank.source)
    if len(values) > 1:
        parts = (
            Message("diagnosis.variables.value", "{value} ({sources})", value=value, sources=listed(sources, _SHOWN))
            for value, sources in values.items()
        )
        text = Message(
            "diagnosis.variables.differs", "{name} differs: {values}", name=name, values=listed(parts, _SHOWN)
        )
        yield Difference(None, name, text)


def _effective(rank: Had, name: str) -> str | None:
    """The value that HCCL takes; None if it is not known, or there is none."""
    return rank.values.get(name) or (_DEFAULTS.get(name) if rank.is_complete else None)


def _seconds(rank: Had, name: str) -> float | None:
    value = _effective(rank, name)
    return float(value) if value is not None and re.fullmatch(r"[0-9]{1,10}(\.[0-9]{1,2})?", value) else None


def _same(value: str, other: str) -> bool:
    value = value.replace(" ", "")
    if value == other:
        return True
    return re.fullmatch(r"[0-9]{1,10}\.0{1,2}", value) is not None and value.partition(".")[0] == other
