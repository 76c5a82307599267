"""Logs of failed jobs with known verdicts: run with `--corpus FOLDER`.

`corpus/hccl_logs/cases/NAME` has the logs of a job and verdict.json. The logs are damaged here as
may happen when they are collected: clocks are wrong, a worker's logs are missing, a file is truncated.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.diagnosis.job import diagnose
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis, Suspect, Wait

Score = Literal["right", "cannot tell", "wrong"]
STAMP = re.compile(r"(\d{4}-\d\d-\d\d)([- ])(\d\d:\d\d:\d\d)(?=\.\d{3}[.\d])")
WORKER = re.compile(r"worker|w_|rank_|host")
SHIFTS = (-1800, -601, -130, -10, 10, 130, 601, 1800)
CUTS = 12
"""Number of positions at which each file is truncated."""


@pytest.fixture
def cases(corpus: Path) -> list[Path]:
    found = sorted((corpus / "corpus" / "hccl_logs" / "cases").iterdir())
    assert found
    return found


def verdict(case: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((case / "verdict.json").read_text(encoding="utf-8"))
    return read


def is_same(suspect: Suspect, expected: dict[str, Any]) -> bool:
    """Whether rank and card agree as far as both are known; if neither is, it is the only process of its worker."""
    pairs = [(suspect.rank, expected["rank"]), (suspect.device, expected["device"])]
    known = [own == other for own, other in pairs if own is not None and other is not None]
    return all(known) if known else suspect.server == expected["worker"]


def score(diagnosis: Diagnosis, expected: dict[str, Any]) -> Score:
    first, known = diagnosis.first_fault, expected["first_fault"]
    if first is None:
        return "cannot tell" if known else "right"
    return "right" if any(is_same(first.suspect, one) for one in known) else "wrong"


def answer(case: Path, logs: Path) -> Score:
    try:
        return score(diagnose([logs]), verdict(case))
    except KitError:
        return "cannot tell"


def test_first_faults_and_suspects_match_the_known_verdict(cases: list[Path]) -> None:
    wrong = []
    for case in cases:
        diagnosis, expected = diagnose([case / "logs"]), verdict(case)
        known = expected["first_fault"]
        if score(diagnosis, expected) != "right":
            wrong.append(case.name)
        if known and {one.rank for one in diagnosis.suspects} != {one["rank"] for one in known}:
            wrong.append(f"{case.name}: {diagnosis.suspects}")
    assert wrong == []


def test_chains_match_the_known_verdict(cases: list[Path]) -> None:
    """Each known wait, between two ranks or from a rank to an address, is in the cascade or the fault."""
    lacking = []
    for case in cases:
        diagnosis, expected = diagnose([case / "logs"]), verdict(case)
        first = diagnosis.first_fault
        for source, target in expected["waits_for"]:
            if first and _number(diagnosis, source) == first.suspect.rank:
                continue
            if not any(_is_wait(diagnosis, wait, source, target) for wait in diagnosis.cascade):
                lacking.append(f"{case.name}: {source} -> {target}")
    assert lacking == []


def _number(diagnosis: Diagnosis, text: str) -> int | None:
    """The rank of `worker-0/3`, `rank 76 (device 4)` or `3.0.0.0 (rank 3, no log)`."""
    if named := re.search(r"rank (\d+)", text):
        return int(named[1])
    place = re.fullmatch(r"(.+)/(\d+)", text)
    for line in diagnosis.ranks:
        if place and line.suspect.device == int(place[2]) and any(place[1] in one.file for *_, one in line.moments):
            return line.suspect.rank
    return None


def _is_wait(diagnosis: Diagnosis, wait: Wait, source: str, target: str) -> bool:
    if wait.suspect.rank != _number(diagnosis, source):
        return False
    number = _number(diagnosis, target)
    if wait.waits_for is None:
        return number is None
    return wait.waits_for.rank == number if number is not None else wait.waits_for.server in target.split()


@pytest.mark.parametrize("way", ["shifted", "missing", "cut"])
def test_damaged_logs_never_give_a_wrong_verdict(cases: list[Path], tmp_path: Path, way: str) -> None:
    damage = {"shifted": _shifted, "missing": _missing, "cut": _cut}[way]
    wrong = []
    for case in cases:
        for what in damage(case / "logs", tmp_path / "logs"):
            if answer(case, tmp_path / "logs") == "wrong":
                wrong.append(f"{case.name}: {what}")
    assert wrong == []


def _files(logs: Path) -> list[Path]:
    return sorted(path for path in logs.rglob("*") if path.is_file())


def _by_worker(logs: Path) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in _files(logs):
        worker = next((part for part in path.relative_to(logs).parts if WORKER.match(part)), "all")
        found.setdefault(worker, []).append(path)
    return found


def _anew(logs: Path, into: Path) -> None:
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(logs, into)


def _shifted(logs: Path, into: Path) -> Iterator[str]:
    for worker in _by_worker(logs):
        for seconds in SHIFTS:
            _anew(logs, into)
            for path in _by_worker(into)[worker]:
                text = path.read_text(encoding="utf-8", errors="replace")
                path.write_text(STAMP.sub(lambda stamp, by=seconds: _moved(stamp, by), text), encoding="utf-8")  # type: ignore[misc]
            yield f"{worker} {seconds}"


def _moved(stamp: re.Match[str], seconds: int) -> str:
    moment = datetime.fromisoformat(f"{stamp[1]} {stamp[3]}") + timedelta(seconds=seconds)
    return f"{moment:%Y-%m-%d}{stamp[2]}{moment:%H:%M:%S}"


def _missing(logs: Path, into: Path) -> Iterator[str]:
    for gone in [*_by_worker(logs).values(), *([path] for path in _files(logs))]:
        _anew(logs, into)
        for path in gone:
            (into / path.relative_to(logs)).unlink()
        yield f"without {gone[0].relative_to(logs)} and {len(gone) - 1} others"


def _cut(logs: Path, into: Path) -> Iterator[str]:
    random = Random(7)
    for path in _files(logs):
        data = path.read_bytes()
        for _ in range(CUTS):
            _anew(logs, into)
            end = random.randrange(len(data) + 1)
            (into / path.relative_to(logs)).write_bytes(data[:end])
            yield f"{path.relative_to(logs)} cut at {end}"
