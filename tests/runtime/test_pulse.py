"""Aggregation of beats: windows, the curve of the whole run, and parts of a step that are measured or passed in."""

import json
import math
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.runtime.flight_recorder import CURVE_AT, ENTRY, HEAD, RING, recorder
from hccl_kit.runtime.heartbeat import Heartbeat
from hccl_kit.runtime.pulse import POINTS, SECONDS, STEPS, Pulse, Span, written
from hccl_kit.runtime.worker_env import LOG_DIR


class Clock:
    """A clock that tests set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def windows(made: Pulse) -> list[list[float]]:
    found = made.row()["windows"]
    assert isinstance(found, list)
    return found


def test_the_first_beat_starts_the_clock(clock: Clock) -> None:
    """The time before it is the compilation of the network, which is not a step."""
    made = Pulse()
    made.spent("data", 50.0)
    made.beat(1)
    assert windows(made) == []
    clock.now += 2
    made.beat(2)
    assert windows(made) == [[2, 1, 2.0, 0.0, 2.0, 0.0]]


def test_the_remaining_time_is_computation(clock: Clock) -> None:
    made = Pulse()
    made.beat(10)
    made.spent("data", 0.25)
    made.spent("communication", 0.5)
    made.spent("other", 1.0)
    clock.now += 2
    made.beat(12)
    assert windows(made) == [[12, 2, 2.0, 0.25, 0.25, 0.5]]


def test_explicit_parts_take_precedence_over_measured_ones(clock: Clock) -> None:
    made = Pulse()
    made.beat(0)
    made.spent("data", 1.0)
    clock.now += 2
    made.beat(1, parts=(0.1, 0.7, 0.2))
    assert windows(made) == [[1, 1, 2.0, 0.1, 0.7, 0.2]]


@pytest.mark.parametrize("step", [5, 4, 0])
def test_a_beat_without_a_step_starts_the_clock_again(clock: Clock, step: int) -> None:
    """An evaluation beats with the last step; its time belongs to no step."""
    made = Pulse()
    made.beat(5)
    clock.now += 100
    made.beat(step)
    clock.now += 1
    made.beat(step + 1)
    assert windows(made) == [[step + 1, 1, 1.0, 0.0, 1.0, 0.0]]


def test_a_window_has_a_minimum_of_steps_and_seconds(clock: Clock) -> None:
    made = Pulse()
    made.beat(0)
    for step in range(1, 51):
        clock.now += 0.5
        made.beat(step)
    assert [row[:3] for row in windows(made)] == [[40, 5, 2.5], [45, 5, 2.5], [50, 5, 2.5]]
    clock.now += 0.5
    made.beat(51)
    assert [row[:2] for row in windows(made)] == [[40, 5], [45, 5], [50, 5], [51, 1]]


@given(st.lists(st.tuples(st.integers(1, 3), st.floats(0.01, 30)), min_size=1, max_size=600))
def test_the_curve_covers_the_whole_run_and_is_bounded(beats: list[tuple[int, float]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        clock = Clock(patch)
        made, step = Pulse(), 0
        made.beat(0)
        for more, seconds in beats:
            step, clock.now = step + more, clock.now + seconds
            made.beat(step, loss=1.0)
    spans = [point.span for point in made.points]
    assert len(spans) < POINTS
    assert sum(span.steps for span in spans) == (spans[-1].step if spans else 0)
    assert [span.step - span.steps for span in spans] == [0, *(span.step for span in spans)][: len(spans)]
    assert all(span.steps >= STEPS and span.seconds >= SECONDS for span in spans)


def test_points_are_merged_in_pairs_when_the_curve_is_full(clock: Clock) -> None:
    made = Pulse()
    made.beat(0)
    for step in range(1, 5 * POINTS + 1):
        clock.now += 0.5
        made.beat(step, loss=float(step))
    assert len(made.points) == POINTS // 2
    assert made.folds == 2
    assert made.points[0].span == Span(10, 10, 5.0, 0.0, 5.0, 0.0, 55.0, 10)
    assert made.points[0].row()[7] == 5.5


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, None), (0.123456789, 0.123457), (math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf"), (3, 3.0)],
)
def test_numbers_that_json_cannot_represent_are_strings(value: float | None, expected: float | str | None) -> None:
    assert written(value) == expected
    json.dumps(written(value), allow_nan=False)


def test_the_file_has_windows_and_curve_and_a_constant_size(clock: Clock, tmp_path: Path) -> None:
    heart = Heartbeat.from_environ({LOG_DIR: str(tmp_path), "RANK": "3", "RANK_ID": "3"})
    path = tmp_path / "facts_3.jsonl"
    size = path.stat().st_size
    assert size == 3 * HEAD + (RING + POINTS) * ENTRY
    heart.beat(0)
    for step in range(1, 5 * POINTS - 4):
        clock.now += 0.5
        heart.beat(step, loss=math.nan)
    heart.recorder.sign_of_life()
    full = [line for line in path.read_bytes()[CURVE_AT:].split(b"\n") if line.strip()]
    assert len(full) == POINTS - 1
    for step in range(5 * POINTS - 4, 5 * POINTS + 1):
        clock.now += 0.5
        heart.beat(step)
    heart.recorder.sign_of_life()
    lines = [json.loads(line) for line in path.read_bytes()[CURVE_AT:].split(b"\n") if line.strip()]
    assert len(lines) == POINTS // 2
    assert lines[0]["curve"][1:8] == [10, 10, 5.0, 0.0, 5.0, 0.0, "nan"]
    alive = json.loads(path.read_bytes()[HEAD : 2 * HEAD])
    assert (alive["step"], alive["idle"], alive["loss"], len(alive["windows"])) == (5 * POINTS, 0.0, "nan", 3)
    assert alive["memory"] > 1 << 20
    assert path.stat().st_size == size


def test_extreme_numbers_do_not_damage_other_lines(clock: Clock, tmp_path: Path) -> None:
    made = recorder({LOG_DIR: str(tmp_path), "RANK": "4", "RANK_ID": "4"})
    made.beat(0)
    for step in range(1, 30):
        clock.now += 1e290
        made.beat(step * 10**300, loss=-1e-300, parts=(1.1e-3 * 10**290, 1.7e300, 1.3e15 + 0.3))
    made.sign_of_life()
    lines = (tmp_path / "facts_4.jsonl").read_bytes().split(b"\n")
    assert [len(line) + 1 for line in lines[:-1]] == [HEAD] * 3 + [ENTRY] * (RING + POINTS)
    assert [json.loads(line)["rank" if n == 0 else "alive"] is not None for n, line in enumerate(lines[:2])]


def test_blocks_in_the_program_are_measured(tmp_path: Path) -> None:
    made = recorder({LOG_DIR: str(tmp_path), "RANK": "5", "RANK_ID": "5"})
    made.beat(1)
    with made.waiting("data"):
        time.sleep(0.05)
    with made.collective("all_reduce", 8), made.waiting("data"):  # nested in a block, it counts for that block
        time.sleep(0.1)
    with made.waiting("checkpoint"):
        time.sleep(0.02)
    made.beat(2)
    ((_, steps, seconds, data, compute, communication),) = windows(made.pulse)
    assert steps == 1
    assert 0.05 <= data < seconds - 0.1
    assert 0.1 <= communication < seconds - 0.05
    assert 0 <= compute <= seconds - 0.16
