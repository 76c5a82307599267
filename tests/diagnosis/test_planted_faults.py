"""Synthetic jobs with a planted culprit: the diagnosis names it, or no rank."""

from pathlib import Path

import pytest

from benchmarks.planted_effects import Planted
from benchmarks.planted_faults import Failure, make, run, score, tables
from benchmarks.planted_kinds import KINDS
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from tests.diagnosis.report.diagnoses import port_taken

SEEDS = range(1, 41)
MAX_RANKS = 32


@pytest.mark.parametrize("seed", SEEDS)
def test_names_the_culprit_or_no_rank(seed: int) -> None:
    result = run(seed, MAX_RANKS)
    assert result.score != "wrong", f"planted {result.failure.planted}, said {result.said}"


def test_a_seed_is_reproducible(tmp_path: Path) -> None:
    for name in ("a", "b"):
        make(7, tmp_path / name, max_ranks=MAX_RANKS)
    first, second = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.log")}
        for name in ("a", "b")
    )
    assert first
    assert first == second


def test_seeds_reach_every_kind_and_disturbance(tmp_path: Path) -> None:
    made = [make(seed, tmp_path / str(seed), max_ranks=16) for seed in range(len(KINDS))]
    assert len({one.planted.kind for one in made}) > len(KINDS) - 3  # some need two servers, and are others on one
    damage = {"clocks wrong", "logs lost", "files cut", "harmless errors", "outputs", "another replica"}
    assert {name for one in made for name in one.disturbances} >= damage
    assert {one.table is None for one in made} == {True, False}


def test_scores_count_right_wrong_and_undecided(tmp_path: Path) -> None:
    failure = make(1, tmp_path, max_ranks=8)._replace(
        is_damaged=False, planted=Planted("x", frozenset({3}), ("HK701",))
    )
    fault = port_taken().first_fault
    assert fault

    def scored(suspect: Suspect | None, *others: int, certainty: str = "likely", cause: str = "HK701") -> str:
        suspects = tuple(Suspect(rank, None, None) for rank in others)
        first = fault._replace(suspect=suspect) if suspect else None
        diagnosis = port_taken()._replace(first_fault=first, suspects=suspects)
        planted = failure.planted._replace(causes=(cause,))
        return score(
            failure._replace(planted=planted),
            diagnosis._replace(certainty="certain" if certainty == "certain" else "likely"),
        )

    rank = failure.job.ranks[3]
    assert scored(None) == "cannot tell"
    assert scored(Suspect(3, None, None)) == "right"
    assert scored(Suspect(3, None, None), cause="HK799") == "another cause"
    assert scored(Suspect(None, rank.host, rank.card)) == scored(Suspect(None, rank.folder, rank.card)) == "right"
    assert scored(Suspect(2, None, None)) == scored(Suspect(None, rank.host, 7)) == "wrong"
    assert scored(Suspect(2, None, None), 2, 3) == "one of several"
    assert scored(Suspect(2, None, None), 2, 3, certainty="certain") == "wrong"


def test_the_table_counts_each_disturbance(tmp_path: Path) -> None:
    result = run(3, 8)
    failure: Failure = result.failure._replace(planted=Planted("a kind", frozenset(), ()), disturbances=("a", "b"))
    lines = list(tables([result._replace(failure=failure, score="right")]))
    assert lines[0] == "| planted | runs | right | another cause | one of several | cannot tell | wrong |"
    assert lines[2] == "| a kind | 1 | 1 | 0 | 0 | 0 | 0 |"
    assert [line.split(" | ")[0] for line in lines[6:]] == ["| a", "| b"]
