"""Laws on invented jobs: more evidence never makes an answer worse, and less of it never makes one wrong."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import pytest

from benchmarks.planted_effects import Planted, trains
from benchmarks.planted_faults import Failure, Score, score
from benchmarks.planted_kinds import KINDS
from benchmarks.planted_outputs import put_failed_calls, put_launchers
from benchmarks.plogs import Plogs, new_job
from hccl_kit.base.errors import KitError
from hccl_kit.diagnosis.job import diagnose
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis

SEED = 11
RANKS = 16
YEAR = 366 * 86400.0
QUICK = ("never_started", "late_host", "diverges", "dataloader", "killed_for_memory", "link_flap")
NAMES = [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in (kind.__name__ for kind in KINDS)
]


def failed(name: str, folder: Path, clocks: tuple[float, float] = (0.0, 0.0)) -> Failure:
    """A job of two servers with this fault, whose clocks are wrong by so many seconds."""
    random = Random(SEED)
    logs = Plogs(new_job(random, RANKS), random)
    logs.clock_errors, logs.has_outputs = [*clocks], True
    planted: Planted = next(kind for kind in KINDS if kind.__name__ == name)(logs, random)
    if logs.has_outputs:
        put_failed_calls(logs, random)
        put_launchers(logs)
    logs.write(folder)
    return Failure(SEED, logs.job, planted, (), None)


def healthy(folder: Path, shift: float) -> None:
    """A job in which nothing fails."""
    random = Random(SEED + 1)
    job = new_job(random, RANKS, network=30)
    logs = Plogs(job._replace(start=new_job(Random(SEED), RANKS).start + shift), random)
    trains(logs, random)
    logs.write(folder)


def answer(folder: Path) -> Diagnosis | None:
    try:
        return diagnose([folder])
    except KitError:
        return None


def scored(failure: Failure, folder: Path) -> Score:
    diagnosis = answer(folder)
    return "cannot tell" if diagnosis is None else score(failure, diagnosis)


def gist(folder: Path) -> tuple[object, ...]:
    found = answer(folder)
    if found is None or found.first_fault is None:
        return (None,)
    return found.first_fault.rule, {one.rank for one in found.suspects}, found.where


@pytest.mark.parametrize("name", NAMES)
def test_a_job_that_ended_well_beside_it_changes_nothing(name: str, tmp_path: Path) -> None:
    failure = failed(name, tmp_path / "a" / "failed")
    alone = gist(tmp_path / "a")
    for shift in (20.0, -YEAR):
        healthy(tmp_path / "a" / "other", shift)
        assert gist(tmp_path / "a") == alone, (failure.planted, shift)
        shutil.rmtree(tmp_path / "a" / "other")


@pytest.mark.parametrize("name", NAMES)
def test_an_older_failed_job_beside_it_changes_nothing(name: str, tmp_path: Path) -> None:
    failed(name, tmp_path / "failed")
    alone = gist(tmp_path)
    random = Random(SEED + 2)
    job = new_job(random, RANKS, network=30)
    logs = Plogs(job._replace(start=new_job(Random(SEED), RANKS).start - YEAR), random)
    next(kind for kind in KINDS if kind.__name__ == "npu_memory")(logs, random)
    logs.write(tmp_path / "older")
    assert gist(tmp_path) == alone


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_clock_changes_no_verdict(name: str, tmp_path: Path) -> None:
    failed(name, tmp_path / "right")
    for n, clocks in enumerate(((1800.0, 0.0), (0.0, -1800.0))):
        failed(name, tmp_path / str(n), clocks)
        assert gist(tmp_path / str(n)) == gist(tmp_path / "right"), clocks


@pytest.mark.parametrize("name", NAMES)
def test_without_some_logs_no_answer_is_wrong_and_with_them_none_is_worse(name: str, tmp_path: Path) -> None:
    failure = failed(name, tmp_path / "all")._replace(is_damaged=True)
    complete = scored(failure, tmp_path / "all")
    assert complete != "wrong"
    random = Random(SEED)
    files = sorted(path for path in (tmp_path / "all").rglob("*") if path.is_file())
    for path in random.sample(files, min(6, len(files))):
        kept = path.read_bytes()
        path.unlink()
        without = scored(failure, tmp_path / "all")
        assert without != "wrong", path.name
        assert not (without == "right" and complete != "right"), path.name
        path.write_bytes(kept)
